"""Looking through a whole log in slices of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from eagletui.model.logfilter import line_matcher
from eagletui.model.logindex import PIECE_LINES, LogIndex
from eagletui.model.loglevels import begins_record, level_of
from eagletui.model.logstore import LogStore

Wanted = Callable[[Sequence[bytes]], list[int]]
"""Offsets of the lines that are looked for among consecutive ones."""


class Hit(NamedTuple):
    """A line that was looked for; `wrapped` says that the search went over an end of the log."""

    line: int
    wrapped: bool


def containing(matches: Callable[[bytes], bool]) -> Wanted:
    """Lines that match."""
    return lambda lines: [at for at, line in enumerate(lines) if matches(line)]


def failures(lines: Sequence[bytes]) -> list[int]:
    """Lines that speak of an error by themselves; several of them may be about one."""
    return [at for at, line in enumerate(lines) if level_of(line) == "error"]


def hunt(
    store: LogStore, wanted: Wanted, passes: Callable[[int], bool], start: int, *, forward: bool
) -> Iterator[Hit | None]:
    """Look from `start` (included) to the end and on from the other end.

    Yields None after each piece looked through, then the hit, if there is one.
    """
    for begin, end, wrapped in _parts(store, start, forward=forward):
        position = begin if forward else end
        while (position < end) if forward else (position > begin):
            position = min(max(position, store.first), store.sealed)
            if forward:
                piece = store.piece(position, min(PIECE_LINES, end - position))
                position = piece.first + len(piece.lines)
            else:
                if position <= store.first:
                    break
                piece = store.piece_before(position, min(PIECE_LINES, position - begin))
                position = piece.first
            offsets = wanted(piece.lines)
            for at in offsets if forward else reversed(offsets):
                if passes(piece.first + at):
                    yield Hit(piece.first + at, wrapped)
                    return
            yield None


def _parts(store: LogStore, start: int, *, forward: bool) -> list[tuple[int, int, bool]]:
    first, end = store.first, store.sealed
    if forward:
        start = min(max(first, start), end)
        return [(start, end, False), (first, start, True)]
    start = min(max(first - 1, start), end - 1)
    return [(first, start + 1, False), (start + 1, end, True)]


class Found(NamedTuple):
    """How a search ended: the line, None where there is none."""

    what: str
    line: int | None
    wrapped: bool


class Finder:
    """One search at a time through a log, for a pattern or for errors.

    Attributes:
        pattern: what `match` looks for.
    """

    def __init__(self, store: LogStore, index: LogIndex) -> None:
        self._store = store
        self._index = index
        self.pattern = ""
        self._what = ""
        self._hunt: Iterator[Hit | None] | None = None

    @property
    def busy(self) -> bool:
        """Whether there is more to look through."""
        return self._hunt is not None

    def match(self, start: int, *, forward: bool) -> None:
        """Begin to look for a shown line with the pattern; nothing without one."""
        matches = line_matcher(self.pattern)
        if matches is not None:
            wanted = containing(matches)
            self._what = self.pattern
            self._hunt = hunt(self._store, wanted, self._index.passes, start, forward=forward)

    def error(self, start: int, *, forward: bool) -> None:
        """Begin to look for a shown line that begins an error."""
        self._what = "error"
        self._hunt = hunt(self._store, failures, self._begins_error, start, forward=forward)

    def stop(self) -> None:
        """Look no further."""
        self._hunt = None

    def advance(self, budget: float, clock: Callable[[], float]) -> Found | None:
        """Look on for about `budget` seconds; how it ended, if it did."""
        until = clock() + budget
        while self._hunt is not None:
            try:
                hit = next(self._hunt)
            except StopIteration:
                self._hunt = None
                return Found(self._what, None, False)
            if hit is not None:
                self._hunt = None
                return Found(self._what, hit.line, hit.wrapped)
            if clock() >= until:
                break
        return None

    def _begins_error(self, line: int) -> bool:
        """Whether a line is the first of its error: a traceback and its last words are one."""
        inside = self._index.levels.before(line) == "error"
        return (not inside or begins_record(self._store.line(line))) and self._index.passes(line)
