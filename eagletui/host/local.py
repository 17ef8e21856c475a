# ruff: noqa: ARG002 - the signatures are those of the library that calls
"""This machine as a host: the same contract without SSH."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import aiohttp

from eagletui.host import shell
from eagletui.host.base import Completed, FileChunk, FilePosition
from eagletui.host.channel import Inbox
from eagletui.host.localfollow import follow_local
from eagletui.host.shellhost import ShellHost
from eagletui.host.within import within
from eagletui.model.errors import CommandTimeout, HostError

_PROC = Path("/proc/self/fd")
# A killed command is gone at once, unless it hangs in the kernel.
_ENDING = 1.0


def _home() -> str:
    """Where a login shell would start: at home, or at the root where there is none."""
    home = os.path.expanduser("~")
    return home if os.path.isdir(home) else "/"


class _Process(asyncio.SubprocessProtocol):
    """One command on this machine: a `Channel`."""

    def __init__(self) -> None:
        self._transport: asyncio.SubprocessTransport | None = None
        self._inbox = Inbox()
        self._paused = False
        self._closed = asyncio.get_running_loop().create_future()
        self.stderr = bytearray()
        self.status: int | None = None
        self.killed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.stderr += data[: max(0, 65536 - len(self.stderr))]
            return
        self._inbox.put(data)
        if self._inbox.wants_pause and not self._paused:
            self._paused = True
            self._pipe(1, "pause_reading")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._inbox.end()

    def process_exited(self) -> None:
        assert self._transport is not None
        code = self._transport.get_returncode()
        self.status = code if code is None or code >= 0 else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._inbox.end()
        if not self._closed.done():
            self._closed.set_result(None)

    @property
    def closed(self) -> bool:
        return self._closed.done()

    async def read(self) -> bytes:
        data = await self._inbox.get()
        if self._paused:
            self._paused = False
            self._pipe(1, "resume_reading")
        return data

    def write(self, data: bytes) -> None:
        self._pipe(0, "write", data)

    def write_eof(self) -> None:
        self._pipe(0, "close")

    async def wait_closed(self) -> None:
        await asyncio.shield(self._closed)

    def close(self) -> None:
        """End the command's whole process group: it has a session of its own.

        A transport closed while its process lives would wait for the process itself, behind the
        back of asyncio's watcher, which then complains on standard error: the pipes are closed,
        and the transport goes with the process.
        """
        if self._transport is None:
            return
        if self._transport.get_returncode() is not None:
            self._transport.close()
            return
        self.killed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), signal.SIGKILL)
        for fd in range(3):
            self._pipe(fd, "close")

    def _pipe(self, fd: int, method: str, *arguments: object) -> None:
        pipe = self._transport.get_pipe_transport(fd) if self._transport else None
        if pipe is not None and not pipe.is_closing():
            getattr(pipe, method)(*arguments)


class LocalHost(ShellHost):
    """This machine. See `eagletui.host.base.Host`."""

    name = "localhost"
    address = ""

    def __init__(self) -> None:
        super().__init__()
        self._never: asyncio.Future[str] | None = None
        self._alive: set[_Process] = set()

    async def connect(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """End `wait_lost` and, as a connection's end would, what was started and not closed."""
        if self._never is not None and not self._never.done():
            self._never.set_result("closed")
        self._never = None
        alive = [process for process in self._alive if not process.closed]
        for process in alive:
            process.close()
        if alive:
            ends = [asyncio.ensure_future(process.wait_closed()) for process in alive]
            await asyncio.wait(ends, timeout=_ENDING)

    async def wait_lost(self) -> str:
        """This machine is not lost: waits until `close`."""
        if self._never is None:
            self._never = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._never)

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 10.0,
        limit: int = 8 << 20,
    ) -> Completed:
        """Run one command; see `eagletui.host.base.Host.run`."""
        process = await self._spawn(argv)
        try:
            process.write(stdin)
            process.write_eof()
            return await within(self._collect(process, argv, limit), timeout)
        except asyncio.TimeoutError as error:
            raise CommandTimeout(
                f"`{argv[0]}` did not end within {timeout:g} s.",
                meaning="This machine is overloaded, or the command hangs.",
                advice="It was ended; eagletui goes on without its answer.",
            ) from error
        finally:
            process.close()

    async def start(self, argv: Sequence[str]) -> _Process:
        return await self._spawn(argv)

    def follow(
        self, path: str, *, position: FilePosition | None = None, history: int | None = None
    ) -> AsyncGenerator[FileChunk, None]:
        """Follow a file; see `eagletui.host.base.Host.follow`."""
        if not _PROC.exists():
            return follow_local(path, position=position, history=history)
        return super().follow(path, position=position, history=history)

    def http(self, limit: int = 8) -> aiohttp.BaseConnector:
        return aiohttp.TCPConnector(keepalive_timeout=60.0, limit=limit)

    async def _spawn(self, argv: Sequence[str]) -> _Process:
        for word in argv:
            shell.quote(word)
        self._alive = {process for process in self._alive if not process.closed}
        loop = asyncio.get_running_loop()
        try:
            _, process = await loop.subprocess_exec(
                _Process, *argv, cwd=_home(), start_new_session=True
            )
        except FileNotFoundError:
            # As a shell would have it, so that callers need not know where they run.
            missing = shell.script('echo "$1: not found" >&2; exit 127', argv[0])
            _, process = await loop.subprocess_exec(_Process, *missing, start_new_session=True)
        except OSError as error:
            raise HostError(f"`{argv[0]}` cannot be started: {error.strerror}.") from error
        self._alive.add(process)
        return process

    async def _collect(self, process: _Process, argv: Sequence[str], limit: int) -> Completed:
        parts: list[bytes] = []
        size = 0
        while data := await process.read():
            parts.append(data)
            size += len(data)
            if size > limit:
                raise HostError(
                    f"`{argv[0]}` wrote more than {limit} bytes.",
                    advice="It was ended; eagletui goes on without its answer.",
                )
        await process.wait_closed()
        return Completed(
            status=process.status, stdout=b"".join(parts), stderr=bytes(process.stderr)
        )
