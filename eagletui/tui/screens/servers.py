"""The servers of a host: choose one, or say where a log or metrics are."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from eagletui.tui import words
from eagletui.tui.actions import first_key
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import line, page, wrap
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.view import View
from eagletui.tui.widgets.cards import card
from eagletui.tui.widgets.options import Options
from eagletui.tui.widgets.panel import Panel


class Nothing(Panel):
    """No server: what was looked at, and what can be done."""

    def draw(self, view: View, size: Size) -> Content:
        if view.state.servers:
            return Content("")
        width = max(20, min(100, size.width))
        changed = view.settings.keys
        log_key = first_key("servers.log", changed)
        url_key = first_key("servers.metrics", changed)
        lines = [line(("No SGLang server was found on this host.", "bold")), Content("")]
        if view.state.looked_at:
            lines.append(line(("Looked at:", "$quiet")))
            for place in view.state.looked_at:
                first, *rest = wrap(place, width - 2)
                lines.append(line(("· ", "$quiet"), first))
                lines += [line("  ", part) for part in rest]
            lines.append(Content(""))
        lines += [
            line((log_key, "bold $accent"), "  follow a log file by its path on the host"),
            line(
                (url_key, "bold $accent"), "  read metrics from an address, as seen from the host"
            ),
            Content(""),
            line(("The look is repeated; a server that starts appears by itself.", "$quiet")),
        ]
        return page(lines)


class ServersScreen(EagleScreen):
    """Several servers, or none."""

    KIND = "servers"
    BINDINGS = bindings_for("servers")

    def body(self) -> Iterator[Widget]:
        yield Options(id="cards")
        yield Nothing("no server found", id="nothing")

    @property
    def own_facts(self) -> frozenset[str]:
        """Whether a server is watched that one can go back to."""
        watched = bool(self.eagle.session.state.selected)
        return super().own_facts | (frozenset({"back"}) if watched else frozenset())

    def show(self, view: View) -> None:
        """Cards keep their place; only what changed is drawn."""
        super().show(view)
        cards = self.query_one("#cards", OptionList)
        some = bool(view.state.servers)
        cards.display = some
        self.query_one("#nothing").display = not some
        if not some:
            return
        width = max(30, cards.scrollable_content_region.width or self.size.width - 4) - 2
        cards.border_title = (
            f"{words.count(len(view.state.servers), 'server')} on {view.target or 'this host'}"
        )
        known = [option.id for option in cards.options]
        if known != list(view.state.servers):
            marked = cards.highlighted
            cards.clear_options()
            for key, server in view.state.servers.items():
                cards.add_option(Option(card(server, view, width), id=key))
            cards.highlighted = marked if marked is not None else 0
            cards.focus()
            return
        for key, server in view.state.servers.items():
            drawn = card(server, view, width)
            prompt = cards.get_option(key).prompt
            if not isinstance(prompt, Content) or not prompt.is_same(drawn):
                cards.replace_option_prompt(key, drawn)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self.eagle.select(event.option_id)

    def action_open(self) -> None:
        """Watch the marked server."""
        self.query_one("#cards", OptionList).action_select()

    def action_ask_log(self) -> None:
        """Ask for a log file."""
        self.app.push_screen(
            Prompt("Follow a log file", "path on the host; a glob takes the newest match"),
            lambda path: self.eagle.feed_log(path) if path else None,
        )

    def action_ask_metrics(self) -> None:
        """Ask for a metrics address."""
        self.app.push_screen(
            Prompt("Read metrics", "http://127.0.0.1:30000, as seen from the host"),
            lambda url: self.eagle.feed_metrics(url) if url else None,
        )
