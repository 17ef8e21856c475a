"""A load sent from the host itself, by a small program in the host's Python."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Protocol
from urllib.parse import urlsplit

from eagletui.bench.load import Heard, Load, Moving, reply_from
from eagletui.model.errors import HostError
from eagletui.model.jsontext import read_json
from eagletui.model.safe import safe

_PARTS = ("stream_meter", "bench_client")
_PACKAGE = "eagletui.hostside"
_FLAGS = ("-I", "-S", "-X", "utf8", "-c")
_RENEW = 15.0
_LONGEST_LINE = 8 << 20
# Each part becomes a module of its name, the last one the program: it imports nothing of ours
# but what came along.
_LOADER = """\
import sys, types
for name, text in {parts!r}:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)
sys.exit(module.main())
"""


class Channel(Protocol):
    """A command that was started."""

    async def read(self) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Starter(Protocol):
    """A machine on which a command can be started."""

    async def start(self, argv: Sequence[str]) -> Channel: ...


class OnHost:
    """Sends loads from the host.

    Args:
        python: an interpreter there, 3.8 or later.
    """

    def __init__(self, host: Starter, python: str) -> None:
        self._host = host
        self._python = python

    async def drive(self, load: Load, heard: Heard, stop: asyncio.Event) -> float:
        """Send it all; see `bench.load.Driver`."""
        channel = await self._host.start([self._python, *_FLAGS, program()])
        # The key travels on standard input: a command line is for all to read.
        channel.write(json.dumps(job(load)).encode("ascii") + b"\n")
        renewing = asyncio.create_task(_renew(channel))
        stopping = asyncio.create_task(_stop(channel, stop))
        try:
            return await _listen(channel, heard)
        finally:
            renewing.cancel()
            stopping.cancel()
            await asyncio.gather(renewing, stopping, return_exceptions=True)
            channel.close()


@functools.cache
def program() -> str:
    """The program as one text."""
    folder = resources.files(_PACKAGE)
    parts = [
        (f"{_PACKAGE}.{name}", folder.joinpath(f"{name}.py").read_text("utf-8")) for name in _PARTS
    ]
    return _LOADER.format(parts=parts)


def job(load: Load) -> dict[str, Any]:
    """What the program is to do."""
    parts = urlsplit(load.url)
    port = parts.port or 80
    head = [
        f"POST {parts.path.rstrip('/')}{load.endpoint} HTTP/1.1",
        f"Host: {parts.hostname}:{port}",
        "Content-Type: application/json",
        "Accept: */*",
        "Connection: close",
        *(f"{name}: {value}" for name, value in load.headers.items()),
        "Content-Length: ",
    ]
    return {
        "host": parts.hostname,
        "port": port,
        "head": "\r\n".join(head),
        "bodies": [body.decode("utf-8") for body in load.bodies],
        "native": load.native,
        "concurrency": load.concurrency,
        "starts": list(load.starts),
        "first_s": load.first_s,
        "gap_s": load.gap_s,
    }


async def _renew(channel: Channel) -> None:
    while True:
        await asyncio.sleep(_RENEW)
        channel.write(b".")


async def _stop(channel: Channel, stop: asyncio.Event) -> None:
    await stop.wait()
    channel.write(b"\nstop\n")


async def _listen(channel: Channel, heard: Heard) -> float:
    rest = b""
    seconds = None
    while data := await channel.read():
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            break
        for line in lines:
            found = _line(line)
            if "index" in found:
                heard(reply_from(found["index"], found["began"], found))
            elif "tokens" in found:
                heard(Moving(tokens=int(found["tokens"]), running=int(found["running"])))
            elif "wrong" in found:
                raise HostError(safe(str(found["wrong"])))
            elif "over" in found:
                seconds = float(found["over"])
    if seconds is None:
        raise HostError(
            "The load client on the host ended before its work was done.",
            meaning="The host's Python may be too old (3.8 is needed), or it was killed.",
            advice="Try --on-host no.",
        )
    return seconds


def _line(line: bytes) -> Mapping[str, Any]:
    try:
        found = read_json(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
