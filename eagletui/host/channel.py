"""One running command, whichever way it is reached."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

HIGH_WATER = 4 << 20


class Channel(Protocol):
    """A command that was started: its output, its input, its end."""

    @property
    def status(self) -> int | None:
        """None as long as it runs, and where the host did not say."""
        ...

    @property
    def stderr(self) -> bytearray:
        """The first of what it wrote on standard error."""
        ...

    async def read(self) -> bytes:
        """What came on standard output, b"" at its end. Raises `ConnectionLost`."""
        ...

    def write(self, data: bytes) -> None: ...

    async def wait_closed(self) -> None: ...

    def close(self) -> None:
        """Stop listening; the command's standard input ends."""
        ...


class Inbox:
    """Bytes between a protocol that receives and a task that reads.

    `wants_pause` is true while more waits than a reader should leave lying.
    """

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def wants_pause(self) -> bool:
        return self._size > HIGH_WATER

    def put(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        if not self._ended:
            self._ended = True
            self._error = error
        self._wake()

    async def get(self) -> bytes:
        """Everything that waits; b"" at the end."""
        while not self._parts:
            if self._ended:
                if self._error is not None:
                    raise self._error
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return data

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None
