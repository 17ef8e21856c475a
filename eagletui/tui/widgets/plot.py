"""The only place that knows plotext: strokes of safe points in, rows of coloured text out.

plotext 6 aborts the process on NaN and eats memory on points far outside its limits, so this door
lets nothing but coordinates from 0 to 1 through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Row = list[tuple[str, int]]
"""Pieces of one line of cells: text and the role it is drawn in (0: none)."""

_SGR = re.compile(r"(\x1b\[[0-9;]*m)")
_COLOUR = "\x1b[38;5;"
_FIRST_PALETTE = 21


class PlotUnavailable(Exception):
    """plotext cannot be used here: no wheel for this platform, or a broken build."""


class Stroke(NamedTuple):
    """A line over the canvas; `joined[i]` says that point i continues point i−1.

    `x` and `y` run from 0 (left, bottom) to 1. `role` is any small positive number: it comes back
    with the cells this stroke paints. `marker` is `braille`, `hd` or one character.
    """

    x: Sequence[float]
    y: Sequence[float]
    joined: Sequence[bool]
    marker: str
    role: int


def _safe(stroke: Stroke) -> Stroke:
    xs: list[float] = []
    ys: list[float] = []
    joined: list[bool] = []
    whole = True
    for x, y, continues in zip(stroke.x, stroke.y, stroke.joined, strict=True):
        if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0):
            whole = False
            continue
        xs.append(float(x))
        ys.append(float(y))
        joined.append(continues and whole)
        whole = True
    return stroke._replace(x=xs, y=ys, joined=joined)


class Canvas:
    """A bare plotext figure: no axes, no ticks, no legend. One for each widget.

    Raises:
        PlotUnavailable: plotext cannot be imported.
    """

    def __init__(self) -> None:
        try:
            import plotext
        except (ImportError, OSError, AttributeError) as error:
            raise PlotUnavailable(str(error)) from error
        self._plotext: Any = plotext
        # The public master figure is shared by the whole process; its class makes private ones.
        plotext.terminal.limit(False, False)
        self._figure: Any = type(plotext.figure)(plotext.terminal)

    def draw(self, width: int, height: int, strokes: Sequence[Stroke]) -> list[Row]:
        """Exactly `height` rows of exactly `width` cells; later strokes paint over earlier."""
        if width <= 0 or height <= 0:
            return []
        plotext, figure = self._plotext, self._figure
        figure.clear()
        figure.canvas("default")
        figure.axes(False)
        figure.plot_size(width, height)
        figure.ruler("both", "both").ticks([], [])
        figure.ruler("x").lim(0.0, 1.0)
        figure.ruler("y").lim(0.0, 1.0)
        for stroke in map(_safe, strokes):
            if not stroke.x:
                continue
            pixel = plotext.pixel(_FIRST_PALETTE + stroke.role)
            signal = figure.signal(
                list(stroke.x), list(stroke.y), marker=plotext.marker(stroke.marker, pixel=pixel)
            ).lines()
            for index, continues in enumerate(stroke.joined):
                if not continues:
                    signal.line(index, False)
            figure.draw(signal)
        return [_row(line) for line in figure.build().string().rstrip("\n").split("\n")]


def _row(line: str) -> Row:
    row: Row = []
    role = 0
    for part in _SGR.split(line):
        if not part:
            continue
        if part[0] != "\x1b":
            row.append((part, role))
        elif part.startswith(_COLOUR):
            role = int(part[len(_COLOUR) : -1]) - _FIRST_PALETTE
        else:
            role = 0
    return row
