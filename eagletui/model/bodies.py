"""A reply's body, read as far as it may be long."""

from __future__ import annotations

from collections.abc import AsyncIterable


async def body_of(blocks: AsyncIterable[bytes], most: int) -> tuple[bytes, bool]:
    """The body, and whether that is all of it; more than `most` bytes are not waited for.

    Args:
        blocks: as they come. One read of a stream gives the first of them, not the body.
    """
    body = bytearray()
    async for block in blocks:
        body += block
        if len(body) > most:
            return bytes(body[:most]), False
    return bytes(body), True
