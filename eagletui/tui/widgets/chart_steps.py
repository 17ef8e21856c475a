"""tok/s by draft steps: a line through what was measured, and the intervals around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import reactive

from eagletui.tui.comparing import CurvePoint
from eagletui.tui.widgets.chart_frame import Frame, Glyphs, frame_rows
from eagletui.tui.widgets.chart_scale import value_axis
from eagletui.tui.widgets.plot import Canvas, Row, Stroke
from eagletui.tui.widgets.still_chart import GUTTER, StillChart

AXIS, TICK, LINE, INTERVAL = range(1, 5)
COMPONENTS = {
    AXIS: "steps--axis",
    TICK: "steps--tick",
    LINE: "steps--line",
    INTERVAL: "steps--interval",
}
_MARGIN = 0.06
"""Part of the width that is left free on both sides."""


class StepCurve(StillChart):
    """Draws what `show` gives it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS.values())
    ROLES = COMPONENTS
    NOTE = TICK
    DEFAULT_CSS = """
    StepCurve {
        .steps--axis { color: $foreground 45%; }
        .steps--tick { color: $foreground 70%; }
        .steps--line { color: $accent; }
        .steps--interval { color: $primary; }
    }
    """
    points: reactive[tuple[CurvePoint, ...]] = reactive((), init=False)

    def show(self, points: Sequence[CurvePoint]) -> None:
        """Draw these; fewer than two are no curve."""
        self.points = tuple(points)

    def shown(self) -> object:
        """The points."""
        return self.points if len(self.points) > 1 else None

    def draw(self, canvas: Canvas, width: int, height: int) -> list[Row]:
        """A line through the points, and their intervals."""
        inner, rows = width - GUTTER - 1, height - 2
        low = min(point.low for point in self.points)
        high = max(point.high for point in self.points)
        # The lowest point stays off the floor: a curve is looked at for its top.
        axis = value_axis(low - 0.1 * (high - low or high), high, rows, "tok/s", None)

        def down(value: float) -> float:
            return min(1.0, max(0.0, (value - axis.low) / (axis.high - axis.low)))

        first, last = self.points[0].k, self.points[-1].k

        def across(k: int) -> float:
            return _MARGIN + (1 - 2 * _MARGIN) * (k - first) / (last - first)

        plain = self.plain
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
                "*" if plain else self.marker,
                LINE,
            )
        )
        frame = Frame(
            axis=axis,
            span=1.0,
            gutter=GUTTER,
            ticks=[(across(point.k), f"k={point.k}: {point.tok_s:,.0f}") for point in self.points],
            marks=(),
            glyphs=Glyphs.ASCII if plain else Glyphs.LINES,
        )
        cells = canvas.draw(inner, rows, strokes)
        return frame_rows(cells, frame, width, axis=AXIS, tick=TICK, marker=TICK)
