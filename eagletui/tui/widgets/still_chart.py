"""A chart of something that does not move: drawn once for what it shows and the room it has."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from eagletui.tui.widgets.plot import Canvas, PlotUnavailable, Row

GUTTER = 6
SMALLEST = (24, 5)


class StillChart(Widget):
    """plotext works only where what is shown, or the room for it, differs.

    Args:
        marker: `braille`, `hd` or `ascii`.
    """

    ROLES: ClassVar[dict[int, str]] = {}
    """Component classes by the roles that rows are drawn in."""
    NOTE: ClassVar[int] = 0
    """The role of a note that stands in the picture's place."""

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
            self._rows = [[("no plotext, so no curve", self.NOTE)]]
            return
        self._rows = self.draw(self._canvas, width, height)
