"""A line's samples gathered into columns of time, counted anew only where samples came."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eagletui.model.series import Window

LEAST_SPAN = 0.01


class Column(NamedTuple):
    """All samples of one line within one column of cells; `slot` counts from the left edge."""

    slot: int
    low: float
    high: float
    mean: float
    last: float
    rising: bool
    """Whether the lowest sample came before the highest."""
    joined: bool
    """Whether the first sample continues the column before."""


class Grid(NamedTuple):
    """`slots` columns of time of `step` seconds each; `first` counts from the epoch.

    Counting from the epoch keeps a sample in its column while time moves on.
    """

    first: int
    slots: int
    step: float

    @property
    def begin(self) -> float:
        """Left edge, seconds since the epoch."""
        return self.first * self.step

    @property
    def end(self) -> float:
        """Right edge; a sample exactly there belongs to the last column."""
        return (self.first + self.slots) * self.step

    def slot_of(self, moment: float) -> int:
        """The column of a moment, counted from the left edge; the nearest for one outside."""
        return min(self.slots - 1, max(0, _column_of(moment, self.step) - self.first))


def grid_of(begin: float, end: float, count: int) -> Grid:
    """`count` columns over a span as long as this one, of which the last holds `end`."""
    count = max(1, count)
    # To a millisecond: the step must not tremble with the last digits of the clock.
    step = max(round(end - begin, 3), LEAST_SPAN) / count
    last = _column_of(end, step)
    if end - last * step <= 4 * math.ulp(end):
        last -= 1  # an end on an edge belongs to the full column before it
    return Grid(last + 1 - count, count, step)


def _column_of(moment: float, step: float) -> int:
    """The column, counted from the epoch, whose edges hold this moment."""
    column = int(moment // step)
    # Edges are products, which round otherwise than the quotient does.
    if moment >= (column + 1) * step:
        return column + 1
    return column - 1 if moment < column * step else column


def finite(window: Window, since: int = 0) -> Window:
    """The window without samples that are not finite; each leaves a gap.

    Args:
        window: samples in the order of their times.
        since: samples before this one are known to be finite.
    """
    if math.isfinite(sum(window.values[since:])) and math.isfinite(sum(window.times[since:])):
        return window
    times: list[float] = []
    values: list[float] = []
    joined: list[bool] = []
    whole = True
    for moment, value, continues in zip(*window, strict=True):
        if math.isfinite(moment) and math.isfinite(value):
            times.append(moment)
            values.append(value)
            joined.append(bool(continues) and whole)
            whole = True
        else:
            whole = False
    return Window(times, values, joined)


def shared(old: Window, new: Window) -> int:
    """How many samples at the beginning of `new` are those at the end of `old`; 0 for none.

    Samples that left at the beginning do not count; any other difference makes it 0.
    """
    if not len(new.times) or not len(old.times) or new.times[0] < old.times[0]:
        return 0
    skipped = bisect_left(old.times, new.times[0])
    size = len(old.times) - skipped
    same = (
        0 < size <= len(new.times)
        and old.times[skipped:] == new.times[:size]
        and old.values[skipped:] == new.values[:size]
        and old.joined[skipped + 1 :] == new.joined[1:size]
    )
    return size if same else 0


def _runs(joined: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Stretches of samples that follow one another without a gap."""
    begin = start
    while begin < stop:
        try:
            end = joined.index(False, begin + 1, stop)
        except ValueError:
            end = stop
        yield begin, end
        begin = end


def columns(window: Window, grid: Grid, *, since: int = 0) -> list[Column]:
    """The samples within the grid gathered into its columns; empty columns are left out.

    A gap inside a column ends it: the column then appears twice, the second time not joined.

    Args:
        window: finite samples.
        grid: the columns.
        since: slots before this one are left out.
    """
    times, values, joined = window
    start, stop = bisect_left(times, grid.begin), bisect_right(times, grid.end)
    last = grid.first + grid.slots - 1
    fresh = bisect_left(times, (grid.first + since) * grid.step, start, stop)
    gathered: list[Column] = []
    for first, past in _runs(joined, fresh, stop):
        position = first
        while position < past:
            index = min(last, max(grid.first + since, _column_of(times[position], grid.step)))
            edge = (index + 1) * grid.step if index < last else math.inf
            after = bisect_left(times, edge, position + 1, past)
            piece = values[position:after]
            low, high = min(piece), max(piece)
            gathered.append(
                Column(
                    index - grid.first,
                    low,
                    high,
                    _mean(piece, low, high),
                    piece[-1],
                    piece.index(low) <= piece.index(high),
                    position > first or (first > start and bool(joined[first])),
                )
            )
            position = after
    return gathered


def _mean(piece: Sequence[float], low: float, high: float) -> float:
    # The limits keep the mean within the samples where their sum overflows.
    return min(high, max(low, sum(piece) / len(piece)))


class Gathered:
    """The columns of one line from one picture to the next."""

    def __init__(self) -> None:
        self._window = Window((), (), b"")
        self._grid = Grid(0, 0, 0.0)
        self._columns: list[Column] = []
        self._left = -math.inf
        """Time of the newest sample that left at the beginning since columns were counted."""

    def see(self, window: Window) -> Window:
        """Take the samples to show now; returns those that are finite."""
        known = shared(self._window, window)
        clean = finite(window, known)
        if not known or clean is not window:
            self._columns = []
        elif (gone := len(self._window.times) - known) > 0:
            self._left = self._window.times[gone - 1]
        self._window = clean
        return clean

    def columns(self, grid: Grid) -> list[Column]:
        """The columns of what was seen last."""
        kept: list[Column] = []
        since = 0
        moved = grid.first - self._grid.first
        same = grid[1:] == self._grid[1:] and moved >= 0 and self._left < grid.begin
        if self._columns and same:
            last = self._columns[-1].slot  # it may have got more samples since
            kept = [
                column._replace(slot=column.slot - moved) if moved else column
                for column in self._columns
                if moved <= column.slot < last
            ]
        if kept:
            since = last - moved
            kept[0] = kept[0]._replace(joined=False)
        kept += columns(self._window, grid, since=since)
        self._grid, self._columns, self._left = grid, kept, -math.inf
        return kept


def stacked(layers: Sequence[Sequence[Column]]) -> list[list[Column]]:
    """Each layer's means put on top of those below it in the same column."""
    floor: dict[int, float] = {}
    result: list[list[Column]] = []
    for layer in layers:
        heights = {column.slot: floor.get(column.slot, 0.0) + column.mean for column in layer}
        result.append(
            [
                column._replace(low=height, high=height, mean=height, last=height)
                for column in layer
                if math.isfinite(height := heights[column.slot])
            ]
        )
        floor.update(heights)
    return result
