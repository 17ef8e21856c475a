"""A server's own secrets, in what a restart reads of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from eagletui.control.api import Running
from eagletui.control.facts import Facts
from eagletui.control.launch_log import LaunchLog
from eagletui.control.requests import ServerHttp
from eagletui.host.base import FileChunk, FilePosition
from eagletui.host.local import LocalHost
from eagletui.model.events import Event
from eagletui.model.profile import Guard, StartPlan
from eagletui.model.server import LogPlace
from tests.control.servers import Servers
from tests.control.test_restart import QUICK, driven

ARGV = ("python", "-m", "sglang.launch_server", "--api-key", "hunter2Zq")
PLAN = StartPlan(argv=ARGV, environment={"HF_TOKEN": "abrakadabra"})
OLD = Running(
    pid=1, start_ticks=2, port=3, argv=("x", "--admin-api-key", "simsalabim"), environment={}
)


class Following:
    """A host with a log that comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def follow(self, path: str, **_: Any) -> AsyncIterator[FileChunk]:
        at = 0
        for piece in self._pieces:
            position = FilePosition(inode=1, offset=at + len(piece))
            yield FileChunk(start=at, data=piece, position=position)
            at += len(piece)


async def test_a_launch_log_tells_nothing_of_either_server() -> None:
    told: list[Event] = []
    facts = Facts("launch", PLAN, Guard(), OLD)
    place = LogPlace(kind="file", target="/x.log")
    log = LaunchLog(place, inode=1, offset=0, secrets=facts.secrets, tell=told.append)
    await log.read(
        Following(  # type: ignore[arg-type]
            b"[2026-01-01 00:00:00] Scheduler hit an exception: Traceback (most recent "
            b"call last):\n",
            b"RuntimeError: hunter2Zq abraka",
            b"dabra simsala",
            b"bim is wrong\n",
        )
    )
    verdict = log.finish()
    assert verdict is not None
    assert "********* *********** ********** is wrong" in repr(verdict)
    for secret in ("hunter2", "abraka", "simsala"):
        assert secret not in repr(told)


@pytest.mark.parametrize(("log", "rights"), [("", 0o600), ("given.log", 0o644)])
async def test_a_log_that_nobody_asked_for_is_its_owner_s_alone(
    servers: Servers, host: LocalHost, log: str, rights: int
) -> None:
    """SGLang prints its arguments, the API key among them."""
    restart, _ = await driven(
        host, servers.plan("--api-key", "hunter2Zq", log=log), None, limits=QUICK
    )
    assert restart.standing.state == "ready"
    assert os.stat(restart.log).st_mode & 0o777 == rights
    if not log:
        assert os.stat(os.path.dirname(restart.log)).st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b"no: hunter2Zq", "HTTP 500: no: *********"),
        (200, b"<hunter2Zq>", "no JSON: <*********>"),
    ],
)
async def test_what_a_server_answers_is_covered(
    host: LocalHost, status: int, body: bytes, words: str
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        writer.write(head % (status, len(body)) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        http = ServerHttp(host, ARGV, server.sockets[0].getsockname()[1])
        assert await http.first_token(10) == words
