"""Thousands of samples reduced to what a terminal can show: at most two points a column."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from eagletui.model.series import Window


class Column(NamedTuple):
    """All samples of one line within one column of cells."""

    slot: int
    low: float
    high: float
    mean: float
    last: float
    rising: bool
    joined: bool
    """Whether the first sample continues the column before."""


class Dots(NamedTuple):
    """Points on the grid of dots, counted from the lower left."""

    x: list[int]
    y: list[int]
    joined: list[bool]


def finite(window: Window) -> Window:
    """The window without samples that are not finite; each leaves a gap."""
    if math.isfinite(sum(window.values)) and math.isfinite(sum(window.times)):
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


def columns(window: Window, begin: float, end: float, count: int) -> list[Column]:
    """The samples from `begin` to `end` gathered into `count` columns; empty columns are left out.

    A gap inside a column ends it: the column then appears twice, the second time not joined.
    """
    if count <= 0 or not end > begin:
        return []
    times, values, joined = window
    step = (end - begin) / count
    start, stop = bisect_left(times, begin), bisect_right(times, end)
    gathered: list[Column] = []
    for first, past in _runs(joined, start, stop):
        position = first
        while position < past:
            index = min(count - 1, max(0, int((times[position] - begin) / step)))
            edge = begin + (index + 1) * step if index < count - 1 else math.inf
            after = bisect_left(times, edge, position + 1, past)
            piece = values[position:after]
            low, high = min(piece), max(piece)
            gathered.append(
                Column(
                    index,
                    low,
                    high,
                    _mean(piece, low, high),
                    piece[-1],
                    piece[-1] >= piece[0],
                    position > first or (first > start and bool(joined[first])),
                )
            )
            position = after
    return gathered


def _mean(piece: Sequence[float], low: float, high: float) -> float:
    # The limits keep the mean within the samples where their sum overflows.
    return min(high, max(low, sum(piece) / len(piece)))


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


def dots(
    gathered: Sequence[Column], low: float, high: float, rows: int, *, steps: bool = False
) -> Dots:
    """Columns as points on a grid of 2 dots a column and `rows` dots of height.

    Values are clipped to `low` … `high`. Points in the middle of a flat stretch are left out: the
    line drawn is the same. `steps` keeps a value until the next one and then jumps.
    """
    out = Dots([], [], [])
    scale = (rows - 1) / (high - low) if high > low and math.isfinite(high - low) else 0.0

    def row(value: float) -> int:
        return round((min(high, max(low, value)) - low) * scale)

    for column in gathered:
        x = 2 * column.slot
        joined = column.joined and bool(out.x)
        if steps:
            level = row(column.last)
            if joined and out.y[-1] != level:
                _put(out, x, out.y[-1], joined)
            _put(out, x, level, joined)
            _put(out, x + 1, level, True)
            continue
        bottom, top = row(column.low), row(column.high)
        if bottom == top:
            _put(out, x, bottom, joined)
            continue
        ends = (bottom, top) if column.rising else (top, bottom)
        _put(out, x, ends[0], joined)
        _put(out, x + 1, ends[1], True)
    return out


def _put(out: Dots, x: int, y: int, joined: bool) -> None:
    xs, ys, flags = out
    if joined and len(xs) > 1 and flags[-1] and ys[-1] == ys[-2] == y:
        xs[-1] = x
        return
    xs.append(x)
    ys.append(y)
    flags.append(joined)


BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-=+*#@"


def sparkline(window: Window, begin: float, end: float, width: int, *, ascii_only: bool) -> str:
    """One row of bars, exactly `width` cells, scaled to what it shows; blanks where nothing is."""
    bars = ASCII_BARS if ascii_only else BARS
    cells = list(repeat(" ", max(0, width)))
    gathered = columns(finite(window), begin, end, width)
    if not gathered:
        return "".join(cells)
    low, high = min(c.low for c in gathered), max(c.high for c in gathered)
    low = min(0.0, low) if high > 0 and low < high / 2 else low
    span = high - low
    for column in gathered:
        level = (column.mean - low) / span if 0 < span < math.inf else 0.5
        cells[column.slot] = bars[min(len(bars) - 1, max(0, int(level * len(bars))))]
    return "".join(cells)
