"""Lines of a stored log as rows of the screen, each made once while it looks the same."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.cache import LRUCache
from textual.strip import Strip

from eagletui.model.loglevels import continues
from eagletui.model.logrecords import Levels
from eagletui.model.logstore import LogStore
from eagletui.model.safe import safe_line
from eagletui.tui.widgets import log_lines
from eagletui.tui.widgets.log_lines import GUTTER, Painted, cells
from eagletui.tui.widgets.log_style import LogStyles

MOST_ROWS = 1000
"""Rows of one wrapped line."""


class LogRows:
    """Makes rows out of lines.

    Attributes:
        pattern: every match of it is marked; `forget` when it changes.
        current: the line that is marked as the one last gone to.
    """

    def __init__(self, store: LogStore, levels: Levels, styles: LogStyles) -> None:
        self._store = store
        self._levels = levels
        self._styles = styles
        self._style = styles.style
        self.pattern: re.Pattern[str] | None = None
        self.current: int | None = None
        self._painted: LRUCache[int, Painted] = LRUCache(512)
        self._strips: LRUCache[tuple[int, int, int], Strip] = LRUCache(512)
        self._wrapped: LRUCache[tuple[int, int], list[Strip]] = LRUCache(256)

    def forget(self) -> None:
        """Styles or pattern changed: make every row anew."""
        self._painted.clear()
        self._strips.clear()
        self._wrapped.clear()

    def width(self, line: int) -> int:
        """Cells of the whole line, its gutter included."""
        return self._paint(line).width + GUTTER

    def row(self, line: int, left: int, width: int) -> Strip:
        """`width` cells of the screen: the gutter, and the line from the column `left` on."""
        key = (line, left, width)
        strip = None if line == self.current else self._strips.get(key)
        if strip is None:
            strip = self._strip(
                self._gutter(line), self._look(line).cut(left, width - GUTTER), width
            )
            if line < self._store.sealed and line != self.current:
                self._strips[key] = strip
        return strip

    def wrapped(self, line: int, width: int) -> list[Strip]:
        """The whole line in rows of `width` cells."""
        key = (line, width)
        strips = None if line == self.current else self._wrapped.get(key)
        if strips is None:
            gutter, blank = self._gutter(line), Segment(" " * GUTTER, self._style(""))
            strips = [
                self._strip(blank if at else gutter, row, width)
                for at, row in enumerate(self._look(line).rows(width - GUTTER, MOST_ROWS))
            ]
            if line < self._store.sealed and line != self.current:
                self._wrapped[key] = strips
        return strips

    def _strip(self, gutter: Segment, body: list[Segment], width: int) -> Strip:
        base, on_screen = self._style(""), self._styles.on_screen
        segments = [Segment(text, on_screen(style or base)) for text, style, _ in (gutter, *body)]
        taken = cells(segments)
        if taken < width:
            segments.append(Segment(" " * (width - taken), on_screen(base)))
        return Strip(segments, max(taken, width))

    def text(self, words: str, component: str, width: int) -> Strip:
        """A row of words of our own, or a blank one."""
        style = self._styles.on_screen(self._style(component))
        blank = self._styles.on_screen(self._style(""))
        return Strip([Segment(words, style)], cell_len(words)).adjust_cell_length(width, blank)

    def with_note(self, row: Strip, note: str) -> Strip:
        """The row with a note over its end."""
        kept = row.crop(0, row.cell_length - len(note))
        overlay = Segment(note, self._styles.on_screen(self._style("log--overlay")))
        return Strip([*kept, overlay], row.cell_length)

    def _gutter(self, line: int) -> Segment:
        if self._store.gap_text(line) is not None:
            return Segment("╌ ", self._style("log--gap"))
        level = self._levels.of(line)
        glyph = log_lines.GLYPHS.get(level, "  ")
        if line == self.current:
            glyph = f"{glyph[0]}▶"
        return Segment(glyph, self._style(f"log--{level}"))

    def _paint(self, line: int) -> Painted:
        painted = self._painted.get(line)
        if painted is not None:
            return painted
        gap = self._store.gap_text(line)
        if gap is not None:
            painted = log_lines.paint_gap(gap, self._style)
        else:
            data = self._store.line(line)
            level = self._levels.of(line)
            painted = log_lines.paint(
                safe_line(data),
                level,
                self._style,
                continued=level in ("error", "warning") and continues(data),
                pattern=self.pattern,
            )
        if line < self._store.sealed:
            self._painted[line] = painted
        return painted

    def _look(self, line: int) -> Painted:
        painted = self._paint(line)
        if line != self.current:
            return painted
        look = self._style("log--current").without_color
        segments = [Segment(text, (style or look) + look) for text, style, _ in painted.segments]
        return painted._replace(segments=segments)
