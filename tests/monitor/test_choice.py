"""Which server is followed, look after look: the one that was given, the only one, the picked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import aiohttp
import pytest

from eagletui.host.base import Host
from eagletui.model import events as ev
from eagletui.model.errors import ConnectionLost
from eagletui.model.server import ServerProcess
from eagletui.monitor import monitor as monitor_module
from eagletui.monitor.monitor import Monitor
from eagletui.monitor.servers import Target

Look = tuple[Target, ...]


class Machine:
    """A host that is connected and where nothing is read."""

    name = "box"

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def wait_lost(self) -> str:
        await asyncio.Event().wait()
        return ""

    def http(self) -> aiohttp.BaseConnector:
        return aiohttp.TCPConnector()


def at(port: int, *, given: bool = False) -> Target:
    """A server on a port."""
    return Target(process=ServerProcess(key=f":{port}", pid=port, port=port), given=given)


LOG = Target(process=ServerProcess(key="log:/x"), given=True)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Look]:
    """What the next looks find; after the last one the connection is lost."""
    found: list[Look] = []

    class Discovery:
        def __init__(self, _: object) -> None: ...

        def forget(self) -> None: ...

        async def pause(self, _: float) -> None: ...

        async def look(self, _: object) -> tuple[Look, tuple[str, ...]]:
            if not found:
                raise ConnectionLost("over")
            return found.pop(0), ()

    class NoGpus:
        def __init__(self, _: object) -> None: ...

        async def stream(self, _: float) -> AsyncIterator[tuple[()]]:
            yield ()

    async def facts(_: object) -> ev.HostSeen:
        return ev.HostSeen(at=0.0, name="box")

    monkeypatch.setattr(monitor_module, "Discovery", Discovery)
    monkeypatch.setattr(monitor_module, "GpuReader", NoGpus)
    monkeypatch.setattr(monitor_module, "read_facts", facts)
    return found


def monitor() -> Monitor:
    return Monitor(cast(Host, Machine()))


async def followed(monitor: Monitor) -> list[str]:
    """The servers gone to, in their order."""
    seen: list[str] = []
    async for batch in monitor.events():
        for event in batch:
            if isinstance(event, ev.ServerSelected):
                seen.append(event.server)
            if isinstance(event, ev.LinkChanged) and event.link == "lost":
                return seen
    return seen


@pytest.mark.parametrize("given", [False, True])
async def test_the_only_server_is_followed_to_another_port(looks: list[Look], given: bool) -> None:
    looks += [(at(30000, given=given),), (), (at(30001, given=given),)]
    assert await followed(monitor()) == [":30000", ":30001"]


async def test_a_log_given_before_its_server_was_there_is_that_servers(looks: list[Look]) -> None:
    looks += [(LOG,), (at(30000, given=True),)]
    assert await followed(monitor()) == ["log:/x", ":30000"]


async def test_what_was_given_among_several_is_left_for_no_other(looks: list[Look]) -> None:
    both = (at(30000), at(30001, given=True))
    looks += [both, (at(30000, given=True),), both]
    assert await followed(monitor()) == [":30001"]


async def test_of_several_none_is_gone_to(looks: list[Look]) -> None:
    looks += [(at(30000), at(30001))]
    assert await followed(monitor()) == []


async def test_what_the_person_picked_is_left_for_no_other(looks: list[Look]) -> None:
    looks += [(at(30000), at(30001)), (at(30000, given=True),)]
    watched = monitor()
    watched.select(":30001")
    assert await followed(watched) == [":30001"]
