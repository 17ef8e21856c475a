"""A view of a whole log, however long, that follows it, filters it and finds things in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from time import monotonic
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size, Spacing
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from eagletui.model.logfilter import LogFilter, compile_pattern, line_matcher
from eagletui.model.logindex import LOOK_BACK, LogIndex
from eagletui.model.loglevels import Level, begins_record, continues, level_of, levels_of
from eagletui.model.logstore import LogStore
from eagletui.tui.widgets import log_lines
from eagletui.tui.widgets.log_search import Hit, Wanted, containing, failures, hunt

SLICE = 0.008
"""Seconds of work at once."""
REFRESH_EVERY = 0.05
FLOODED_EVERY = 0.1
"""Nobody reads line by line what passes at ten pages a refresh."""
FLOOD_PAGES = 10
SOON = 0.001


class LogView(ScrollView, can_focus=True):
    """Shows the lines of a store that pass its filter; the place is kept by line, not by row.

    `level`, `include`, `exclude`, `show_polls` and `show_bars` are the filter; `follow` keeps the
    newest line in sight; `wrap` shows long lines whole.
    """

    BINDING_GROUP_TITLE = "Log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next_match", "Next match", show=False, id="log.next-match"),
        Binding("N", "previous_match", "Previous match", show=False, id="log.previous-match"),
        Binding("e", "next_error", "Next error", id="log.next-error"),
        Binding("E", "previous_error", "Previous error", show=False, id="log.previous-error"),
        Binding("f", "follow", "Follow", id="log.follow"),
        Binding("w", "wrap", "Wrap", id="log.wrap"),
        Binding("g,home", "first_line", "First line", show=False, id="log.first"),
        Binding("G,end", "follow", "Last line", show=False, id="log.last"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = set(log_lines.COMPONENTS)
    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        width: 1fr;
        overflow-x: scroll;
        overflow-y: scroll;
        scrollbar-size-horizontal: 0;
        scrollbar-size-vertical: 1;
        .log--error { color: $error; }
        .log--warning { color: $warning; }
        .log--info { color: $foreground; }
        .log--debug { color: $foreground 60%; }
        .log--stamp { color: $foreground 55%; }
        .log--rank { text-style: bold; }
        .log--rank-0 { color: $accent; }
        .log--rank-1 { color: $secondary; }
        .log--rank-2 { color: $success; }
        .log--rank-3 { color: $primary; }
        .log--match { text-style: reverse; }
        .log--gap { color: $warning; text-style: italic; }
        .log--continuation { text-style: dim; }
        .log--current { text-style: bold underline; }
        .log--overlay { text-style: reverse bold; }
    }
    """

    follow = reactive(True, init=False)
    wrap = reactive(False, init=False)
    level: reactive[Level] = reactive("debug", init=False)
    include = reactive("", init=False)
    exclude = reactive("", init=False)
    show_polls = reactive(False, init=False)
    show_bars = reactive(False, init=False)

    class Pending(Message):
        """`count` shown lines came since the view stopped following."""

        def __init__(self, view: LogView, count: int) -> None:
            super().__init__()
            self.view = view
            self.count = count

        @property
        def control(self) -> LogView:
            """The view it is about."""
            return self.view

        def can_replace(self, message: Message) -> bool:
            """Only the newest count matters."""
            return isinstance(message, LogView.Pending) and message.view is self.view

    class Found(Message):
        """A search ended: the line it found, or None."""

        def __init__(self, view: LogView, what: str, line: int | None, wrapped: bool) -> None:
            super().__init__()
            self.view = view
            self.what = what
            self.line = line
            self.wrapped = wrapped

        @property
        def control(self) -> LogView:
            """The view it is about."""
            return self.view

    def __init__(self, store: LogStore, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.store = store
        self.index = LogIndex(store)
        self.current: int | None = None
        """The line last jumped to."""
        self.pending = 0
        self.when_empty = ""
        """What to say where every line is hidden."""
        self._pattern_text = ""
        self._pattern: re.Pattern[str] | None = None
        self._anchor = store.first
        self._seen = store.end
        self._placing = False
        self._ticking = False
        self._ticked = 0.0
        self._pace = REFRESH_EVERY
        self._drawn_to = store.end
        self._hunt: Iterator[Hit | None] | None = None
        self._hunted = ""
        self._widest = 0
        self._lines: LRUCache[int, log_lines.Painted] = LRUCache(512)
        self._styles_known: dict[str, Style] = {}
        self._levels: LRUCache[int, Level] = LRUCache(8192)
        self._laid_out: tuple[object, list[Strip]] | None = None
        self._generation = 0

    # --- what the screen calls -------------------------------------------------------------------

    def look_like(self, other: LogView) -> None:
        """Take over how a log is looked at from the view that this one, not yet on, replaces."""
        for name in ("wrap", "level", "include", "exclude", "show_polls", "show_bars"):
            self.set_reactive(getattr(LogView, name), getattr(other, name))
        self.index.set_filter(self._wanted_filter())
        self._pattern_text, self._pattern = other._pattern_text, other._pattern

    def extended(self) -> None:
        """The store has more lines. Cheap: the view catches up at most 20 times a second."""
        if not self._ticking:
            self._ticking = True
            due = self._ticked + self._pace - monotonic()
            self.set_timer(max(SOON, due), self._tick)

    def search(self, pattern: str) -> None:
        """Mark every match and go to the first from here on; "" ends the search."""
        self._pattern_text = pattern
        self._pattern = compile_pattern(pattern)
        self._forget_lines()
        if self._pattern is None:
            self._hunt = None
        else:
            self._seek(pattern, self._matches(), self._origin(), forward=True)

    def next_match(self) -> None:
        """Go to the next match behind the current line."""
        if self._pattern is not None:
            self._seek(self._pattern_text, self._matches(), self._origin(1), forward=True)

    def previous_match(self) -> None:
        """Go to the match before the current line."""
        if self._pattern is not None:
            self._seek(self._pattern_text, self._matches(), self._origin(-1), forward=False)

    def next_error(self) -> None:
        """Go to the next error behind the current line."""
        self._seek("error", failures, self._origin(1), forward=True, passes=self._begins_error)

    def previous_error(self) -> None:
        """Go to the error before the current line."""
        self._seek("error", failures, self._origin(-1), forward=False, passes=self._begins_error)

    def go_to(self, line_number: int) -> None:
        """Stop following and show this line of the store, or the next shown one if it is hidden."""
        self.follow = False
        line = min(max(line_number, self.store.first), max(self.store.first, self.store.end - 1))
        self.current = line
        if line < self.store.settled and not self.index.knows(line):
            self.index.set_filter(self.index.filter, around=line)
        self._sync(build=True)
        row = self.index.row_of(line)
        top, height = round(self.scroll_y), self._page
        if not top <= row < top + max(1, height):
            self._place(row - height // 3)
            self._anchor_here()
        self.refresh()

    @property
    def current_line(self) -> str:
        """The line last jumped to, else the last one in sight, safe to show."""
        rows = self._rows
        number = self.current
        if number is None and rows:
            number = self._line(min(round(self.scroll_y) + max(1, self._page), rows) - 1)
        return "" if number is None else log_lines.safe_text(self.store.line(number))

    # --- keys ------------------------------------------------------------------------------------

    def action_next_match(self) -> None:
        """Bound to n."""
        self.next_match()

    def action_previous_match(self) -> None:
        """Bound to N."""
        self.previous_match()

    def action_next_error(self) -> None:
        """Bound to e."""
        self.next_error()

    def action_previous_error(self) -> None:
        """Bound to E."""
        self.previous_error()

    def action_follow(self) -> None:
        """Go to the newest line and stay there."""
        self.current = None
        self.follow = True
        self._sync()

    def action_wrap(self) -> None:
        """Show long lines whole, or cut at the edge."""
        self.wrap = not self.wrap

    def action_first_line(self) -> None:
        """Go to the oldest line that is kept."""
        self.go_to(self.store.first)

    def scroll_to(
        self,
        x: float | None = None,
        y: float | None = None,
        *,
        animate: bool = False,
        **options: object,
    ) -> None:
        """Scroll at once: an animated log only shows lines later."""
        del animate, options
        if y is not None and y < self.scroll_y:
            self.follow = False
        super().scroll_to(x, y, animate=False)

    def on_mouse_scroll_up(self) -> None:
        """Whoever scrolls up wants to read."""
        self.follow = False

    def on_click(self, event: events.Click) -> None:
        """A click on the count of pending lines goes to them."""
        if self.pending and event.y == self._page - 1 and event.x >= self.size.width // 2:
            self.action_follow()

    # --- reactions -------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin with what the store has."""
        self.extended()

    def on_resize(self) -> None:
        """Keep the place, or the end, at any size."""
        self._sync()

    def notify_style_update(self) -> None:
        """Another theme: other colours."""
        super().notify_style_update()
        if hasattr(self, "_lines"):
            self._forget_lines()

    def watch_follow(self, follow: bool) -> None:
        """Remember what was seen; say that nothing is pending."""
        self._seen = self.store.end
        if follow:
            self._set_pending(0)
            self._sync()
        else:
            self._anchor_here()

    def watch_wrap(self) -> None:
        """Rows are lines in both ways of showing, so the place stays."""
        self._place_x(0)
        if self.current is not None:
            self._anchor = self.current
        self._sync()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling by the person moves the anchor; while following there is none."""
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and not self.follow and round(old_value) != round(new_value):
            self._anchor_here()

    def _wanted_filter(self) -> LogFilter:
        return LogFilter(
            level=self.level,
            include=self.include,
            exclude=self.exclude,
            polls=self.show_polls,
            bars=self.show_bars,
        )

    def _filter_changed(self) -> None:
        self.index.set_filter(self._wanted_filter(), around=None if self.follow else self._anchor)
        self._sync(build=True)
        self.extended()

    watch_level = watch_include = watch_exclude = _filter_changed
    watch_show_polls = watch_show_bars = _filter_changed

    # --- keeping up ------------------------------------------------------------------------------

    def _tick(self) -> None:
        now = monotonic()
        more = self.index.advance(SLICE, monotonic)
        if now - self._ticked >= self._pace or not more:
            self._ticked = now
            fresh = self.store.end - self._drawn_to
            self._drawn_to = self.store.end
            flooded = fresh > FLOOD_PAGES * self._page
            self._pace = FLOODED_EVERY if flooded else REFRESH_EVERY
            self._sync()
        if more:
            self.set_timer(SOON, self._tick)
        elif self.store.compact():
            self.set_timer(REFRESH_EVERY, self._tick)
        else:
            self._ticking = False

    def _sync(self, *, build: bool = False) -> None:
        """Bring height, place and pending count in line with the rows there are now."""
        if build:
            self.index.advance(SLICE, monotonic)
        rows = self._rows
        self._laid_out = None
        height = rows + self._spare() if self.wrap else rows
        width = 0 if self.wrap else self._widest
        self._set_extent(Size(width, height))
        self._place(rows if self.follow else self.index.row_of(self._anchor))
        if not self.follow:
            self._set_pending(max(0, rows - self.index.row_of(self._seen)))
        self.refresh()

    def _set_extent(self, extent: Size) -> None:
        """Take another virtual size without a layout: our own place on the screen stays."""
        if self.virtual_size == extent:
            return
        self.set_reactive(ScrollView.virtual_size, extent)
        self.vertical_scrollbar.window_virtual_size = extent.height

    @property
    def _rows(self) -> int:
        return self.index.rows + self.index.shows_growing()

    @property
    def _page(self) -> int:
        return self.scrollable_content_region.height

    def _spare(self) -> int:
        """Blank rows below the last line, so that scrolled to the end its wrapped rows all fit."""
        page = self._page
        room, lines = page, 0
        while lines < min(page, self._rows):
            room -= len(self._wrapped(self._rows - 1 - lines))
            if room < 0:
                break
            lines += 1
        return page - max(1, lines) if self._rows > lines else 0

    def _place(self, row: int) -> None:
        self._placing = True
        super().scroll_to(y=max(0, row), animate=False, force=True)
        self._placing = False

    def _place_x(self, column: int) -> None:
        super().scroll_to(x=column, animate=False, force=True)

    def _anchor_here(self) -> None:
        row = round(self.scroll_y)
        if 0 <= row < self._rows:
            self._anchor = self._line(row)

    def _line(self, row: int) -> int:
        return self.index.line_at(row) if row < self.index.rows else self.store.sealed

    def _set_pending(self, count: int) -> None:
        if count != self.pending:
            self.pending = count
            self.post_message(self.Pending(self, count))
            self.refresh()

    # --- finding ---------------------------------------------------------------------------------

    def _matches(self) -> Wanted:
        found = line_matcher(self._pattern_text)
        return containing(found if found is not None else lambda _: False)

    def _origin(self, past: int = 0) -> int:
        """The line to look from: the current one while in sight, else the edge of the view."""
        rows = self._rows
        if not rows:
            return self.store.first
        top = min(round(self.scroll_y), rows - 1)
        bottom = min(top + max(1, self._page), rows) - 1
        first, last = self._line(top), self._line(bottom)
        if self.current is not None and first <= self.current <= last:
            return self.current + past
        return last if past < 0 else first

    def _begins_error(self, line: int) -> bool:
        """Whether a line is the first of its error: a traceback and its last words are one."""
        inside = line > self.store.first and self._level(line - 1) == "error"
        return (not inside or begins_record(self.store.line(line))) and self.index.passes(line)

    def _seek(
        self,
        what: str,
        wanted: Wanted,
        start: int,
        *,
        forward: bool,
        passes: Callable[[int], bool] | None = None,
    ) -> None:
        begin = self._hunt is None
        self._hunted = what
        self._hunt = hunt(self.store, wanted, passes or self.index.passes, start, forward=forward)
        if begin:
            self._hunt_on()

    def _hunt_on(self) -> None:
        until = monotonic() + SLICE
        while self._hunt is not None:
            try:
                hit = next(self._hunt)
            except StopIteration:
                self._hunt = None
                self.post_message(self.Found(self, self._hunted, None, False))
                self.refresh()
                return
            if hit is not None:
                self._hunt = None
                self.go_to(hit.line)
                self.post_message(self.Found(self, self._hunted, hit.line, hit.wrapped))
            elif monotonic() >= until:
                self.refresh()
                self.set_timer(SOON, self._hunt_on)
                return

    # --- drawing ---------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows in sight, complete as they are: nothing of the styles is put around them."""
        if self.styles.gutter != Spacing() or self.opacity < 1 or self.styles.tint.a:
            return super().render_lines(crop)
        rows, base = self._layout(), self._style("")
        filters, background = self.get_line_filters(), self.background_colors[1]
        begin, end = crop.column_span
        blank = Strip.blank(end - begin, base)
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = rows[y].crop_extend(begin, end, base) if y < len(rows) else blank
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        return strips

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        rows = self._layout()
        if y < len(rows):
            return rows[y]
        return Strip.blank(self.scrollable_content_region.width, self._style(""))

    def _note(self) -> str:
        if self._hunt is not None:
            return " searching … "
        return f" +{self.pending} line{'s' * (self.pending != 1)} ↓ f " if self.pending else ""

    def _layout(self) -> list[Strip]:
        """The rows in sight."""
        region = self.scrollable_content_region
        top, left, note = round(self.scroll_y), round(self.scroll_x), self._note()
        versions = (self.index.version, self.store.version, self._generation)
        empty = self.when_empty if not self._rows and len(self.store) else ""
        key = (top, left, region.size, self.wrap, self.current, note, versions, empty)
        if self._laid_out is not None and self._laid_out[0] == key:
            return self._laid_out[1]
        rows: list[Strip] = []
        total, room = self._rows, region.width - log_lines.GUTTER
        row = top
        while len(rows) < region.height and row < total:
            line = self._line(row)
            if self.wrap:
                rows += self._wrapped(row)
            else:
                painted = self._painted(line)
                rows.append(self._joined(self._gutter(line), painted.cut(left, room)))
                self._widest = max(self._widest, painted.width + log_lines.GUTTER)
            row += 1
        if empty and region.height:
            hint = Strip([Segment(empty, self._style("log--gap"))])
            rows.append(hint.adjust_cell_length(region.width, self._style("")))
        if note and len(rows) < region.height:
            blank = Strip.blank(region.width, self._style(""))
            rows += [blank] * (region.height - len(rows))
        if note and 0 < len(note) < region.width:
            overlay = Segment(note, self._style("log--overlay"))
            last = rows[region.height - 1].crop(0, region.width - len(note))
            rows[region.height - 1] = Strip([*last, overlay], region.width)
        if not self.wrap and self._widest > self.virtual_size.width:
            self.call_later(self._sync)
        self._laid_out = (key, rows)
        return rows

    def _wrapped(self, row: int) -> list[Strip]:
        line = self._line(row)
        region = self.scrollable_content_region
        room = region.width - log_lines.GUTTER
        pieces = self._painted(line).rows(room, max(1, region.height - 1))
        blank = Segment(" " * log_lines.GUTTER, self._style(""))
        return [
            self._joined(blank if at else self._gutter(line), piece)
            for at, piece in enumerate(pieces)
        ]

    def _joined(self, gutter: Segment, body: Strip) -> Strip:
        base = self._style("")
        segments = [gutter]
        for text, style, control in body:
            segments.append(Segment(text, style or base, control))
        return Strip(segments, log_lines.GUTTER + body.cell_length)

    def _gutter(self, line: int) -> Segment:
        if self.store.gap_text(line) is not None:
            return Segment("╌ ", self._style("log--gap"))
        level = self._level(line)
        glyph = log_lines.GLYPHS.get(level, "  ")
        if line == self.current:
            glyph = f"{glyph[0]}▶"
        return Segment(glyph, self._style(f"log--{level}"))

    def _painted(self, line: int) -> log_lines.Painted:
        painted = self._lines.get(line)
        if painted is None:
            gap = self.store.gap_text(line)
            if gap is not None:
                painted = log_lines.paint_gap(gap, self._style)
            else:
                data = self.store.line(line)
                level = self._level(line)
                painted = log_lines.paint(
                    log_lines.safe_text(data),
                    level,
                    self._style,
                    continued=level in ("error", "warning") and continues(data),
                    pattern=self._pattern,
                )
            if line < self.store.sealed:
                self._lines[line] = painted
        if line != self.current:
            return painted
        look = self._style("log--current").without_color
        segments = [Segment(text, (style or look) + look) for text, style, _ in painted.segments]
        return painted._replace(segments=segments)

    def _level(self, line: int) -> Level:
        known = self._levels.get(line)
        if known is not None:
            return known
        data = self.store.line(line)
        level = level_of(data)
        if continues(data) and line > self.store.first:
            begin = max(self.store.first, line - LOOK_BACK)
            lines = self.store.lines(begin, line + 1)
            level = levels_of(lines, self._levels.get(begin - 1))[-1]
        if line < self.store.sealed:
            self._levels[line] = level
        return level

    def _style(self, name: str) -> Style:
        """The style of a component on this view's background; of "" the view's own."""
        style = self._styles_known.get(name)
        if style is None:
            style = self.rich_style
            if name:
                style += self.get_component_rich_style(name, partial=True)
            self._styles_known[name] = style
        return style

    def _forget_lines(self) -> None:
        self._lines.clear()
        self._styles_known.clear()
        self._laid_out = None
        self._generation += 1
        self.refresh()
