"""The whole log, with search, filters and a line that says what is hidden."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from eagletui.model.logfilter import may_never_end
from eagletui.model.loglevels import Level
from eagletui.tui import words
from eagletui.tui.actions import first_key
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import Field, pack
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.phases import PhaseList, landmarks_in
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.view import View
from eagletui.tui.widgets.log_holder import LogHolder
from eagletui.tui.widgets.log_view import LogView

# Lowest level shown, as it is cycled; the first shows everything.
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")


def next_level(level: Level) -> Level:
    """The one after, around in a circle."""
    return LEVELS[(LEVELS.index(level) + 1) % len(LEVELS)]


def status_fields(
    log: LogView, total: int, pending: int, pattern: str, found: str = ""
) -> list[Field]:
    """What the status line says: where we are, what is hidden, what is searched."""
    hidden = [
        name for name, shown in (("polls", log.show_polls), ("bars", log.show_bars)) if not shown
    ]
    return [
        Field(1, "▼ following" if log.follow else "‖ not following", "bold"),
        Field(
            0,
            f"+{words.count(pending, 'new line')}" if pending and not log.follow else "",
            "bold $warning",
        ),
        Field(5, words.count(total, "line"), "$quiet"),
        Field(2, f"level ≥ {log.level}" if log.level != LEVELS[0] else "", "bold $accent"),
        Field(2, f"in “{log.include}”" if log.include else "", "bold $accent"),
        Field(2, f"out “{log.exclude}”" if log.exclude else "", "bold $accent"),
        Field(6, f"hidden: {', '.join(hidden)}" if hidden else "", "$quiet"),
        Field(3, f"search “{pattern}”" if pattern else "", "bold"),
        Field(2, log.matches.text if pattern else "", "bold"),
        Field(1, found, "bold $accent"),
    ]


def nothing_found(what: str) -> str:
    """What a search that found nothing says."""
    return "no error" if what == "error" else "no match"


class LogScreen(EagleScreen):
    """The log and nothing else."""

    KIND = "log"
    BINDINGS = bindings_for("log")

    def __init__(self) -> None:
        super().__init__()
        self._pattern = ""
        self._found = ""
        self._pending = 0

    def body(self) -> Iterator[Widget]:
        yield LogHolder(id="log")
        yield Static(id="status")

    def show(self, view: View) -> None:
        """New lines go to the log's view; the status line says what is hidden."""
        super().show(view)
        self.query_one("#log", LogHolder).show(view)
        log = self.log_view
        if log is not None:
            log.when_empty = self._when_empty(view)
            if self.focused is None:
                log.focus()
        self.query_one("#status", Static).update(self._status(log))

    @property
    def log_view(self) -> LogView | None:
        """The log's view, None while there is no log."""
        return self.query_one("#log", LogHolder).log_view

    @property
    def own_facts(self) -> frozenset[str]:
        """Whether something is searched for or hidden."""
        facts = set(super().own_facts)
        if self._pattern:
            facts.add("search")
        log = self.log_view
        if log is not None and (log.include or log.exclude or log.level != LEVELS[0]):
            facts.add("filtered")
        return frozenset(facts)

    def _when_empty(self, view: View) -> str:
        names = ("log.clear",) if "filtered" in self.own_facts else ("log.polls", "log.bars")
        keys = " or ".join(first_key(name, view.settings.keys) for name in names)
        return f"No line passes what is hidden and filtered; {keys} shows more."

    def _status(self, log: LogView | None) -> Content:
        width = max(20, self.size.width - 2)
        if log is None:
            return Content("")
        store = log.store
        return pack(
            status_fields(log, store.end - store.first, self._pending, self._pattern, self._found),
            width,
        )

    @on(LogView.Pending)
    def _waiting(self, event: LogView.Pending) -> None:
        self._pending = event.count
        self.refresh_view()

    @on(LogView.Found)
    def _searched(self, event: LogView.Found) -> None:
        if event.line is None:
            self._found = nothing_found(event.what)
        else:
            self._found = "from the other end" if event.wrapped else ""
        self.refresh_view()

    @on(LogView.Counted)
    def _counted(self) -> None:
        self.query_one("#status", Static).update(self._status(self.log_view))

    # --- actions -------------------------------------------------------------------------------

    def _ask(self, title: str, value: str, then: Callable[[str], None]) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                then(text)
                self._changed()

        prompt = Prompt(
            title, "a regular expression; empty takes it back", value, bad_pattern, bottom=True
        )
        self.app.push_screen(prompt, answered)

    def _changed(self) -> None:
        self._found = ""
        self.refresh_bindings()
        self.refresh_view()

    def action_search(self) -> None:
        """Ask what to find."""

        def find(text: str) -> None:
            self._pattern = text
            if self.log_view is not None:
                self.log_view.search(text)

        self._ask("search", self._pattern, find)

    def action_include(self) -> None:
        """Ask what to show."""
        log = self.log_view
        if log is not None:
            self._ask(
                "show only lines with", log.include, lambda text: setattr(log, "include", text)
            )

    def action_exclude(self) -> None:
        """Ask what to hide."""
        log = self.log_view
        if log is not None:
            self._ask("hide lines with", log.exclude, lambda text: setattr(log, "exclude", text))

    def _change(self, change: Callable[[LogView], object]) -> None:
        if self.log_view is not None:
            change(self.log_view)
            self._changed()

    def action_clear(self) -> None:
        """Show every line again."""

        def clear(log: LogView) -> None:
            log.include = log.exclude = ""
            log.level = LEVELS[0]

        self._change(clear)

    def action_level(self) -> None:
        """The next level as the lowest shown."""
        self._change(lambda log: setattr(log, "level", next_level(log.level)))

    def action_follow(self) -> None:
        """Stay at the end, or stop."""
        self._change(lambda log: setattr(log, "follow", not log.follow))

    def action_wrap(self) -> None:
        """Wrap long lines, or not."""
        self._change(lambda log: setattr(log, "wrap", not log.wrap))

    def action_polls(self) -> None:
        """Show or hide polls."""
        self._change(lambda log: setattr(log, "show_polls", not log.show_polls))

    def action_bars(self) -> None:
        """Show or hide steps of progress bars."""
        self._change(lambda log: setattr(log, "show_bars", not log.show_bars))

    def action_next_match(self) -> None:
        """The next match."""
        self._change(lambda log: log.next_match())

    def action_previous_match(self) -> None:
        """The match before."""
        self._change(lambda log: log.previous_match())

    def action_next_error(self) -> None:
        """The next error."""
        self._change(lambda log: log.next_error())

    def action_previous_error(self) -> None:
        """The error before."""
        self._change(lambda log: log.previous_error())

    @work(exclusive=True, group="landmarks")
    async def action_phase(self) -> None:
        """Choose a landmark and go there."""
        log = self.log_view
        if log is None:
            return
        number = await self.app.push_screen_wait(PhaseList(await landmarks_in(log.store)))
        if number is not None:
            log.go_to(number)
            self._changed()

    def action_copy(self) -> None:
        """Copy the marked line, and say so."""
        log = self.log_view
        if log is None:
            return
        text = log.current_line
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied {len(text)} characters of one line.", timeout=2)


def bad_pattern(text: str) -> str:
    """Why this is no regular expression, or ""."""
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        return f"This is no regular expression: {error}."
    if may_never_end(text):
        return "One repeat in another may take for ever on a long line; write it with one of them."
    return ""
