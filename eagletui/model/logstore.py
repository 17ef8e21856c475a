"""The text of a log, bounded: recent lines as they are, older ones compressed, oldest dropped."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

BLOCK_BYTES = 256 << 10
LONGEST_LINE = 64 << 10
RAW_BLOCKS = 4
"""Newest closed blocks that stay uncompressed."""
FLOOD_BLOCKS = 32
"""Most of them while lines pour in: whoever looks at these need not uncompress them again."""
UNPACKED_BLOCKS = 12
"""Blocks whose lines are kept split for reading."""
BLOCK_OVERHEAD = 400
SEAM_BYTES = 4 << 10
"""How far apart, at least, lines are whose place in a block is remembered."""

# In the stored text every line ends with `\n`. What stands before it says how the line ended in
# the log: nothing for `\n`, `\r` where the next line overwrote it (a progress bar's update),
# `\r\r` where we split it ourselves. No other carriage returns are left in the text.
OVERWRITTEN = b"\r"
SPLIT = b"\r\r"

MOST_RETURNS = 2
"""More carriage returns in a row mean what two do: an end, and an update that says nothing."""

_EMPTY_UPDATE = re.compile(rb"(?<![^\n])\r\n")
_AFTER_BAR = re.compile(rb"(?:it/s|s/it)\](?=[^\r\n])")
_GLUED_RECORD = re.compile(rb"(?<=[^\s])(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


class Piece(NamedTuple):
    """Some consecutive lines. `lines` still carry the marks of how they ended."""

    first: int
    lines: list[bytes]


class Stretch(NamedTuple):
    """Some consecutive lines as one text; each still carries its end marks and its newline."""

    first: int
    lines: int
    text: bytes


class _Seam(NamedTuple):
    """A line of a block and where its text begins."""

    line: int
    offset: int


class _Block:
    """Complete lines that were closed together. `data` is zlib once `packed`."""

    __slots__ = ("count", "data", "packed", "physical", "seams")

    def __init__(self, data: bytes, count: int, seams: Sequence[_Seam]) -> None:
        self.data = data
        self.count = count
        self.physical = count - (data.count(b"\r\n") if b"\r" in data else 0)
        self.packed = False
        self.seams = seams

    def text(self) -> bytes:
        return zlib.decompress(self.data) if self.packed else self.data

    def pack(self) -> None:
        self.data = zlib.compress(self.data, 1)
        self.packed = True
        self.seams = ()


class LogStore:
    r"""Lines by a number that only grows and is never used again, however many are dropped.

    A line ends at `\n`, `\r\n` or `\r`; text glued behind a progress bar, and a record glued behind
    anything, begin a line of their own. The last line may still be growing: its number is `sealed`
    and it is there while `end` > `sealed`. A newest line that was overwritten by what is still
    coming is complete but not `settled`: what follows decides whether it mattered. A line longer
    than 64 KiB is cut, with a note of how much is missing.

    Args:
        limit_bytes: what the stored text may take, compressed as it is.
    """

    def __init__(self, limit_bytes: int = 64 << 20) -> None:
        self.limit_bytes = limit_bytes
        self._most_raw = max(RAW_BLOCKS, min(FLOOD_BLOCKS, limit_bytes // 8 // BLOCK_BYTES))
        self.first = 0
        self.sealed = 0
        self.settled = 0
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []
        self._bytes = 0
        self._packed_to = 0
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._open_first = 0
        self._open_seams = [_Seam(0, 0)]
        self._open_split: list[bytes] | None = None
        self._partial = b""
        self._returns = b""
        self._cut = 0
        self._gaps: dict[int, str] = {}
        self._physical_before = 0
        self._unpacked: OrderedDict[int, list[bytes]] = OrderedDict()
        self.version = 0

    @property
    def end(self) -> int:
        """One past the newest line, counting the one that still grows."""
        return self.sealed + bool(self._partial)

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def memory(self) -> int:
        """Bytes the stored text takes now, without what is unpacked for reading."""
        return self._bytes + self._open_bytes + len(self._partial)

    # --- writing ---------------------------------------------------------------------------------

    def append(self, data: bytes) -> None:
        """Take the next bytes of the log; costs what they are, and one block's packing at most."""
        if not data:
            return
        self.version += 1
        if self._returns:
            data, self._returns = self._returns + data, b""
        if len(self._partial) >= LONGEST_LINE:
            data = self._skip_rest(data)
        if data:
            self._take(self._partial + data if self._partial else data)
        if len(self._blocks) - self._packed_to > self._most_raw:
            self.compact()

    def gap(self, text: str) -> None:
        """A line of our own: what follows is not adjacent to what came before."""
        self._finish_partial()
        self._returns = b""
        self._gaps[self.sealed] = text
        self._store(SPLIT + b"\n")
        self.version += 1

    def compact(self) -> bool:
        """Pack one old block; whether more wait. Call it when idle to need less memory sooner."""
        waiting = len(self._blocks) - RAW_BLOCKS - self._packed_to
        if waiting <= 0:
            return False
        block = self._blocks[self._packed_to]
        self._bytes -= len(block.data)
        block.pack()
        self._bytes += len(block.data)
        self._packed_to += 1
        return waiting > 1

    def _skip_rest(self, data: bytes) -> bytes:
        """Leave out the rest of a line that is too long already; its end mark is kept."""
        ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
        end = min(ends, default=len(data))
        self._cut += end
        rest = data[end:]
        if rest.startswith(b"\r") and not rest.strip(b"\r"):
            self._returns = rest[:MOST_RETURNS]
        elif rest:
            overwritten = rest.startswith(b"\r") and not rest.startswith(b"\r\n")
            self._finish_partial(OVERWRITTEN if overwritten else b"")
            return rest[2 if rest.startswith(b"\r\n") else 1 :]
        return b""

    def _take(self, data: bytes) -> None:
        if data.endswith(b"\r"):
            # Whether the last one ends a line or begins `\r\n` is for the next bytes to say.
            ended = data.rstrip(b"\r")
            self._returns = data[len(ended) :][:MOST_RETURNS]
            data = ended
        text = _split(data)
        end = text.rfind(b"\n") + 1
        self._partial = text[end:]
        if len(self._partial) > LONGEST_LINE:
            self._cut += len(self._partial) - LONGEST_LINE
            self._partial = self._partial[:LONGEST_LINE]
        if end:
            self._store(_shortened(text[:end]))

    def _finish_partial(self, mark: bytes = b"") -> None:
        if self._partial:
            self._store(self._partial + _note(self._cut) + mark + b"\n")
        self._partial, self._cut = b"", 0

    def _store(self, text: bytes) -> None:
        overwritten = text.endswith(b"\r\n") and not text.endswith(b"\r\r\n")
        while text:
            room = BLOCK_BYTES - self._open_bytes
            if len(text) <= room:
                self._put(text)
                break
            at = text.rfind(b"\n", 0, room) + 1
            if not at and not self._open:
                at = text.find(b"\n") + 1
            if at:
                self._put(text[:at])
                text = text[at:]
            self._close_block()
        self.settled = self.sealed - overwritten
        self._drop_surplus()

    def _put(self, text: bytes) -> None:
        # A newline is rare enough that leaving it out is twice as quick as `count`.
        self.sealed += len(text) - len(text.replace(b"\n", b""))
        self._open.append(text)
        self._open_bytes += len(text)
        if self._open_bytes - self._open_seams[-1].offset >= SEAM_BYTES:
            self._open_seams.append(_Seam(self.sealed, self._open_bytes))
        if self._open_split is not None:
            self._open_split += _lines(text)

    def _close_block(self) -> None:
        data = b"".join(self._open)
        block = _Block(data, self.sealed - self._open_first, self._open_seams)
        self._blocks.append(block)
        self._firsts.append(self._open_first)
        self._bytes += len(data) + BLOCK_OVERHEAD
        if self._open_split is not None:
            self._remember(self._open_first, self._open_split)
        self._open_first += block.count
        self._open, self._open_bytes, self._open_split = [], 0, None
        self._open_seams = [_Seam(self.sealed, 0)]

    def _drop_surplus(self) -> None:
        surplus = 0
        while self._bytes > self.limit_bytes and surplus < len(self._blocks):
            block = self._blocks[surplus]
            self._bytes -= len(block.data) + BLOCK_OVERHEAD
            self._physical_before += block.physical
            self._unpacked.pop(self._firsts[surplus], None)
            surplus += 1
        if surplus:
            del self._blocks[:surplus], self._firsts[:surplus]
            self._packed_to = max(0, self._packed_to - surplus)
            self.first = self._firsts[0] if self._firsts else self._open_first
            for number in [n for n in self._gaps if n < self.first]:
                del self._gaps[number]

    # --- reading ---------------------------------------------------------------------------------

    def line(self, number: int) -> bytes:
        """The text of one line.

        Raises:
            IndexError: it was dropped, or is not there yet.
        """
        if number == self.sealed and self._partial:
            return self._partial
        first, lines = self._lines_around(number)
        return lines[number - first].rstrip(b"\r")

    def lines(self, begin: int, end: int) -> list[bytes]:
        """The lines from `begin` up to `end`, as far as they are there."""
        found: list[bytes] = []
        number = max(begin, self.first)
        while number < min(end, self.sealed):
            piece = self.piece(number, end - number)
            found += [line.rstrip(b"\r") for line in piece.lines]
            number += len(piece.lines)
        if begin <= self.sealed < end and self._partial:
            found.append(self._partial)
        return found

    def piece(self, number: int, limit: int) -> Piece:
        """At most `limit` complete lines of one block from this one on, with their end marks."""
        first, lines = self._lines_around(number)
        at = number - first
        return Piece(number, lines[at : at + limit])

    def piece_before(self, number: int, limit: int) -> Piece:
        """At most `limit` complete lines of one block that end right before this one."""
        first, lines = self._lines_around(number - 1)
        past = number - first
        begin = max(0, past - limit)
        return Piece(first + begin, lines[begin:past])

    def stretch(self, number: int) -> Stretch:
        """The complete lines from this one to the end of its block, without splitting them.

        Raises:
            IndexError: it was dropped, or is not complete yet.
        """
        self._check(number)
        seams: Sequence[_Seam]
        if number >= self._open_first:
            text, seams, past = b"".join(self._open), self._open_seams, self.sealed
        else:
            at = bisect_right(self._firsts, number) - 1
            block, first = self._blocks[at], self._firsts[at]
            text, past = block.text(), first + block.count
            seams = block.seams or (_Seam(first, 0),)
        line, offset = seams[bisect_right(seams, number, key=lambda seam: seam.line) - 1]
        for _ in range(number - line):
            offset = text.index(b"\n", offset) + 1
        return Stretch(number, past - number, text[offset:] if offset else text)

    def gap_text(self, number: int) -> str | None:
        """What `gap` said, where this line is one."""
        return self._gaps.get(number)

    def physical_line(self, number: int) -> int:
        r"""Our number of the line that `wc -l` would count as `number` (1-based, `\n` only)."""
        wanted = max(1, number) - self._physical_before
        position = self.first
        for block in self._blocks:
            if wanted <= block.physical:
                break
            wanted -= block.physical
            position += block.count
        while position < self.sealed:
            _, lines = self._lines_around(position)
            for index, line in enumerate(lines):
                if wanted <= 1:
                    return position + index
                wanted -= not line.endswith(b"\r")
            position += len(lines)
        return max(self.first, self.end - 1)

    def _check(self, number: int) -> None:
        if not self.first <= number < self.sealed:
            raise IndexError(f"line {number} is not between {self.first} and {self.sealed}")

    def _lines_around(self, number: int) -> tuple[int, list[bytes]]:
        self._check(number)
        if number >= self._open_first:
            if self._open_split is None:
                self._open_split = _lines(b"".join(self._open))
            return self._open_first, self._open_split
        at = bisect_right(self._firsts, number) - 1
        first = self._firsts[at]
        lines = self._unpacked.get(first)
        if lines is None:
            lines = _lines(self._blocks[at].text())
            self._remember(first, lines)
        else:
            self._unpacked.move_to_end(first)
        return first, lines

    def _remember(self, first: int, lines: list[bytes]) -> None:
        self._unpacked[first] = lines
        if len(self._unpacked) > UNPACKED_BLOCKS:
            self._unpacked.popitem(last=False)


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    lines.pop()
    return lines


