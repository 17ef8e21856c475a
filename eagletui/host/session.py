"""One remote command over SSH, and how its failures are told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import asyncssh

from eagletui.host import shell
from eagletui.host.channel import Inbox
from eagletui.model.errors import ConnectionLost, HostError
from eagletui.model.safe import safe


class Session(asyncssh.SSHClientSession[bytes]):
    """One remote command: a `Channel`."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._chan: asyncssh.SSHClientChannel[bytes] | None = None
        self._inbox = Inbox()
        self._head = b""
        self._paused = False
        self._closed = asyncio.get_running_loop().create_future()
        self._began = asyncio.Event()
        self.stderr = bytearray()
        self.pid: int | None = None
        self.status: int | None = None
        self.error: Exception | None = None

    # --- asyncssh's side ----------------------------------------------------------------------

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._chan = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if datatype is not None:
            self.stderr += data[: max(0, 65536 - len(self.stderr))]
            return
        if self.pid is None:
            data = self._after_token(data)
        if data:
            self._inbox.put(data)
            if self._inbox.wants_pause and self._chan is not None and not self._paused:
                self._paused = True
                self._chan.pause_reading()

    def exit_status_received(self, status: int) -> None:
        self.status = status

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self._inbox.end(None if exc is None else lost(exc))
        self._began.set()
        if not self._closed.done():
            self._closed.set_result(None)

    # --- our side -----------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._closed.done()

    @property
    def chatter(self) -> bytes:
        """What was said instead of starting the command."""
        return bytes(self._head + self.stderr).strip()

    async def read(self) -> bytes:
        data = await self._inbox.get()
        if self._paused and self._chan is not None:
            self._paused = False
            self._chan.resume_reading()
        if not data and self.pid is None:
            raise refused(self)
        return data

    def begin(self, argv: Sequence[str]) -> None:
        """Tell the waiting shell what to become."""
        self.write(shell.first_line(argv, self._token))

    def write(self, data: bytes) -> None:
        if self._chan is not None and not self._chan.is_closing():
            with contextlib.suppress(OSError):
                self._chan.write(data)

    def write_eof(self) -> None:
        if self._chan is not None and not self._chan.is_closing():
            with contextlib.suppress(OSError):
                self._chan.write_eof()

    async def wait_began(self) -> None:
        """Wait until the command runs, or never will."""
        await self._began.wait()

    async def wait_closed(self) -> None:
        await asyncio.shield(self._closed)

    def close(self) -> None:
        if self._chan is not None:
            self._chan.close()

    def _after_token(self, data: bytes) -> bytes:
        self._head = (self._head + data)[-65536:]
        at = self._head.find(self._token.encode())
        end = self._head.find(b"\n", at)
        if at < 0 or end < 0:
            return b""
        self.pid = int(self._head[at + len(self._token) : end])
        self._began.set()
        return self._head[end + 1 :]


def lost(error: BaseException | None) -> ConnectionLost:
    """The loss of a connection in words."""
    reason = str(error).strip().rstrip(".") if error is not None else ""
    return ConnectionLost(
        f"The connection was lost: {reason or 'the host closed it'}.",
        meaning="What runs on the host goes on; only the view of it has stopped.",
        advice="eagletui connects again by itself.",
    )


def refused(session: Session) -> HostError:
    """The host took the login but runs no commands."""
    said = safe(session.chatter.decode("utf-8", "replace"))[:300]
    return HostError(
        "The host accepted the login but ran no command." + (f" It said: {said}" if said else ""),
        meaning="The account may have no shell (nologin, git-shell) or a forced command.",
        advice="Use an account with an ordinary shell.",
    )
