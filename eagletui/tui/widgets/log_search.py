"""Looking through a whole log in slices of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from eagletui.model.logindex import PIECE_LINES
from eagletui.model.loglevels import level_of
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
