"""A restart that loses its connection, or its eagletui, in each of its states."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from eagletui.control.agent import AgentRefused
from eagletui.control.api import Detached, Owner
from eagletui.control.restart import Restart, unfinished
from eagletui.host.base import Completed
from eagletui.host.channel import Channel
from eagletui.host.local import LocalHost
from eagletui.model.errors import ConnectionLost
from eagletui.model.profile import Guard
from tests.control.abandon import Job
from tests.control.channels import Wrapped
from tests.control.servers import Servers, alive, argv, environ
from tests.control.test_restart import ANN, QUICK, driven, states

WAY = (
    "saving", "draining", "aborting", "stopping", "waiting-gone", "starting", "loading",
    "first-token", "settling",
)  # fmt: skip


class Flaky(LocalHost):
    """Loses its connection when it is told to; `losses` connects later it is back."""

    def __init__(self, losses: int = 2) -> None:
        super().__init__()
        self.cut = False
        self.losses = losses
        self.refused = 0

    async def connect(self) -> None:
        self.losses -= 1
        self.cut = self.cut and self.losses > 0

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 10.0,
        limit: int = 8 << 20,
    ) -> Completed:
        self.check()
        done = await super().run(argv, stdin=stdin, timeout=timeout, limit=limit)
        self.check()  # the answer to what was done is lost
        return done

    async def start(self, argv: Sequence[str]) -> Any:
        self.check()
        return Unplugged(self, await super().start(argv))

    def check(self) -> None:
        if self.cut:
            self.refused += 1
            raise ConnectionLost("The connection was lost: unplugged.")


class Unplugged(Wrapped):
    """A channel that is lost with its host: at the next byte in either direction."""

    def __init__(self, host: Flaky, channel: Channel) -> None:
        super().__init__(channel)
        self._host = host
        self._gone = asyncio.Event()

    def write(self, data: bytes) -> None:
        if self._host.cut:
            self._gone.set()
        else:
            super().write(data)

    async def read(self) -> bytes:
        reading = asyncio.ensure_future(super().read())
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
            self._host.check()
            return await reading
        finally:
            reading.cancel()
            gone.cancel()


@pytest.mark.parametrize("state", ["checking", *WAY, "rolling-back"])
async def test_a_lost_connection_in_any_state_is_only_a_delay(servers: Servers, state: str) -> None:
    host = Flaky()
    old = servers.start("--tag", "old", SGLANG_FAKE_BUSY="1", SGLANG_FAKE_WORKERS="1")
    wrong = {"SGLANG_FAKE_DIE": "shards"} if state == "rolling-back" else {}
    restart = Restart(
        host,
        servers.plan("--tag", "new", environment=wrong),
        replaces=old,
        owner=ANN,
        limits=QUICK,
    )
    seen = []
    async for progress in restart.progress():
        if progress.standing.state not in seen:
            seen.append(progress.standing.state)
            if progress.standing.state == state:
                host.cut = True
    assert state in seen
    assert seen[-1] == ("rolled-back" if wrong else "ready")
    if state not in ("draining", "aborting"):
        assert host.refused > 0
    servers.reap()
    assert not alive(old.pid)
    [pid] = [pid for pid in servers.mine() if argv(pid)[0] == sys.executable]
    assert pid == restart.pid
    assert not servers.lock.exists()


async def test_a_host_that_stays_away_leaves_a_launch_to_resume(servers: Servers) -> None:
    host = Flaky(losses=10**6)
    old = servers.start()
    restart = Restart(
        host, servers.plan(), replaces=old, owner=ANN, limits=replace(QUICK, lost=0.5)
    )

    async def cut_while_loading() -> None:
        async for progress in restart.progress():
            if progress.standing.state == "loading":
                host.cut = True

    with pytest.raises(Detached, match=f"--resume {restart.launch}"):
        await cut_while_loading()
    [left] = await unfinished(LocalHost())
    assert left["id"] == restart.launch
    assert alive(left["new"]["pid"])
    resumed = await Restart.resume(
        LocalHost(), restart.launch, owner=ANN, limits=QUICK, break_lock=True
    )
    assert (await resumed.run()).standing.state == "ready"
    assert resumed.pid == left["new"]["pid"]


async def killed_in(servers: Servers, state: str, job: Job) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.control.abandon",
        state,
        msgspec.json.encode(job).decode(),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        start_new_session=True,
    )
    assert await process.wait() == -signal.SIGKILL


async def left_behind(host: LocalHost) -> dict[str, Any]:
    """The launch that nobody is at; what the killed one had asked for may still be under way."""
    for _ in range(200):
        found = await unfinished(host)
        if found:
            [left] = found
            return left
        await asyncio.sleep(0.1)
    raise AssertionError("no launch was left")


async def resumed(servers: Servers) -> tuple[Restart, dict[str, Any]]:
    host = LocalHost()
    left = await left_behind(host)
    restart = await Restart.resume(host, left["id"], owner=Owner.here("going on"), limits=QUICK)
    await restart.run()
    [state] = servers.launches()
    return restart, state


@pytest.mark.parametrize("state", WAY)
async def test_killed_in_any_state_it_goes_on_from_there(servers: Servers, state: str) -> None:
    old = servers.start("--tag", "old", SGLANG_FAKE_BUSY="1", SGLANG_FAKE_WORKERS="1")
    plan = servers.plan("--tag", "new", environment={"NCCL_ALGO": "Ring"})
    job = Job(plan=plan, old=old, limits=replace(QUICK, settle=3.0))
    await killed_in(servers, state, job)
    restart, kept = await resumed(servers)
    assert restart.standing.state == "ready"
    servers.reap()
    assert not alive(old.pid)
    assert servers.mine() == [kept["new"]["pid"]] == [restart.pid]
    assert argv(kept["new"]["pid"]) == list(servers.argv("--tag", "new"))
    assert environ(kept["new"]["pid"])["NCCL_ALGO"] == "Ring"
    assert not servers.lock.exists()


@pytest.mark.parametrize("state", ["killing", "rolling-back", "asking"])
async def test_killed_on_the_way_back_too(servers: Servers, state: str) -> None:
    wrong = {"SGLANG_FAKE_DIE": "shards"} if state != "killing" else {}
    old = servers.start("--tag", "old", SGLANG_FAKE_IGNORE_TERM="1", SGLANG_FAKE_WORKERS="1")
    guard = Guard(
        drain_seconds=0.0, stop_seconds=0.3, roll_back="ask" if state == "asking" else "always"
    )
    job = Job(plan=servers.plan(guard=guard, environment=wrong), old=old, limits=QUICK)
    await killed_in(servers, state, job)
    host = LocalHost()
    left = await left_behind(host)
    restart = await Restart.resume(host, left["id"], owner=Owner.here("x"), limits=QUICK)
    if state == "asking":
        assert restart.standing.state == "asking"
        assert restart.standing.problem is not None
        assert restart.standing.problem.code.startswith("out-of-memory")
        restart.answer(True)
    outcome = await restart.run()
    assert outcome.standing.state == ("ready" if state == "killing" else "rolled-back")
    [pid] = [pid for pid in servers.mine() if argv(pid)[0] == sys.executable]
    assert pid == restart.pid


async def test_a_live_eagletui_s_launch_is_not_taken_over(
    servers: Servers, host: LocalHost
) -> None:
    restart = Restart(host, servers.plan(), owner=ANN, limits=replace(QUICK, settle=20.0))
    other = Owner(user="bob", host="desk", pid=1, session="b")
    async for progress in restart.progress():
        if progress.standing.state == "settling":
            break
    with pytest.raises(AgentRefused, match="ann@laptop"):
        await Restart.resume(host, restart.launch, owner=other)


async def test_who_waits_for_requests_shows_that_the_lock_is_in_use(
    servers: Servers, host: LocalHost
) -> None:
    """For longer than a lock without a sign of life is anybody's."""
    old = servers.start(SGLANG_FAKE_BUSY="1")
    plan = servers.plan(guard=Guard(drain_seconds=60.0))
    restart = Restart(host, plan, replaces=old, owner=ANN, limits=replace(QUICK, renew=0.1))
    seen = 0
    async for progress in restart.progress():
        if progress.standing.state == "draining" and progress.detail:
            seen += servers.lock.stat().st_mtime > 1.0
            os.utime(servers.lock, (1.0, 1.0))
            if seen == 3:
                restart.cancel()
    assert seen == 3
    assert restart.standing.state == "cancelled"


