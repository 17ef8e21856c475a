"""Screens that are one long text: details, help, legend."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from eagletui.tui.bindings import bindings_for
from eagletui.tui.help_text import details_page, help_page, legend_page
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.view import View


class PageScreen(EagleScreen):
    """A text that scrolls, made new when the view changes it."""

    TITLE_TEXT = ""

    def body(self) -> Iterator[Widget]:
        with VerticalScroll(id="page") as scroll:
            scroll.border_title = self.TITLE_TEXT
            yield Static(id="text")

    def text(self, view: View, width: int) -> Content:
        """The whole text in this width."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """The page takes the keys that scroll."""
        super().on_mount()
        self._last = Content("")
        self.query_one("#page").focus()

    def show(self, view: View) -> None:
        """Make the text, and replace what is shown only if it differs."""
        super().show(view)
        width = self.query_one("#page").scrollable_content_region.width
        drawn = self.text(view, max(20, width or self.size.width - 4))
        if not drawn.is_same(self._last):
            self._last = drawn
            self.query_one("#text", Static).update(drawn)


class HelpScreen(PageScreen):
    """Keys of the screen below, from the table of actions."""

    KIND = "help"
    TITLE_TEXT = "keys"
    BINDINGS = bindings_for("help")

    def __init__(self, about: str, facts: frozenset[str]) -> None:
        super().__init__()
        self._about, self._facts = about, facts

    def text(self, view: View, width: int) -> Content:
        return help_page(self._about, view.settings.keys, self._facts, width)


class LegendScreen(PageScreen):
    """What each number means."""

    KIND = "legend"
    TITLE_TEXT = "what the numbers mean"
    BINDINGS = bindings_for("legend")

    def text(self, view: View, width: int) -> Content:  # noqa: ARG002
        return legend_page(width)


class DetailsScreen(PageScreen):
    """Everything known of the selected server, searchable."""

    KIND = "details"
    TITLE_TEXT = "details"
    BINDINGS = bindings_for("details")

    def body(self) -> Iterator[Widget]:
        yield Input(placeholder="show only lines that contain …", id="query", classes="-off")
        yield from super().body()

    def text(self, view: View, width: int) -> Content:
        server = view.server
        if server is None:
            return Content("no server selected")
        return details_page(view, server, self.query_one("#query", Input).value, width)

    def action_search(self) -> None:
        """Type what to look for."""
        query = self.query_one("#query", Input)
        query.remove_class("-off")
        query.focus()

    def action_back(self) -> None:
        """First drop the search, then close."""
        query = self.query_one("#query", Input)
        if query.has_class("-off"):
            super().action_back()
            return
        query.value = ""
        query.add_class("-off")
        self.query_one("#page").focus()

    @on(Input.Changed, "#query")
    def _typed(self) -> None:
        self.refresh_view()

    @on(Input.Submitted, "#query")
    def _done(self) -> None:
        self.query_one("#page").focus()
