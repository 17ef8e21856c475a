"""tok/s by draft steps: a line through what was measured, and the intervals around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import reactive

from eagletui.tui.comparing import CurvePoint
from eagletui.tui.widgets.plot import Canvas, Row, Stroke
from eagletui.tui.widgets.still_chart import OWN, StillChart, components, value_scale

LINE, INTERVAL = range(OWN, OWN + 2)
COMPONENTS = components("steps", "line", "interval")
_MARGIN = 0.06
"""Part of the width that is left free on both sides."""


class StepCurve(StillChart):
    """Draws what `show` gives it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS.values())
    ROLES = COMPONENTS
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
        rows = height - 2
        ends = [end for point in self.points for end in (point.low, point.high)]
        axis, up = value_scale(ends, rows, "tok/s")
        first, last = self.points[0].k, self.points[-1].k

        def across(k: int) -> float:
            return _MARGIN + (1 - 2 * _MARGIN) * (k - first) / (last - first)

        plain = self.plain
        strokes = [
            Stroke(
                (across(point.k), across(point.k)),
                (up(point.low), up(point.high)),
                (False, True),
                "|" if plain else "┊",
                INTERVAL,
            )
            for point in self.points
        ]
        strokes.append(
            Stroke(
                [across(point.k) for point in self.points],
                [up(point.tok_s) for point in self.points],
                [index > 0 for index in range(len(self.points))],
                "*" if plain else self.marker,
                LINE,
            )
        )
        ticks = [(across(point.k), f"k={point.k}: {point.tok_s:,.0f}") for point in self.points]
        return self.framed(canvas, strokes, width, rows, axis=axis, ticks=ticks)