async def test_a_lock_that_was_taken_away_ends_our_part(servers: Servers, host: LocalHost) -> None:
    limits = replace(QUICK, settle=20.0, renew=0.2)
    restart = Restart(host, servers.plan(), owner=ANN, limits=limits)

    async def taken_while_it_serves() -> None:
        async for progress in restart.progress():
            if progress.standing.state == "settling":
                servers.lock.write_text('{"launch": "another"}')

    with pytest.raises(Detached, match="took the lock"):
        await taken_while_it_serves()
    assert servers.lock.read_text() == '{"launch": "another"}'
    assert len(servers.mine()) == 1


async def test_who_lost_the_lock_while_the_old_server_ends_does_no_more_to_it(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start(SGLANG_FAKE_IGNORE_TERM="1")
    plan = servers.plan(guard=Guard(drain_seconds=0.0, stop_seconds=1.0))
    restart = Restart(host, plan, replaces=old, owner=ANN, limits=QUICK)

    async def taken_while_it_ends() -> None:
        async for progress in restart.progress():
            if progress.standing.state == "stopping":
                servers.lock.write_text('{"launch": "another"}')

    with pytest.raises(Detached, match="took the lock"):
        await taken_while_it_ends()
    assert restart.standing.state in ("stopping", "killing")
    servers.reap()
    assert servers.mine() == [old.pid]


async def test_what_is_not_there_cannot_be_resumed(servers: Servers, host: LocalHost) -> None:
    with pytest.raises(AgentRefused, match="no launch nobody"):
        await Restart.resume(host, "nobody", owner=ANN)
    with pytest.raises(AgentRefused):
        await Restart.resume(host, "../../etc", owner=ANN)
    _, told = await driven(host, servers.plan(), None, limits=replace(QUICK, settle=0.0))
    assert states(told)[-1] == "ready"
    assert await unfinished(host) == []
