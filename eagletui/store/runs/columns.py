"""Columns of numbers as bytes: one blob a column, not a row a sample.

Times are milliseconds since 1970, each as its distance from the one before; values are 32-bit
floats. Bytes of equal weight stand together before zlib sees them: neighbours are alike there.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate, chain, repeat
from operator import sub, truediv

_LEVEL = 6
_SWAP = sys.byteorder == "big"


def pack_times(times: Sequence[float]) -> bytes:
    """Seconds since 1970, to the millisecond."""
    whole = [round(time * 1000.0) for time in times]
    return _packed(array("q", map(sub, whole, chain((0,), whole))))


def unpack_times(data: bytes) -> array[float]:
    """What `pack_times` packed.

    Raises:
        ValueError: it is something else.
    """
    return array("d", list(map(truediv, accumulate(_unpacked(data, "q")), repeat(1000.0))))


def pack_values(values: Sequence[float]) -> bytes:
    """Numbers, to seven digits."""
    return _packed(array("f", values))


def unpack_values(data: bytes) -> array[float]:
    """What `pack_values` packed.

    Raises:
        ValueError: it is something else.
    """
    return array("d", _unpacked(data, "f").tolist())


def pack_flags(flags: Sequence[int]) -> bytes:
    """Zeros and ones, a byte each."""
    return zlib.compress(bytes(flags), _LEVEL)


def unpack_flags(data: bytes) -> bytes:
    """What `pack_flags` packed.

    Raises:
        ValueError: it is something else.
    """
    return _inflated(data)


def _packed(column: array[int] | array[float]) -> bytes:
    if _SWAP:
        column.byteswap()
    raw, width = column.tobytes(), column.itemsize
    return zlib.compress(b"".join(raw[byte::width] for byte in range(width)), _LEVEL)


def _unpacked(data: bytes, kind: str) -> array[float]:
    column: array[float] = array(kind)
    width, shuffled = column.itemsize, _inflated(data)
    count, rest = divmod(len(shuffled), width)
    if rest:
        raise ValueError(f"{len(shuffled)} bytes are no column of {width}-byte numbers")
    raw = bytearray(len(shuffled))
    for byte in range(width):
        raw[byte::width] = shuffled[byte * count : (byte + 1) * count]
    column.frombytes(bytes(raw))
    if _SWAP:
        column.byteswap()
    return column


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
