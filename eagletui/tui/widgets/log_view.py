"""A log as it grows: only what is on the screen is ever turned into text.

The scroll position counts shown lines. With wrapping, rows are laid out from the line at the top
(from the last line upwards while following), so that no line off the screen is measured.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from eagletui.model.logindex import Filter, LogIndex, LogSearch
from eagletui.model.loglines import Level, classify, head_end, rank_of
from eagletui.model.logstore import GAP, LogStore
from eagletui.model.secrets import mask, may_hold_secret
from eagletui.model.text import visible_bytes

FRAME = 0.05
WORK_EVERY = 0.02
WORK_SLICE = 0.008
CACHED_STRIPS = 2048
SHOWN_BYTES = 4096
GLYPHS = {Level.ERROR: "✖", Level.WARNING: "▲"}
_CLASS = {
    Level.ERROR: "log--error",
    Level.WARNING: "log--warning",
    Level.INFO: "log--info",
    Level.DEBUG: "log--debug",
}

__all__ = ["LogStore", "LogView"]


class LogView(ScrollView, can_focus=True):
    """Shows a `LogStore`.

    Attributes:
        follow: stay at the end. Scrolling up stops it, reaching the end resumes it.
        wrap: break long lines in place of scrolling sideways.
        level, include, exclude, show_polls, show_bars: see `model.logindex.Filter`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--error",
        "log--warning",
        "log--info",
        "log--debug",
        "log--head",
        "log--match",
        "log--current",
        "log--gap",
        "log--more",
    }
    DEFAULT_CSS = """
    LogView {
        background: $surface;
        scrollbar-size: 0 1;
        & > .log--error { color: $text-error; text-style: bold; }
        & > .log--warning { color: $text-warning; }
        & > .log--info { color: $foreground; }
        & > .log--debug { color: $foreground 60%; }
        & > .log--head { color: $foreground 60%; }
        & > .log--match { text-style: reverse; }
        & > .log--current { text-style: underline; }
        & > .log--gap { color: $text-warning; text-style: italic; }
        & > .log--more { background: $primary; color: $text; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("home,g", "first", "First line", show=False),
        Binding("end,G", "last", "Last line", show=False),
    ]

    follow = reactive(True)
    wrap = reactive(False)
    level = reactive("all")
    include = reactive("")
    exclude = reactive("")
    show_polls = reactive(False)
    show_bars = reactive(False)

    class Pending(Message):
        """How many lines came since following stopped changed."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

        def can_replace(self, message: Message) -> bool:
            """Only the newest count matters."""
            return isinstance(message, LogView.Pending)

    def __init__(self, store: LogStore, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.store = store
        self.pending = 0
        self._index = LogIndex(store, Filter())
        self._search: LogSearch | None = None
        self._wanted_match = 0
        self._current: int | None = None
        self._strips: OrderedDict[tuple[int, int, bool], list[Strip]] = OrderedDict()
        self._rows: list[Strip] = []
        self._laid: object = None
        self._epoch = 0
        self._worker: Timer | None = None
        self._due: Timer | None = None
        self._moving = False
        self._anchor: int | None = None

    # --- what the outside may ask ------------------------------------------------------------

    def extended(self) -> None:
        """The store has more; it shows within a twentieth of a second."""
        if self._due is None and self.is_running:
            self._due = self.set_timer(FRAME, self._catch_up)

    def search(self, pattern: str) -> None:
        """Mark everything that matches and go to the match nearest below; "" ends the search."""
        self._search = LogSearch(self._index, pattern) if pattern else None
        self._repaint()
        if pattern:
            self._current = self._top_number() - 1
            self._wanted_match = 1
            self._work()

    @property
    def matches(self) -> tuple[int, int, bool]:
        """Place of the current match (from 1; 0 is none), how many, whether all are known."""
        search = self._search
        if search is None:
            return (0, 0, True)
        found = search.matches
        current = self._current if self._current is not None else -1
        place = found.index(current) + 1 if current in found else 0
        return (place, len(found), search.done)

    def next_match(self) -> None:
        """Go to the match after the current one."""
        self._go_match(1)

    def previous_match(self) -> None:
        """Go to the match before the current one."""
        self._go_match(-1)

    def next_error(self) -> None:
        """Go to the error after the current line."""
        self._go_error(1)

    def previous_error(self) -> None:
        """Go to the error before the current line."""
        self._go_error(-1)

    def go_to(self, number: int) -> None:
        """Go to a line by its number, or to the next shown after it."""
        self.follow = False
        self._current = number
        position = self._index.position(number)
        room = max(1, self._height // 3)
        self._scroll_to_line(max(0, position - room))
        self._repaint()

    @property
    def current_line(self) -> str:
        """The line last gone to, else the last on the screen, as it is shown."""
        number = self._current
        if number is None:
            bottom = min(len(self._index), int(self.scroll_y) + self._height)
            number = self._index.numbers[bottom - 1] if bottom > 0 else self.store.end - 1
        return self._text(self.store.line(number))

    # --- following -----------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Look at what is there already."""
        self._catch_up()

    def _catch_up(self) -> None:
        self._due = None
        self._work()

    def _work(self) -> None:
        """Look at new lines for one slice; go on in the next one while some are left."""
        if not self.is_running:
            return
        anchor = None if self.follow else self._top_number()
        done = self._index.advance(WORK_SLICE)
        if self._search is not None:
            done = self._search.advance(WORK_SLICE / 2) and done
            self._reach_match()
        self._resize(anchor)
        if not done and self._worker is None:
            self._worker = self.set_interval(WORK_EVERY, self._work)
        elif done and self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _resize(self, anchor: int | None) -> None:
        """Take the new number of lines; what was at the top stays there."""
        height = self._shown
        if self.virtual_size.height != height:
            self.virtual_size = Size(self._virtual_width, height)
        if self.follow:
            self._scroll_to_line(self._last_top)
        elif anchor is not None:
            self._scroll_to_line(self._index.position(anchor))
            self._count_pending()
        self._epoch += 1
        self.refresh()

    @property
    def _virtual_width(self) -> int:
        return self._width if self.wrap else max(self._width, SHOWN_BYTES // 8)

    @property
    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    @property
    def _height(self) -> int:
        return max(1, self.scrollable_content_region.height)

    @property
    def _shown(self) -> int:
        """Shown lines, the one without an end among them."""
        return self._ended + (self.store.end > self.store.complete)

    @property
    def _ended(self) -> int:
        """Shown lines that are ended; the step of a bar that a newer one follows is not shown."""
        count = len(self._index)
        if self._index.ends_in_bar and self.store.end > self.store.complete:
            newest = self.store.line(self.store.complete)
            return count - (not self._index.behind and classify(newest).bar)
        return count

    @property
    def _last_top(self) -> int:
        return max(0, self._shown - self._height)

    def _number_at(self, position: int) -> int:
        numbers = self._index.numbers
        return numbers[position] if position < self._ended else self.store.complete

    def _top_number(self) -> int:
        return self._number_at(int(self.scroll_y))

    def _scroll_to_line(self, position: int) -> None:
        self._moving = True
        try:
            self.scroll_to(y=position, animate=False, force=True, immediate=True)
        finally:
            self._moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled: stop following, or go on at the end."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or not self.is_running:
            return
        if round(new_value) >= self._last_top:
            self.follow = True
        elif new_value < old_value:
            self.follow = False

    def watch_follow(self, follow: bool) -> None:
        """Go to the end, or remember where following stopped."""
        if not self.is_running:
            return
        if follow:
            self._anchor = None
            self._scroll_to_line(self._last_top)
            self._say_pending(0)
        else:
            self._anchor = self.store.end
        self._repaint()

    def _count_pending(self) -> None:
        if self._anchor is not None:
            self._say_pending(self._shown - self._index.position(self._anchor))

    def _say_pending(self, count: int) -> None:
        if count != self.pending:
            self.pending = count
            self.post_message(self.Pending(count))

    def action_first(self) -> None:
        """Go to the oldest line."""
        self.follow = False
        self._scroll_to_line(0)
        self._repaint()

    def action_last(self) -> None:
        """Go to the newest line and follow."""
        self.follow = True
        self._scroll_to_line(self._last_top)

    def action_scroll_up(self) -> None:
        """One line up; stops following."""
        self.follow = False
        self._scroll_to_line(max(0, int(self.scroll_y) - 1))
        self._repaint()

    def action_scroll_down(self) -> None:
        """One line down; follows at the end."""
        position = min(self._last_top, int(self.scroll_y) + 1)
        self._scroll_to_line(position)
        if position >= self._last_top:
            self.follow = True
        self._repaint()

    # --- filters and search ----------------------------------------------------------------------

    def _filter_changed(self) -> None:
        if not self.is_running:
            return
        anchor = None if self.follow else self._top_number()
        self._index = LogIndex(
            self.store,
            Filter(
                include=self.include,
                exclude=self.exclude,
                level=self.level,
                polls=self.show_polls,
                bars=self.show_bars,
            ),
        )
        if self._search is not None and self._search.pattern is not None:
            pattern = self._search.pattern
            self._search = LogSearch(self._index, "")
            self._search.pattern = pattern
        self._strips.clear()
        self._work()
        if anchor is not None:
            self._scroll_to_line(self._index.position(anchor))

    def watch_include(self) -> None:
        """Filter anew."""
        self._filter_changed()

    def watch_exclude(self) -> None:
        """Filter anew."""
        self._filter_changed()

    def watch_level(self) -> None:
        """Filter anew."""
        self._filter_changed()

    def watch_show_polls(self) -> None:
        """Filter anew."""
        self._filter_changed()

    def watch_show_bars(self) -> None:
        """Filter anew."""
        self._filter_changed()

    def watch_wrap(self) -> None:
        """Lay out anew; sideways scrolling ends."""
        if self.is_running:
            self._strips.clear()
            self.virtual_size = Size(self._virtual_width, self._shown)
            if self.wrap:
                self.scroll_to(x=0, animate=False, force=True, immediate=True)
            self._repaint()

    def _go_match(self, direction: int) -> None:
        if self._search is None:
            return
        if self._current is None:
            self._current = self._top_number()
        self._wanted_match = direction
        self._reach_match()

    def _reach_match(self) -> None:
        """Go to the match that is waited for, as soon as it is known."""
        search = self._search
        if search is None or not self._wanted_match or self._current is None:
            return
        forward = self._wanted_match > 0
        found = search.after(self._current) if forward else search.before(self._current)
        if found is None and not search.done:
            return
        self._wanted_match = 0
        if found is None and search.matches:
            found = search.matches[0] if forward else search.matches[-1]
        if found is not None:
            self.go_to(found)

    def _go_error(self, direction: int) -> None:
        errors = self._index.errors
        if not errors:
            return
        start = self._current if self._current is not None else self._top_number()
        if direction > 0:
            at = bisect_right(errors, start)
            number = errors[at] if at < len(errors) else errors[0]
        else:
            at = bisect_left(errors, start) - 1
            number = errors[at]
        self.go_to(number)

    # --- painting ------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        """Another theme: every strip is old."""
        super().notify_style_update()
        self._strips.clear()
        self._epoch += 1

    def _repaint(self) -> None:
        self._epoch += 1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        key = (self._epoch, int(self.scroll_y), self.size, self.wrap, self.store.version)
        if key != self._laid:
            self._laid = key
            self._rows = self._lay_out(int(self.scroll_y))
        base = self.rich_style
        strip = self._rows[y] if y < len(self._rows) else Strip.blank(self._width, base)
        left = 0 if self.wrap else int(self.scroll_x)
        strip = strip.crop_extend(left, left + self._width, base)
        if self.pending and not self.follow and y == self._height - 1:
            return self._with_more(strip)
        return strip

    def _with_more(self, strip: Strip) -> Strip:
        text = f" +{self.pending:,} lines "[: self._width]
        style = self.get_component_rich_style("log--more")
        kept = strip.crop(0, self._width - len(text))
        return Strip([*kept, Segment(text, style)])

    def _lay_out(self, top: int) -> list[Strip]:
        height, total = self._height, self._shown
        if not self.wrap:
            return [self._strip(position)[0] for position in range(top, min(total, top + height))]
        rows: list[Strip] = []
        if top >= self._last_top:
            position = total - 1
            while position >= 0 and len(rows) < height:
                rows = self._strip(position) + rows
                position -= 1
            return rows[-height:]
        for position in range(top, total):
            rows += self._strip(position)
            if len(rows) >= height:
                break
        return rows[:height]

    def _strip(self, position: int) -> list[Strip]:
        number = self._number_at(position)
        key = (number, self._width, self.wrap)
        volatile = number >= self.store.complete or number == self._current
        strips = None if volatile or self._search is not None else self._strips.get(key)
        if strips is None:
            level = (
                Level(self._index.levels[position]) if position < len(self._index) else Level.INFO
            )
            strips = self._draw(number, self.store.line(number), level)
            if not volatile and self._search is None:
                self._strips[key] = strips
                if len(self._strips) > CACHED_STRIPS:
                    self._strips.popitem(last=False)
        return strips

    def _text(self, raw: bytes) -> str:
        if raw.startswith(GAP):
            return f"┄┄ {visible_bytes(raw[len(GAP) :])} ┄┄"
        text = visible_bytes(raw, SHOWN_BYTES)
        return mask(text) if may_hold_secret(raw) else text

    def _draw(self, number: int, raw: bytes, level: Level) -> list[Strip]:
        base = self.rich_style
        text = self._text(raw)
        if raw.startswith(GAP):
            segments = [Segment(f"  {text}", self._style("log--gap", base))]
        else:
            segments = self._coloured(text, raw, level, base)
            segments = self._matched(segments, base)
        if number == self._current:
            mark = self._style("log--current", base)
            segments = [Segment(s.text, (s.style or base) + mark) for s in segments]
        strip = Strip(segments)
        if not self.wrap or strip.cell_length <= self._width:
            return [strip]
        width = self._width
        return [
            strip.crop(start, min(start + width, strip.cell_length))
            for start in range(0, strip.cell_length, width)
        ]

    def _coloured(self, text: str, raw: bytes, level: Level, base: Style) -> list[Segment]:
        body = self._style(_CLASS[level], base)
        glyph = Segment(f"{GLYPHS.get(level, ' ')} ", body)
        # The head is plain ASCII, so that its length in bytes is its length on the screen.
        head = min(head_end(raw[:256]), len(text)) if raw[:256].isascii() else 0
        if head == 0:
            return [glyph, Segment(text, body)]
        rank = rank_of(raw[:256])
        faint = self._style("log--head", base)
        return [glyph, *_ranked(text[:head], rank, faint), Segment(text[head:], body)]

    def _matched(self, segments: list[Segment], base: Style) -> list[Segment]:
        pattern = self._search.pattern if self._search is not None else None
        if pattern is None:
            return segments
        mark = self._style("log--match", base)
        # Matches are found in bytes; what is shown is text: the same pattern looks there.
        shown = re.compile(
            pattern.pattern.decode("utf-8", "replace"), pattern.flags & re.IGNORECASE
        )
        result: list[Segment] = []
        for segment in segments:
            last = 0
            style = segment.style or base
            for match in shown.finditer(segment.text):
                if match.start() == match.end():
                    continue
                result.append(Segment(segment.text[last : match.start()], style))
                result.append(Segment(match[0], style + mark))
                last = match.end()
            result.append(Segment(segment.text[last:], style))
        return [segment for segment in result if segment.text]

    def _style(self, name: str, base: Style) -> Style:
        return base + self.get_component_rich_style(name, partial=True)


def _ranked(head: str, rank: str, faint: Style) -> list[Segment]:
    """The head of a record, its rank standing out."""
    at = head.rfind(rank) if rank else -1
    if at < 0:
        return [Segment(head, faint)]
    strong = faint + Style(bold=True, dim=False)
    return [
        Segment(head[:at], faint),
        Segment(rank, strong),
        Segment(head[at + len(rank) :], faint),
    ]
