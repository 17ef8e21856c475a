"""tok/s by draft steps: a line through what was measured, and the intervals around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from eagletui.tui.comparing import CurvePoint
from eagletui.tui.widgets.chart_frame import Frame, Glyphs, frame_rows
from eagletui.tui.widgets.chart_scale import value_axis
from eagletui.tui.widgets.plot import Canvas, PlotUnavailable, Row, Stroke

AXIS, TICK, LINE, INTERVAL = range(1, 5)
COMPONENTS = {
    AXIS: "steps--axis",
    TICK: "steps--tick",
    LINE: "steps--line",
    INTERVAL: "steps--interval",
}
_GUTTER = 6
_SMALLEST = (24, 5)
_MARGIN = 0.06
"""Part of the width that is left free on both sides."""


class StepCurve(Widget):
    """Draws what `show` gives it; plotext works only where that differs.

    Args:
        marker: `braille`, `hd` or `ascii`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS.values())
    DEFAULT_CSS = """
    StepCurve {
        .steps--axis { color: $foreground 45%; }
        .steps--tick { color: $foreground 70%; }
        .steps--line { color: $accent; }
        .steps--interval { color: $primary; }
    }
    """
    points: reactive[tuple[CurvePoint, ...]] = reactive((), init=False)

    def __init__(self, *, id: str | None = None, marker: str = "braille") -> None:
        super().__init__(id=id)
        self._marker = marker
        self._rows: list[Row] = []
        self._built: object = None
        self._canvas: Canvas | None = None

    def show(self, points: Sequence[CurvePoint]) -> None:
        """Draw these; fewer than two are no curve."""
        self.points = tuple(points)

    def render_line(self, y: int) -> Strip:
        """One row of what plotext drew."""
        self._build()
        styles: dict[int, Style] = {
            role: self.get_component_rich_style(name, partial=True)
            for role, name in COMPONENTS.items()
        }
        row = self._rows[y] if y < len(self._rows) else []
        base = self.rich_style
        segments = [Segment(text, base + styles.get(role, Style.null())) for text, role in row]
        return Strip(segments).adjust_cell_length(self.content_size.width, base)

    def _build(self) -> None:
        width, height = self.content_size
        if (self.points, width, height) == self._built:
            return
        self._built = self.points, width, height
        self._rows = []
        if len(self.points) < 2 or width < _SMALLEST[0] or height < _SMALLEST[1]:
            return
        try:
            self._canvas = self._canvas or Canvas()
        except PlotUnavailable:
            self._rows = [[("no plotext, so no curve", TICK)]]
            return
        self._rows = self._draw(self._canvas, width, height)

    def _draw(self, canvas: Canvas, width: int, height: int) -> list[Row]:
        inner, rows = width - _GUTTER - 1, height - 2
        low = min(point.low for point in self.points)
        high = max(point.high for point in self.points)
        # The lowest point stays off the floor: a curve is looked at for its top.
        axis = value_axis(low - 0.1 * (high - low or high), high, rows, "tok/s", None)

        def down(value: float) -> float:
            return min(1.0, max(0.0, (value - axis.low) / (axis.high - axis.low)))

        first, last = self.points[0].k, self.points[-1].k

        def across(k: int) -> float:
            return _MARGIN + (1 - 2 * _MARGIN) * (k - first) / (last - first)

        plain = self._marker == "ascii"
        strokes = [
            Stroke(
                (across(point.k), across(point.k)),
                (down(point.low), down(point.high)),
                (False, True),
                "|" if plain else "┊",
                INTERVAL,
            )
            for point in self.points
        ]
        strokes.append(
            Stroke(
                [across(point.k) for point in self.points],
                [down(point.tok_s) for point in self.points],
                [index > 0 for index in range(len(self.points))],
                "*" if plain else self._marker,
                LINE,
            )
        )
        frame = Frame(
            axis=axis,
            span=1.0,
            gutter=_GUTTER,
            ticks=[(across(point.k), f"k={point.k}: {point.tok_s:,.0f}") for point in self.points],
            marks=(),
            glyphs=Glyphs.ASCII if plain else Glyphs.LINES,
        )
        cells = canvas.draw(inner, rows, strokes)
        return frame_rows(cells, frame, width, axis=AXIS, tick=TICK, marker=TICK)
