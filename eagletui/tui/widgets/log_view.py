"""A view of a whole log, however long, that follows it, filters it and finds things in it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size, Spacing
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from eagletui.model.logfilter import LogFilter, compile_pattern
from eagletui.model.logindex import LogIndex
from eagletui.model.loglevels import Level
from eagletui.model.logstore import LogStore
from eagletui.model.safe import safe_line
from eagletui.tui.widgets import log_lines
from eagletui.tui.widgets.log_rows import LogRows
from eagletui.tui.widgets.log_search import Finder
from eagletui.tui.widgets.log_style import STYLE_SHEET, LogStyles
from eagletui.tui.widgets.log_tally import Count, Tally
from eagletui.tui.widgets.scroll_bar import SteadyScrollBar

SLICE = 0.008
"""Seconds of work at once."""
REFRESH_EVERY = 0.05
FLOODED_EVERY = 0.1
"""Nobody reads line by line what passes at ten pages a refresh."""
FLOOD_PAGES = 10
SOON = 0.001
LOST = 0.5
"""Seconds after which a timer that did not come is set anew: Textual (8.2) skips one that is late
when it begins, and a thread that holds the interpreter for a millisecond makes it so."""
WHEEL = 3
"""Rows of a wrapped line that a step of the mouse wheel goes."""


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
    DEFAULT_CSS = STYLE_SHEET

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

    class Counted(Message):
        """More is known of how many lines match; `matches` says it."""

        def __init__(self, view: LogView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> LogView:
            """The view it is about."""
            return self.view

        def can_replace(self, message: Message) -> bool:
            """Only the newest count matters."""
            return isinstance(message, LogView.Counted) and message.view is self.view

    def __init__(self, store: LogStore, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.store = store
        self.index = LogIndex(store)
        self.pending = 0
        self.when_empty = ""
        """What to say where every line is hidden: not before all of them were looked at."""
        self._styles = LogStyles(self)
        self._made = LogRows(store, self.index.levels, self._styles)
        self._finder = Finder(store, self.index)
        self._tally = Tally(store, self.index)
        self._counting = False
        self._none_passes = False
        self._anchor = store.first
        self._within = 0
        self._seen = store.end
        self._placing = False
        self._ticking = False
        self._ticked = self._due = 0.0
        self._pace = REFRESH_EVERY
        self._drawn_to = store.end
        self._widest = 0
        self._laid_out: tuple[object, list[Strip]] | None = None
        self._generation = 0

    @property
    def current(self) -> int | None:
        """The line last jumped to."""
        return self._made.current

    @current.setter
    def current(self, line: int | None) -> None:
        self._made.current = line

    # --- what the screen calls -------------------------------------------------------------------

    def look_like(self, other: LogView) -> None:
        """Take over how a log is looked at from the view that this one, not yet on, replaces."""
        for name in ("wrap", "level", "include", "exclude", "show_polls", "show_bars"):
            self.set_reactive(getattr(LogView, name), getattr(other, name))
        self.index.set_filter(self._wanted_filter())
        self._finder.pattern = other._finder.pattern
        self._made.pattern = other._made.pattern

    def extended(self) -> None:
        """The store has more lines. Cheap: the view catches up at most 20 times a second."""
        if not self._ticking:
            self._ticking = True
            self._tick_in(max(SOON, self._ticked + self._pace - monotonic()))

    def keep_up(self) -> None:
        """Catch up where the timer that should do so was lost."""
        if self._ticking and monotonic() > self._due + LOST:
            self._tick_in(SOON)

    def _tick_in(self, seconds: float) -> None:
        self._due = monotonic() + seconds
        self.set_timer(seconds, self._tick)

    def search(self, pattern: str) -> None:
        """Mark every match and go to the first from here on; "" ends the search."""
        self._finder.pattern = pattern
        self._made.pattern = compile_pattern(pattern)
        self._forget_rows()
        self._tally.begin(pattern)
        if pattern:
            self._find(self._finder.match, forward=True, past=0)
            self._count()
        else:
            self._finder.stop()

    @property
    def matches(self) -> Count:
        """How many shown lines match, and which of them is the current line."""
        return self._tally.count(self.current)

    def next_match(self) -> None:
        """Go to the next match behind the current line."""
        self._find(self._finder.match, forward=True)

    def previous_match(self) -> None:
        """Go to the match before the current line."""
        self._find(self._finder.match, forward=False)

    def next_error(self) -> None:
        """Go to the next error behind the current line."""
        self._find(self._finder.error, forward=True)

    def previous_error(self) -> None:
        """Go to the error before the current line."""
        self._find(self._finder.error, forward=False)

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
        self._repaint()

    @property
    def current_line(self) -> str:
        """The line last jumped to, else the last one in sight, safe to show."""
        rows = self._rows
        number = self.current
        if number is None and rows:
            number = self._line(min(round(self.scroll_y) + max(1, self._page), rows) - 1)
        return "" if number is None else safe_line(self.store.line(number))

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

    def action_scroll_down(self) -> None:
        """One row down, also inside a wrapped line that is taller than the view."""
        if not self._scroll_within(1):
            super().action_scroll_down()

    def action_scroll_up(self) -> None:
        """One row up, also inside a wrapped line that is taller than the view."""
        if not self._scroll_within(-1):
            super().action_scroll_up()

    def action_page_down(self) -> None:
        """A page down, also inside a wrapped line that is taller than the view."""
        if not self._scroll_within(max(1, self._page - 1)):
            super().action_page_down()

    def action_page_up(self) -> None:
        """A page up, also inside a wrapped line that is taller than the view."""
        if not self._scroll_within(1 - max(2, self._page)):
            super().action_page_up()

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

    def on_mouse_scroll_up(self, event: events.MouseScrollUp | None = None) -> None:
        """Whoever scrolls up wants to read."""
        self.follow = False
        if event is not None and self._scroll_within(-WHEEL):
            event.prevent_default().stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Down inside a tall wrapped line first."""
        if self._scroll_within(WHEEL):
            event.prevent_default().stop()

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
        if hasattr(self, "_made"):
            self._styles.forget()
            self._forget_rows()

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
        self._within = 0
        if self.current is not None:
            self._anchor = self.current
        self._sync()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling by the person moves the anchor; while following there is none."""
        if self._placing:
            return
        self._draw_scrollbar()
        if round(old_value) != round(new_value):
            self._within = 0
            self._repaint()
            if not self.follow:
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
        self._none_passes = False
        self._sync(build=True)
        self._tally.begin(self._finder.pattern)
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
        self._count()
        if more:
            self._tick_in(SOON)
        elif self.store.compact():
            self._tick_in(REFRESH_EVERY)
        else:
            self._ticking = False

    def _sync(self, *, build: bool = False) -> None:
        """Bring height, place and pending count in line with the rows there are now."""
        if build:
            self.index.advance(SLICE, monotonic)
        rows = self._rows
        self._none_passes = not rows and (self._none_passes or self.index.complete)
        self._laid_out = None
        height = rows + self._spare() if self.wrap else rows
        width = 0 if self.wrap else self._widest
        self._set_extent(Size(width, height))
        self._place(rows if self.follow else self.index.row_of(self._anchor))
        if self.wrap and self.follow and rows:
            self._within = max(0, self._height_of(rows - 1) - self._page)
        if not self.follow:
            self._set_pending(max(0, rows - self.index.row_of(self._seen)))
        self._repaint()

    def _set_extent(self, extent: Size) -> None:
        """Take another virtual size without a layout: our own place on the screen stays."""
        self.set_reactive(ScrollView.virtual_size, extent)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The view's own kind of bar, made when it is first asked for, as Textual makes its."""
        if self._vertical_scrollbar is None:
            bar = SteadyScrollBar(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar = bar
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar

    def _draw_scrollbar(self) -> None:
        bar = self.vertical_scrollbar
        assert isinstance(bar, SteadyScrollBar)
        bar.measure(self.virtual_size.height, self._page, self.scroll_y)

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
            room -= self._height_of(self._rows - 1 - lines)
            if room < 0:
                break
            lines += 1
        return page - max(1, lines) if self._rows > lines else 0

    def _height_of(self, row: int) -> int:
        """How many rows of the screen a line takes when wrapped."""
        return len(self._made.wrapped(self._line(row), self.scrollable_content_region.width))

    def _place(self, row: int) -> None:
        self._placing = True
        super().scroll_to(y=max(0, row), animate=False, force=True)
        self._placing = False
        self._draw_scrollbar()
        self._repaint()

    def _repaint(self) -> None:
        """Draw the rows anew, and not the scroll bar."""
        self.refresh(self.scrollable_content_region.size.region)

    def _place_x(self, column: int) -> None:
        super().scroll_to(x=column, animate=False, force=True)

    def _anchor_here(self) -> None:
        row = round(self.scroll_y)
        if 0 <= row < self._rows:
            self._anchor = self._line(row)

    def _line(self, row: int) -> int:
        return self.index.line_at(row) if row < self.index.rows else self.store.sealed

    def _scroll_within(self, rows: int) -> bool:
        """Move inside the line at the top where that is taller than the view; whether it did."""
        top = round(self.scroll_y)
        if not self.wrap or top >= self._rows:
            return False
        if rows < 0 and not self._within and top:
            # Upwards one comes to the end of the line before first.
            height = self._height_of(top - 1)
            if height <= self._page:
                return False
            self.follow = False
            self._place(top - 1)
            self._anchor_here()
            self._within = max(0, height + rows)
            return True
        height = self._height_of(top)
        tall = height > self._page
        last = height - (self._page if top == self._rows - 1 else 1) if tall else 0
        within = min(max(0, self._within + rows), last)
        if within == self._within:
            return False
        if rows < 0:
            self.follow = False
        self._within = within
        self._repaint()
        return True

    def _set_pending(self, count: int) -> None:
        if count != self.pending:
            self.pending = count
            self.post_message(self.Pending(self, count))
            self._repaint()

    # --- finding ---------------------------------------------------------------------------------

    def _origin(self, past: int) -> int:
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

    def _find(self, begin: Callable[..., None], *, forward: bool, past: int | None = None) -> None:
        busy = self._finder.busy
        begin(self._origin((1 if forward else -1) if past is None else past), forward=forward)
        if not busy and self._finder.busy:
            self._find_on()

    def _find_on(self) -> None:
        found = self._finder.advance(SLICE, monotonic)
        if found is not None:
            if found.line is not None:
                self.go_to(found.line)
            self.post_message(self.Found(self, found.what, found.line, found.wrapped))
        elif self._finder.busy:
            self.set_timer(SOON, self._find_on)
        self._repaint()

    def _count(self) -> None:
        if self._tally.busy and not self._counting:
            self._counting = True
            self.set_timer(SOON, self._count_on)

    def _count_on(self) -> None:
        self._tally.advance(SLICE / 2, monotonic)
        self._counting = self._tally.busy
        if self._counting:
            self.set_timer(SOON, self._count_on)
        self.post_message(self.Counted(self))

    # --- drawing ---------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows in sight, complete as they are: nothing of the styles is put around them."""
        if self._styles.filter_by(self.get_line_filters(), self.background_colors[1]):
            self._forget_rows()
        if self.styles.gutter != Spacing() or self.opacity < 1 or self.styles.tint.a:
            return super().render_lines(crop)
        begin, end = crop.column_span
        whole = (begin, end) == (0, self.scrollable_content_region.width)
        rows = self._layout()[crop.y : crop.bottom]
        if len(rows) < crop.height:
            blank = self._made.text("", "", self.scrollable_content_region.width)
            rows += [blank] * (crop.height - len(rows))
        if whole:
            return rows
        return [row.crop_extend(begin, end, self._styles.style("")) for row in rows]

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        rows = self._layout()
        if y < len(rows):
            return rows[y]
        return self._made.text("", "", self.scrollable_content_region.width)

    def _note(self) -> str:
        if self._finder.busy:
            return " searching … "
        return f" +{self.pending} line{'s' * (self.pending != 1)} ↓ f " if self.pending else ""

    def _layout(self) -> list[Strip]:
        """The rows in sight."""
        region = self.scrollable_content_region
        top, left, note = round(self.scroll_y), round(self.scroll_x), self._note()
        versions = (self.index.version, self.store.version, self._generation)
        empty = self.when_empty if self._none_passes and len(self.store) else ""
        key = (top, left, self._within, region.size, self.wrap, self.current, note, versions, empty)
        if self._laid_out is not None and self._laid_out[0] == key:
            return self._laid_out[1]
        rows = self._rows_from(top, left, region.size)
        if empty and region.height:
            rows.append(self._made.text(empty, "log--gap", region.width))
        if 0 < len(note) < region.width and region.height:
            rows += [self._made.text("", "", region.width)] * (region.height - len(rows))
            rows[-1] = self._made.with_note(rows[-1], note)
        self._laid_out = (key, rows)
        return rows

    def _rows_from(self, top: int, left: int, size: Size) -> list[Strip]:
        rows: list[Strip] = []
        total, hidden = self._rows, self._within if self.wrap else 0
        for row in range(top, total):
            if len(rows) >= size.height:
                break
            line = self._line(row)
            if self.wrap:
                rows += self._made.wrapped(line, size.width)[hidden:]
                hidden = 0
            else:
                rows.append(self._made.row(line, left, size.width))
                self._widest = max(self._widest, self._made.width(line))
        if not self.wrap and self._widest > self.virtual_size.width:
            self.call_later(self._sync)
        return rows[: size.height]

    def _forget_rows(self) -> None:
        self._made.forget()
        self._laid_out = None
        self._generation += 1
        self._repaint()
