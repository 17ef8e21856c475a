"""A line written to a log on the host, to its bytes here, over a real sshd on loopback.

Beside it, in the same run, `tail -F` read through asyncssh without anything of ours.
"""

from __future__ import annotations

import asyncio
import getpass
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncssh

from eagletui.host.ssh import SshHost
from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from tests import sshd

LINES = 100


class Nobody:
    """Answers nothing: the server's key is known and ours may log in."""

    async def secret(self, question: SecretQuestion) -> str | None:
        return None

    async def host_key(self, question: HostKeyQuestion) -> bool:
        return False


async def _latencies(log: Path, receive: Callable[[], Awaitable[bytes]]) -> list[float]:
    """Milliseconds from the write of a line until it is here."""
    found = []
    for number in range(LINES + 10):
        line = b"[2026-01-20 02:40:29 TP0] Decode batch. #running-req: %d\n" % number
        with log.open("ab", buffering=0) as file:
            began = time.perf_counter()
            file.write(line)
        data = b""
        while not data.endswith(line):
            data += await receive()
        found.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.01)
    # The first ones wake what was just started.
    return found[10:]


async def _ours(server: sshd.Sshd, log: Path) -> list[float]:
    host = SshHost(server.name, asker=Nobody(), config=[str(server.config)])
    await host.connect()
    follow = host.follow(str(log))
    try:
        await anext(follow)

        async def receive() -> bytes:
            return (await anext(follow)).data

        return await _latencies(log, receive)
    finally:
        await follow.aclose()
        await host.close()


async def _plain(server: sshd.Sshd, log: Path) -> list[float]:
    async with (
        asyncssh.connect(
            "127.0.0.1",
            server.port,
            username=getpass.getuser(),
            known_hosts=str(server.known_hosts),
            client_keys=[str(server.client_key)],
            config=None,
        ) as connection,
        connection.create_process(f"exec tail -F {log}", encoding=None) as process,
    ):
        await process.stdout.read(65536)

        async def receive() -> bytes:
            return bytes(await process.stdout.read(65536))

        return await _latencies(log, receive)


async def _measure(folder: Path) -> tuple[list[float], list[float]]:
    server = sshd.start_sshd(folder / "sshd")
    log = folder / "server.log"
    log.write_bytes(b"begin\n")
    try:
        return await _ours(server, log), await _plain(server, log)
    finally:
        server.stop()


def rows() -> list[dict[str, str]]:
    """What was measured, beside its reference."""
    if sshd.SSHD is None:
        what = "a log line written on the host to its bytes here"
        return [{"what": what, "measured": "-", "reference": sshd.MISSING, "reach": ""}]
    with tempfile.TemporaryDirectory() as folder:
        ours, plain = asyncio.run(_measure(Path(folder)))
    return [
        {
            "what": "a log line written on the host to its bytes here, sshd on loopback",
            "measured": f"{statistics.median(ours):.2f} ms median, {max(ours):.1f} ms worst",
            "reference": f"tail -F through asyncssh {statistics.median(plain):.2f} ms median",
            "reach": "under 60 ms at the median, to the screen",
        }
    ]


if __name__ == "__main__":
    for row in rows():
        print(" | ".join(row.values()))
