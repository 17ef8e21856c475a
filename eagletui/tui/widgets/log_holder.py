"""The place of a log on a screen: its view, or why there is none."""

from __future__ import annotations

from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from eagletui.model.logstore import LogStore
from eagletui.tui.draw import line, page
from eagletui.tui.view import View
from eagletui.tui.widgets.cards import log_words
from eagletui.tui.widgets.log_view import LogView

WHOLE = 4096
"""Cells: no path is cut, it is wrapped."""


class LogHolder(Container):
    """Shows the selected server's log; another server's takes its place when selected."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._store: LogStore | None = None
        self._log_view: LogView | None = None
        self._seen: int | None = None
        self._why = Content("")

    @property
    def log_view(self) -> LogView | None:
        """The log's view, None while there is no log."""
        return self._log_view

    def show(self, view: View) -> None:
        """Tell the view of new lines; make a new one for another log."""
        store = view.log
        if store is None:
            self._without(view)
            return
        if store is not self._store:
            before, self._log_view = self._log_view, LogView(store)
            if before is not None:
                self._log_view.look_like(before)
            self._store, self._seen = store, None
            self.remove_children()
            self.mount(self._log_view)
        seen = store.version
        if seen != self._seen and self._log_view is not None:
            self._seen = seen
            self._log_view.extended()
        if self._log_view is not None:
            self._log_view.keep_up()

    def _without(self, view: View) -> None:
        why = why_no_log(view)
        if self._store is None and why.is_same(self._why):
            return
        self._store, self._log_view, self._why = None, None, why
        self.remove_children()
        self.mount(Static(why))


def why_no_log(view: View) -> Content:
    """What is known about a log that cannot be shown."""
    server = view.server
    if server is None:
        return line(("no server selected", "$quiet"))
    log = server.log
    place = log.place or server.process.log
    if not place.readable:
        what = log.detail or place.detail or "nothing was read of the log yet"
    else:
        what = log.detail or f"reading the {log_words(place, WHOLE)}"
    return page(
        [line(what), line((log.advice, "bold"))] if log.advice else [line((what, "$quiet"))]
    )
