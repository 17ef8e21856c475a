"""What every way of reaching a machine can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import aiohttp

from eagletui.host.channel import Channel
from eagletui.model.base import Data


class Completed(Data, frozen=True):
    """A command that ended. `status` is None when the host did not say (killed by a signal)."""

    status: int | None
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        """Whether it ended with status 0."""
        return self.status == 0


class FilePosition(Data, frozen=True):
    """Where reading stopped: enough to go on without losing or doubling a byte."""

    inode: int
    offset: int


class FileChunk(Data, frozen=True):
    """Bytes of a followed file.

    Attributes:
        start: offset of the first byte in its file.
        position: where to resume after this chunk.
        live: False while catching up with what was there before.
        gap: "" when adjacent to the chunk before, else `rotated`, `truncated`, `replaced`,
            `skipped` or `lost`.
        skipped: bytes left out before this chunk, where that is known.
    """

    start: int
    data: bytes
    position: FilePosition
    live: bool = True
    gap: str = ""
    skipped: int | None = None


class Host(Protocol):
    """A machine, connected. Every call may raise a `HostError`."""

    name: str

    async def connect(self) -> None:
        """Connect, asking the person where needed. Calling it again after a loss reconnects."""
        ...

    async def close(self) -> None: ...

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 10.0,
        limit: int = 8 << 20,
    ) -> Completed:
        """Run one command given as an argument vector (quoted for us, never a pasted string)."""
        ...

    async def start(self, argv: Sequence[str]) -> Channel:
        """Start a command whose standard input stays open; it ends with the channel."""
        ...

    def stream(self, argv: Sequence[str]) -> AsyncIterator[bytes]:
        """Standard output of a long command (`journalctl -f`, `docker logs -f`), as it comes.

        The command ends with the iteration or with the connection.
        """
        ...

    def follow(
        self, path: str, *, position: FilePosition | None = None, history: int | None = None
    ) -> AsyncIterator[FileChunk]:
        """Follow a file by name for ever: what is there, then what comes.

        Args:
            position: resume here; None starts at the beginning.
            history: at most this many bytes of an old file are read: a head of one eighth and
                the tail; what lies between becomes a `skipped` gap. None reads everything.
        """
        ...

    def http(self, limit: int = 8) -> aiohttp.BaseConnector:
        """A connector whose connections start on that machine. The caller closes it.

        Args:
            limit: how many connections there may be at once.
        """
        ...

    def wait_lost(self) -> Any:
        """An awaitable that ends, with the reason as text, when the connection is lost."""
        ...
