"""Channels of a host with something between."""

from __future__ import annotations

from eagletui.host.channel import Channel


class Wrapped:
    """A `Channel` as it is; what goes wrong with it is for subclasses to say."""

    def __init__(self, channel: Channel) -> None:
        self.inner = channel

    @property
    def status(self) -> int | None:
        return self.inner.status

    @property
    def stderr(self) -> bytearray:
        return self.inner.stderr

    async def read(self) -> bytes:
        return await self.inner.read()

    def write(self, data: bytes) -> None:
        self.inner.write(data)

    async def wait_closed(self) -> None:
        await self.inner.wait_closed()

    def close(self) -> None:
        self.inner.close()
