"""A vertical scroll bar that makes no garbage while what it measures grows many times a second."""

from __future__ import annotations

from math import ceil

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

_MOST = 256
"""Looks of a cell that are kept: some twenty for each of three states and of each theme."""


class SteadyScrollBar(ScrollBar):
    """Textual's vertical bar; each look of a cell is one strip, made once.

    Textual 8.2 keeps a strip that is cut to its own width in that strip's own cache. Such a ring
    is only freed by the collector, and a bar has one to a row: drawn anew in every frame it stops
    the screen for up to 30 ms, several times a minute.
    """

    def __init__(self, *, name: str, thickness: int) -> None:
        super().__init__(vertical=True, name=name, thickness=thickness)
        self._cells: dict[Segment, Strip] = {}
        self._thumb = (-1, -1)

    def measure(self, total: int, page: int, position: float) -> None:
        """Take what is measured, in rows; drawn anew only where that looks different."""
        self.set_reactive(ScrollBar.window_virtual_size, total)
        self.set_reactive(ScrollBar.position, self.validate_position(position))
        height = self.size.height
        # As the bar is drawn: in eighths of a cell.
        size = max(1.0, height * page / total) if total > page else 0.0
        start = (height - size) * position / (total - page) if size else 0.0
        thumb = (int(start * 8), ceil(size * 8))
        if thumb != self._thumb:
            self._thumb = thumb
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of the bar that are asked for."""
        if self.parent is None:  # one last frame after its view was taken off the screen
            return [Strip.blank(crop.width)] * crop.height
        drawn = self.render()
        assert isinstance(drawn, ScrollBarRender)
        style = drawn.style
        assert isinstance(style, Style)
        assert style.color is not None
        assert style.bgcolor is not None
        bar = drawn.render_bar(
            size=self.size.height,
            virtual_size=drawn.virtual_size,
            window_size=drawn.window_size,
            position=drawn.position,
            thickness=self.size.width,
            vertical=True,
            back_color=style.bgcolor,
            bar_color=style.color,
        )
        filters, background = self.get_line_filters(), self.background_colors[1]
        strips: list[Strip] = []
        for segment in list(bar.segments)[crop.y : crop.bottom]:
            strip = self._cell(segment)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip.crop(*crop.column_span))
        return strips

    def _cell(self, segment: Segment) -> Strip:
        strip = self._cells.get(segment)
        if strip is None:
            if len(self._cells) >= _MOST:
                self._cells.clear()
            strip = self._cells[segment] = Strip([segment])
        return strip