def _split(data: bytes) -> bytes:
    r"""One `\n` behind every line, with the mark of how it ended before it."""
    if b"\r" in data:
        if b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            data = _EMPTY_UPDATE.sub(b"", data.replace(b"\r", b"\r\n"))
    if b"%" in data and (b"it/s]" in data or b"s/it]" in data):
        data = _AFTER_BAR.sub(lambda match: match[0] + b"\r\r\n", data)
    stamped = data.count(b"\n[20") + data.startswith(b"[20")
    # Nearly always every bracket opens a stamp at the start of a line: one byte is quick to count,
    # and quicker to leave out where it is as rare as here.
    brackets = len(data) - len(data.replace(b"[", b""))
    if brackets != stamped and data.count(b"[20") != stamped:
        data = _GLUED_RECORD.sub(b"\r\r\n", data)
    return data


def _note(cut: int) -> bytes:
    return f" … (+{cut} bytes)".encode() if cut else b""


def _shortened(text: bytes) -> bytes:
    """The text with every line longer than allowed cut, each with its end mark."""
    position, parts, kept = 0, [], 0
    while len(text) - position > LONGEST_LINE:
        newline = text.rfind(b"\n", position, position + LONGEST_LINE + 1)
        if newline >= 0:
            position = newline + 1
            continue
        newline = text.find(b"\n", position + LONGEST_LINE)
        end = newline - (2 if text[newline - 2 : newline] == SPLIT else text[newline - 1] == 13)
        if end > position + LONGEST_LINE:
            parts.append(text[kept : position + LONGEST_LINE])
            parts.append(_note(end - position - LONGEST_LINE))
            kept = end
        position = newline + 1
    return b"".join([*parts, text[kept:]]) if parts else text
