"""The file of a recording: a line that says what it is, then blocks that stand by themselves.

Each block is packed alone and carries its length and two checksums, so that a crash costs the last
one at most, and a file that was cut or damaged is read up to there. Whoever looks for a moment
reads the heads alone.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

MAGIC = b"eagletui recording\n"
FORMAT = 1
"""Grows only where an older eagletui would read a newer file wrongly."""

ABOUT, EVENTS, END = 1, 2, 3
"""Kinds of blocks; one of another kind comes from a newer eagletui and is passed over."""

LARGEST = 64 << 20
"""Bytes of one block, packed or not; what claims to be larger is damaged."""

_MARK = b"EBLK"
_FIELDS = struct.Struct(">4sBIIddI")
_CHECK = struct.Struct(">I")
HEAD = _FIELDS.size + _CHECK.size
_LEVEL = 6


class Head(NamedTuple):
    """What stands before a block.

    Attributes:
        size: bytes of the packed block behind the head.
        check: CRC-32 of these.
        first, last: when its first and last events came, seconds since the epoch.
        events: how many it holds.
    """

    kind: int
    size: int
    check: int
    first: float
    last: float
    events: int


def pack(
    kind: int, payload: bytes, *, first: float = 0.0, last: float = 0.0, events: int = 0
) -> bytes:
    """One block, head and all."""
    packed = zlib.compress(payload, _LEVEL)
    head = _FIELDS.pack(_MARK, kind, len(packed), zlib.crc32(packed), first, last, events)
    return head + _CHECK.pack(zlib.crc32(head)) + packed


def read_head(data: bytes) -> Head | None:
    """The head in these bytes; None where they hold none that is whole."""
    if len(data) < HEAD:
        return None
    if _CHECK.unpack_from(data, _FIELDS.size)[0] != zlib.crc32(data[: _FIELDS.size]):
        return None
    mark, *fields = _FIELDS.unpack_from(data)
    head = Head(*fields)
    return head if mark == _MARK and head.size <= LARGEST else None


def unpack(head: Head, packed: bytes) -> bytes | None:
    """What the block holds; None where it is cut or damaged."""
    if len(packed) != head.size or zlib.crc32(packed) != head.check:
        return None
    unpacking = zlib.decompressobj()
    try:
        payload = unpacking.decompress(packed, LARGEST)
    except zlib.error:
        return None
    return payload if unpacking.eof else None
