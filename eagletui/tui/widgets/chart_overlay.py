"""One series of several runs over each other, from the beginning of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import reactive

from eagletui.model.moments import after_ticks
from eagletui.tui.comparing import RunCurve
from eagletui.tui.widgets.chart_headline import clipped
from eagletui.tui.widgets.plot import Canvas, Row, Stroke
from eagletui.tui.widgets.still_chart import GUTTER, OWN, StillChart, components, value_scale

TITLE, FIRST = OWN, OWN + 1
# A colour and, where only letters are drawn, a letter for each run; then again from the first.
LINES = (("accent", "*"), ("primary", "+"), ("success", "x"), ("warning", "o"), ("secondary", "#"))
COMPONENTS = components("overlay", "title", *(colour for colour, _ in LINES))


class Overlay(StillChart):
    """Draws what `show` gives it, below a row of title and names."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS.values())
    ROLES = COMPONENTS
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
        axis, up = value_scale(values, rows, self._unit)
        span = max(1.0, *(curve.seconds[-1] for curve in self.curves))

        strokes = [
            Stroke(
                [second / span for second in curve.seconds],
                [up(value) for value in curve.values],
                curve.joined,
                LINES[index % len(LINES)][1] if self.plain else self.marker,
                FIRST + index % len(LINES),
            )
            for index, curve in enumerate(self.curves)
        ]
        ticks = after_ticks(span, max(2, inner // 12))
        # The first run is the one that is looked for: it is drawn last, over the others.
        picture = self.framed(canvas, strokes[::-1], width, rows, axis=axis, ticks=ticks, span=span)
        return [clipped(self._names(), width), *picture]

    def _names(self) -> Row:
        row: Row = [(self._title, TITLE)]
        for index, curve in enumerate(self.curves):
            glyph = LINES[index % len(LINES)][1] if self.plain else "━"
            row += [("   ", 0), (glyph, FIRST + index % len(LINES)), (f" {curve.name}", 0)]
        return row
