"""The one place that knows plotext: figures in, rows of text with roles out.

plotext colours with palette numbers; here each number stands for a role that a theme colours later,
so a change of theme builds nothing again. It must never see a value that is not finite or far
outside the axis: it aborts the process or hangs (measured with 6.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from eagletui.tui.widgets.buckets import Points

ROLES: dict[int, str] = {17: "axis", 18: "tick", 21: "series-1", 22: "series-2", 23: "series-3"}
MARKERS = {"braille": "braille", "hd": "hd", "ascii": "*"}
STEP_MARKER = {"braille": "─", "hd": "─", "ascii": "-"}
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_COLOUR = "38;5;"


class Curve(NamedTuple):
    """One line to draw. `series` is 1, 2 or 3; `step` a line of plain characters."""

    points: Points
    series: int
    step: bool = False


Row = list[tuple[str, str]]
"""(text, role) pieces of one line; role "" is plain."""


@cache
def library() -> Any | None:
    """plotext, loaded once and set up; None where it can't be loaded (no wheel, no compiler)."""
    try:
        import plotext
    except Exception:  # a native library that fails to load raises many things
        return None
    plotext.terminal.limit(False, False)
    return plotext


class Plotter:
    """Builds one figure again and again; not shared between widgets."""

    def __init__(self) -> None:
        plotext = library()
        assert plotext is not None
        self._plotext = plotext
        # The only unofficial call: a figure of one's own, under the public terminal object.
        self._figure = type(plotext.figure)(plotext.terminal)

    def build(
        self,
        curves: Sequence[Curve],
        *,
        size: tuple[int, int],
        x: tuple[float, float],
        top: float,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        marker: str,
    ) -> list[Row]:
        """Rows of exactly this size.

        Args:
            size: columns and rows, at least 12 × 4.
            x: limits of time; every point lies within.
            top: upper limit of values; every point lies within 0 … top.
            marker: `braille`, `hd` or `ascii`.
        """
        plotext, figure = self._plotext, self._figure
        figure.clear()
        figure.canvas("default")
        figure.plot_size(*size)
        figure.axes(pixel=plotext.pixel(17))
        figure.axes(False, axis="x", side="upper")
        figure.axes(False, axis="y", side="right")
        figure.ruler("both", "both").pixel(plotext.pixel(18))
        figure.ruler("y").lim(0.0, top)
        figure.ruler("x").lim(*x)
        figure.ruler("y").ticks([at for at, _ in y_ticks], [text for _, text in y_ticks])
        figure.ruler("x").ticks([at for at, _ in x_ticks], [text for _, text in x_ticks])
        for curve in curves:
            self._draw(curve, marker)
        text = figure.build().string().rstrip("\n")
        return [_row(line) for line in text.split("\n")][: size[1]]

    def _draw(self, curve: Curve, marker: str) -> None:
        xs, ys, joined = curve.points
        if not xs:
            return
        shape = STEP_MARKER[marker] if curve.step else MARKERS[marker]
        pixel = self._plotext.pixel(20 + curve.series)
        signal = self._figure.signal(xs, ys, marker=self._plotext.marker(shape, pixel=pixel))
        signal = signal.lines()
        for index, continues in enumerate(joined):
            if not continues:
                signal.line(index, False)
        self._figure.draw(signal)


def _row(line: str) -> Row:
    row: Row = []
    role = ""
    for index, part in enumerate(_SGR.split(line)):
        if index % 2 == 0:
            if part:
                row.append((part, role))
        elif part.startswith(_COLOUR):
            role = ROLES.get(int(part[len(_COLOUR) :]), "")
        elif part == "0":
            role = ""
    return row
