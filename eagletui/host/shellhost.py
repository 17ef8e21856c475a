"""What SSH and the machine itself have in common: both start commands and give a channel."""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from eagletui.host import shell
from eagletui.host.base import FileChunk, FilePosition
from eagletui.host.channel import Channel
from eagletui.host.follow import Fingerprints, Follower


class ShellHost(abc.ABC):
    """Streams and followed files over anything that can start a command."""

    def __init__(self) -> None:
        self._fingerprints: Fingerprints = {}

    @abc.abstractmethod
    async def start(self, argv: Sequence[str]) -> Channel:
        """Start a command whose input stays open.

        Raises:
            HostError: the host is not connected, or starts nothing.
        """

    async def stream(self, argv: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """Standard output of a long command, as it comes; it ends with the iteration."""
        channel = await self.start(shell.guarded(argv))
        async with _attended(channel):
            while data := await channel.read():
                yield data

    def follow(
        self, path: str, *, position: FilePosition | None = None, history: int | None = None
    ) -> AsyncGenerator[FileChunk, None]:
        """Follow a file by name for ever; see `eagletui.host.base.Host.follow`."""
        return self._follow(path, position, history)

    async def _follow(
        self, path: str, position: FilePosition | None, history: int | None
    ) -> AsyncGenerator[FileChunk, None]:
        follower = Follower(path, position=position, history=history, marks=self._fingerprints)
        while True:
            channel = await self.start(follower.command())
            async with _attended(channel):
                while not follower.done and (data := await channel.read()):
                    for chunk in follower.feed(data):
                        yield chunk
            follower.finish()
            if follower.pause:
                await asyncio.sleep(follower.pause)


@contextlib.asynccontextmanager
async def _attended(channel: Channel) -> AsyncIterator[None]:
    """Renew the command's lease as long as somebody reads, then let it end."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(shell.RENEW_SECONDS)
            channel.write(b".")

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()
        channel.close()
