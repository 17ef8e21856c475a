"""Bytes of a log into logical lines, wherever the reads happened to be cut.

SGLang's log is two streams in one file: log records that end in `\\n`, and tqdm bars that end in
`\\r` (0.5.10 and later; earlier ones also write `\\n`), so that a record may be glued to a bar
without anything between them (sglang#17402). Outer programs add their own time stamps before every
line (docker, Kubernetes, journald) and a terminal adds colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE = 256 * 1024

# `[2026-01-20 02:40:29.123 DP1 TP1] `: what begins a record of SGLang's, all releases.
RECORD_START = re.compile(
    rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?(?: [A-Z_]+\d+)*\](?: |$)"
)
_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What others write before a line; one alternative each.
OUTER_PREFIX = re.compile(
    rb"(?:"
    rb"\d{4}-\d\d-\d\dT\S+ \S+ [^\s\[]+\[\d+\]: "  # journalctl -o short-iso
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s\[]+\[\d+\]: "  # journalctl
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d) "  # docker -t
    rb"(?:std(?:out|err) [FP] )?"  # Kubernetes
    rb"|[\w.-]+ +\| "  # docker compose
    rb")+"
)


class Line(NamedTuple):
    """One logical line.

    Attributes:
        number: 1-based, counting `\\n` lines, as an editor does; bars of one line share it.
        data: its bytes, without terminators, colours and outer prefixes.
        cut: how many bytes beyond `MAX_LINE` were dropped.
    """

    number: int
    data: bytes
    cut: int = 0


def plain(data: bytes) -> bytes:
    """The same without colours."""
    return _COLOUR.sub(b"", data) if b"\x1b" in data else data


def logical(number: int, data: bytes, cut: int = 0) -> Iterator[Line]:
    """The logical lines in one piece between two terminators; nothing where it is empty."""
    data = plain(data)
    if data[:1] != b"[" and (outer := OUTER_PREFIX.match(data)):
        data = data[outer.end() :]
    if not data.strip():
        return
    if b"[2" not in data[1:] and b"[1" not in data[1:]:
        yield Line(number, data, cut)
        return
    begin = 0
    for match in RECORD_START.finditer(data, 1):
        if data[begin : match.start()].strip():
            yield Line(number, data[begin : match.start()])
        begin = match.start()
    yield Line(number, data[begin:], cut)


class Splitter:
    """Incremental: the lines do not depend on where the chunks were cut.

    A line without an end is held back; `pending` shows it, because the last state of a bar is
    only ended by the next one.
    """

    def __init__(self) -> None:
        self._number = 1
        self._held = bytearray()
        self._cut = 0

    @property
    def number(self) -> int:
        """The number of the line being read."""
        return self._number

    @property
    def at_start(self) -> bool:
        """Whether nothing is held back."""
        return not self._held and not self._cut

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return len(self._held)

    def skip(self, newlines: int) -> None:
        """Count lines that were read elsewhere."""
        self._number += newlines

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that this chunk completes. Must be consumed before the next call."""
        first, *others = data.split(b"\n")
        yield from self._pieces(first)
        for piece in others:
            yield from self._end()
            self._number += 1
            yield from self._pieces(piece)

    def pending(self) -> Iterator[Line]:
        """The line being read as far as it is there, without consuming it."""
        yield from logical(self._number, bytes(self._held), self._cut)

    def finish(self) -> Iterator[Line]:
        """The last line where the log does not end in a terminator."""
        yield from self._end()

    def _pieces(self, data: bytes) -> Iterator[Line]:
        if b"\r" not in data:
            self._hold(data)
            return
        first, *others = data.split(b"\r")
        self._hold(first)
        for piece in others:
            yield from self._end()
            self._hold(piece)

    def _hold(self, piece: bytes) -> None:
        room = MAX_LINE - len(self._held)
        if len(piece) > room:
            self._cut += len(piece) - room
            piece = piece[:room]
        self._held += piece

    def _end(self) -> Iterator[Line]:
        if self._held:
            yield from logical(self._number, bytes(self._held), self._cut)
            self._held.clear()
        self._cut = 0
