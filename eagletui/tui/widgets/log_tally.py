"""How many shown lines of a log match, counted on in slices of time while the log grows."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from eagletui.model.logfilter import line_matcher
from eagletui.model.logindex import PIECE_LINES, LogIndex
from eagletui.model.logstore import LogStore
from eagletui.tui.widgets.log_search import Wanted, containing


class Count(NamedTuple):
    """So many lines match; `place` is which of them the current line is, from 1; 0 is none."""

    place: int
    matches: int
    counting: bool

    @property
    def text(self) -> str:
        """`3 of 41`, with … while there is more to look through."""
        more = "…" if self.counting else ""
        if self.place:
            return f"{self.place} of {self.matches}{more}"
        noun = "match" if self.matches == 1 else "matches"
        return f"{self.matches}{more} {noun}" if self.matches or self.counting else ""


NOTHING = Count(0, 0, False)


class Tally:
    """Knows which lines match, as far as it has looked."""

    def __init__(self, store: LogStore, index: LogIndex) -> None:
        self._store = store
        self._index = index
        self._wanted: Wanted | None = None
        self._lines: array[int] = array("q")
        self._next = 0

    def begin(self, pattern: str) -> None:
        """Count this pattern from the beginning; "" counts nothing."""
        matches = line_matcher(pattern)
        self._wanted = containing(matches) if matches is not None else None
        self._lines = array("q")
        self._next = self._store.first

    @property
    def busy(self) -> bool:
        """Whether there are lines that were not looked at."""
        return self._wanted is not None and self._next < self._store.sealed

    def advance(self, budget: float, clock: Callable[[], float]) -> None:
        """Look on for about `budget` seconds."""
        until = clock() + budget
        while self._wanted is not None and self.busy:
            self._next = max(self._next, self._store.first)
            piece = self._store.piece(self._next, min(PIECE_LINES, self._store.sealed - self._next))
            self._take(piece.first, piece.lines, self._wanted)
            self._next = piece.first + len(piece.lines)
            if clock() >= until:
                break

    def _take(self, first: int, lines: Sequence[bytes], wanted: Wanted) -> None:
        passes = self._index.passes
        self._lines.extend(first + at for at in wanted(lines) if passes(first + at))

    def count(self, current: int | None) -> Count:
        """What is known now; lines that the store let go no longer count."""
        if self._wanted is None:
            return NOTHING
        gone = bisect_left(self._lines, self._store.first)
        place = 0
        if current is not None:
            at = bisect_left(self._lines, current)
            if at < len(self._lines) and self._lines[at] == current:
                place = at - gone + 1
        return Count(max(0, place), len(self._lines) - gone, self.busy)
