"""One series of several runs over each other, from the beginning of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import reactive

from eagletui.tui.comparing import RunCurve
from eagletui.tui.widgets.chart_frame import Frame, Glyphs, frame_rows
from eagletui.tui.widgets.chart_headline import clipped
from eagletui.tui.widgets.chart_scale import after_ticks, value_axis
from eagletui.tui.widgets.plot import Canvas, Row, Stroke
from eagletui.tui.widgets.still_chart import GUTTER, StillChart

AXIS, TICK, TITLE = range(1, 4)
FIRST = 4
# A colour and, where only letters are drawn, a letter for each run; then again from the first.
LINES = (("accent", "*"), ("primary", "+"), ("success", "x"), ("warning", "o"), ("secondary", "#"))
COMPONENTS = {
    AXIS: "overlay--axis",
    TICK: "overlay--tick",
    TITLE: "overlay--title",
    **{FIRST + index: f"overlay--{colour}" for index, (colour, _) in enumerate(LINES)},
}


class Overlay(StillChart):
    """Draws what `show` gives it, below a row of title and names."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS.values())
    ROLES = COMPONENTS
    NOTE = TICK
    DEFAULT_CSS = """
    Overlay {
        .overlay--axis { color: $foreground 45%; }
        .overlay--tick { color: $foreground 70%; }
        .overlay--title { color: $accent; text-style: bold; }
        .overlay--accent { color: $accent; }
        .overlay--primary { color: $primary; }
        .overlay--success { color: $success; }
        .overlay--warning { color: $warning; }
        .overlay--secondary { color: $secondary; }
    }
    """
    curves: reactive[tuple[RunCurve, ...]] = reactive((), init=False)

    def __init__(
        self, title: str, unit: str, *, id: str | None = None, marker: str = "braille"
    ) -> None:
        super().__init__(id=id, marker=marker)
        self._title = title
        self._unit = unit

    def show(self, curves: Sequence[RunCurve]) -> None:
        """Draw these; a run without the series has no curve."""
        self.curves = tuple(curve for curve in curves if curve.seconds)

    def shown(self) -> object:
        """The curves."""
        return self.curves or None

    def draw(self, canvas: Canvas, width: int, height: int) -> list[Row]:
        """Title and names, then every curve from the same left edge."""
        inner, rows = width - GUTTER - 1, height - 3
        values = [value for curve in self.curves for value in curve.values]
        low, high = min(values), max(values)
        # What differs between runs is looked for: nothing of the room is given to what all have.
        axis = value_axis(low - 0.1 * (high - low or high), high, rows, self._unit, None)
        span = max(1.0, *(curve.seconds[-1] for curve in self.curves))

        def down(value: float) -> float:
            return min(1.0, max(0.0, (value - axis.low) / (axis.high - axis.low)))

        strokes = [
            Stroke(
                [second / span for second in curve.seconds],
                [down(value) for value in curve.values],
                curve.joined,
                LINES[index % len(LINES)][1] if self.plain else self.marker,
                FIRST + index % len(LINES),
            )
            for index, curve in enumerate(self.curves)
        ]
        frame = Frame(
            axis=axis,
            span=span,
            gutter=GUTTER,
            ticks=after_ticks(span, max(2, inner // 12)),
            marks=(),
            glyphs=Glyphs.ASCII if self.plain else Glyphs.LINES,
        )
        # The first run is the one that is looked for: it is drawn last, over the others.
        cells = canvas.draw(inner, rows, strokes[::-1])
        picture = frame_rows(cells, frame, width, axis=AXIS, tick=TICK, marker=TICK)
        return [clipped(self._names(), width), *picture]

    def _names(self) -> Row:
        row: Row = [(self._title, TITLE)]
        for index, curve in enumerate(self.curves):
            glyph = LINES[index % len(LINES)][1] if self.plain else "━"
            row += [("   ", 0), (glyph, FIRST + index % len(LINES)), (f" {curve.name}", 0)]
        return row
