"""A log's text kept in bounded memory, addressed by line numbers that are never used twice.

Old blocks are compressed and, past the limit, dropped: `first` grows, the numbers of what remains
stay. Appending costs what the bytes cost; no line is looked at by itself.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator

BLOCK_BYTES = 256 << 10
PLAIN_BLOCKS = 16
OPEN_BLOCKS = 12
LONGEST_LINE = 1 << 20
GAP = b"\x00gap\x00"

# A bar that ends without a line end may have a log record glued to it.
_GLUED = re.compile(rb"(it/s\]|s/it\])(?=\[\d{4}-\d\d-\d\d )")


class _Block:
    __slots__ = ("count", "data", "first", "packed", "size")

    def __init__(self, first: int, count: int, data: bytes) -> None:
        self.first, self.count, self.data = first, count, data
        self.packed = False
        self.size = len(data)

    def pack(self) -> int:
        """Compress; returns how many bytes that saved."""
        if self.packed:
            return 0
        before = self.size
        self.data = zlib.compress(self.data, 1)
        self.size = len(self.data)
        self.packed = True
        return before - self.size

    def lines(self) -> list[bytes]:
        data = zlib.decompress(self.data) if self.packed else self.data
        return data.split(b"\n")[: self.count]


class LogStore:
    """Lines of one log.

    `\\r`, `\\n` and `\\r\\n` end a line. What has no end yet counts as the last line, and changes
    until it is ended.

    Args:
        limit_bytes: how much is kept, compressed where it is old.

    Attributes:
        version: grows with every change.
        dropped: lines that were dropped for room.
    """

    def __init__(self, limit_bytes: int = 64 << 20) -> None:
        self._limit = limit_bytes
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []
        self._held = 0
        self._unpacked = 0
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._open_first = 0
        self._rest = b""
        self._after_return = False
        self._cache: OrderedDict[int, list[bytes]] = OrderedDict()
        self.version = 0

    @property
    def first(self) -> int:
        """Number of the oldest line kept."""
        return self._firsts[0] if self._firsts else self._open_first

    @property
    def complete(self) -> int:
        """One more than the number of the newest line that is ended."""
        return self._open_first + len(self._open)

    @property
    def end(self) -> int:
        """One more than the number of the newest line, ended or not."""
        return self.complete + bool(self._rest)

    @property
    def dropped(self) -> int:
        """Lines that are no longer kept."""
        return self.first

    def append(self, data: bytes) -> None:
        """Add bytes as they came."""
        if not data:
            return
        self.version += 1
        if self._after_return and data[:1] == b"\n":
            data = data[1:]
        self._after_return = data[-1:] == b"\r"
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        text = self._rest + data
        if b"it][" in text or b"s][" in text:
            text = _GLUED.sub(rb"\1\n", text)
        lines = text.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        self._extend(lines)

    def gap(self, text: str) -> None:
        """Say between two lines that they are not adjacent."""
        self.version += 1
        lines = [self._rest] if self._rest else []
        self._rest = b""
        self._after_return = False
        self._extend([*lines, GAP + text.encode()])

    def line(self, number: int) -> bytes:
        """One line without its end; empty where it is no longer or not yet kept."""
        if number >= self._open_first:
            offset = number - self._open_first
            if offset < len(self._open):
                return self._open[offset]
            return self._rest if offset == len(self._open) else b""
        if number < self.first:
            return b""
        index = bisect_right(self._firsts, number) - 1
        return self._lines(index)[number - self._firsts[index]]

    def chunk(self, number: int) -> list[bytes]:
        """Ended lines from this number on that can be had in one piece; empty at the end."""
        if number >= self._open_first:
            return self._open[number - self._open_first :]
        number = max(number, self.first)
        index = bisect_right(self._firsts, number) - 1
        return self._lines(index)[number - self._firsts[index] :]

    def lines(self, begin: int, end: int) -> Iterator[bytes]:
        """Lines `begin` to `end` (exclusive), as far as they are kept."""
        for number in range(max(begin, self.first), min(end, self.end)):
            yield self.line(number)

    def _extend(self, lines: list[bytes]) -> None:
        for start in range(0, len(lines), 4096):
            part = lines[start : start + 4096]
            self._open += part
            self._open_bytes += sum(map(len, part)) + len(part)
            if self._open_bytes >= BLOCK_BYTES:
                self._seal()

    def _seal(self) -> None:
        block = _Block(self._open_first, len(self._open), b"\n".join(self._open))
        self._blocks.append(block)
        self._firsts.append(block.first)
        self._held += block.size
        self._open_first += len(self._open)
        self._open = []
        self._open_bytes = 0
        oldest_plain = len(self._blocks) - PLAIN_BLOCKS - 1
        if oldest_plain >= 0:
            self._held -= self._blocks[oldest_plain].pack()
        while self._held > self._limit and len(self._blocks) > 1:
            gone = self._blocks.pop(0)
            self._cache.pop(self._firsts.pop(0), None)
            self._held -= gone.size

    def _lines(self, index: int) -> list[bytes]:
        block = self._blocks[index]
        lines = self._cache.get(block.first)
        if lines is None:
            lines = self._cache[block.first] = block.lines()
            if len(self._cache) > OPEN_BLOCKS:
                self._cache.popitem(last=False)
        else:
            self._cache.move_to_end(block.first)
        return lines
