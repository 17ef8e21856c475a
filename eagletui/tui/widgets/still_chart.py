"""A chart of something that does not move: drawn once for what it shows and the room it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from eagletui.tui.widgets.chart_frame import Frame, Glyphs, frame_rows
from eagletui.tui.widgets.chart_scale import Axis, value_axis
from eagletui.tui.widgets.plot import Canvas, PlotUnavailable, Row, Stroke

GUTTER = 6
SMALLEST = (24, 5)
AXIS, TICK, OWN = range(1, 4)
"""Roles that every picture has, and the first of those that are a chart's own."""


def components(name: str, *own: str) -> dict[int, str]:
    """Component classes by role: `NAME--axis`, `NAME--tick`, and what the chart itself draws."""
    return {role: f"{name}--{part}" for role, part in enumerate(("axis", "tick", *own), start=AXIS)}


def value_scale(
    values: Sequence[float], rows: int, unit: str
) -> tuple[Axis, Callable[[float], float]]:
    """An axis for these values, and how high on it one is, 0 to 1.

    What differs is looked for: nothing of the room is given to what all have, but the lowest stays
    off the floor.
    """
    low, high = min(values), max(values)
    axis = value_axis(low - 0.1 * (high - low or high), high, rows, unit, None)
    return axis, lambda value: min(1.0, max(0.0, (value - axis.low) / (axis.high - axis.low)))


class StillChart(Widget):
    """plotext works only where what is shown, or the room for it, differs.

    Args:
        marker: `braille`, `hd` or `ascii`.
    """

    ROLES: ClassVar[dict[int, str]] = {}
    """Component classes by the roles that rows are drawn in."""

    def __init__(self, *, id: str | None = None, marker: str = "braille") -> None:
        super().__init__(id=id)
        self.marker = marker
        self._rows: list[Row] = []
        self._built: object = None
        self._canvas: Canvas | None = None

    @property
    def plain(self) -> bool:
        """Whether only ASCII may be drawn."""
        return self.marker == "ascii"

    def shown(self) -> object:
        """What the picture is made of; None where there is nothing to draw."""
        raise NotImplementedError

    def draw(self, canvas: Canvas, width: int, height: int) -> list[Row]:
        """The rows of the picture, in this much room."""
        raise NotImplementedError

    def framed(
        self,
        canvas: Canvas,
        strokes: Sequence[Stroke],
        width: int,
        rows: int,
        *,
        axis: Axis,
        ticks: Sequence[tuple[float, str]],
        span: float = 1.0,
    ) -> list[Row]:
        """What is drawn, in a frame that names values and moments; two rows more than `rows`."""
        frame = Frame(
            axis=axis,
            span=span,
            gutter=GUTTER,
            ticks=ticks,
            marks=(),
            glyphs=Glyphs.ASCII if self.plain else Glyphs.LINES,
        )
        cells = canvas.draw(width - GUTTER - 1, rows, strokes)
        return frame_rows(cells, frame, width, axis=AXIS, tick=TICK, marker=TICK)

    def render_line(self, y: int) -> Strip:
        """One row of what plotext drew."""
        self._build()
        styles: dict[int, Style] = {
            role: self.get_component_rich_style(name, partial=True)
            for role, name in self.ROLES.items()
        }
        row = self._rows[y] if y < len(self._rows) else []
        base = self.rich_style
        segments = [Segment(text, base + styles.get(role, Style.null())) for text, role in row]
        return Strip(segments).adjust_cell_length(self.content_size.width, base)

    def _build(self) -> None:
        shown, (width, height) = self.shown(), self.content_size
        if (shown, width, height) == self._built:
            return
        self._built = shown, width, height
        self._rows = []
        if shown is None or width < SMALLEST[0] or height < SMALLEST[1]:
            return
        try:
            self._canvas = self._canvas or Canvas()
        except PlotUnavailable:
            self._rows = [[("no plotext, so no curve", TICK)]]
            return
        self._rows = self.draw(self._canvas, width, height)
