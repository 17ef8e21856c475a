"""Columns of samples as what a terminal can show: at most two dots a column, or a bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from eagletui.model.series import Window
from eagletui.tui.widgets.chart_columns import Column, columns, finite, grid_of


class Dots(NamedTuple):
    """Points on the grid of dots, counted from the lower left."""

    x: list[int]
    y: list[int]
    joined: list[bool]


def dots(
    gathered: Sequence[Column], low: float, high: float, rows: int, *, steps: bool = False
) -> Dots:
    """Columns as points on a grid of 2 dots a column and `rows` dots of height.

    Values are clipped to `low` … `high`. Points in the middle of a flat stretch are left out: the
    line drawn is the same. `steps` keeps a value until the next one and then jumps.
    """
    out = Dots([], [], [])
    xs, ys, flags = out
    scale = (rows - 1) / (high - low) if high > low and math.isfinite(high - low) else 0.0

    def row(value: float) -> int:
        clipped = low if value < low else high if value > high else value
        return round((clipped - low) * scale)

    for slot, least, most, _, last, rising, continues in gathered:
        x = 2 * slot
        joined = continues and bool(xs)
        if steps:
            level = row(last)
            if joined and ys[-1] != level:
                _put(out, x, ys[-1], joined)
            _put(out, x, level, joined)
            _put(out, x + 1, level, True)
            continue
        bottom = row(least)
        top = bottom if most == least else row(most)
        _put(out, x, bottom if rising else top, joined)
        if top != bottom:
            xs.append(x + 1)
            ys.append(top if rising else bottom)
            flags.append(True)
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
    gathered = columns(finite(window), grid_of(begin, end, width)) if width > 0 else []
    if not gathered:
        return "".join(cells)
    low, high = min(c.low for c in gathered), max(c.high for c in gathered)
    low = min(0.0, low) if high > 0 and low < high / 2 else low
    span = high - low
    for column in gathered:
        level = (column.mean - low) / span if 0 < span < math.inf else 0.5
        cells[column.slot] = bars[min(len(bars) - 1, max(0, int(level * len(bars))))]
    return "".join(cells)
