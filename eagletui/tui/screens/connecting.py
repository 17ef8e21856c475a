"""The way to the host: what is being done, what went wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from eagletui.model.events import LinkChanged
from eagletui.model.state import State
from eagletui.tui import words
from eagletui.tui.actions import first_key
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import line, page, wrap
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

GLYPHS = {
    "done": ("✔", "$success"),
    "now": ("▶", "bold $primary"),
    "later": ("○", "$quiet"),
    "failed": ("✖", "bold $error"),
}


def steps(state: State) -> list[tuple[str, str, str]]:
    """(status, what, detail) of each step from nothing to a server's log."""
    link = state.link.link if state.link else ""
    detail = state.link.detail if state.link else ""
    reached = state.connected or state.host is not None
    failed = link in ("failed", "lost", "closed")
    host = state.host
    about = (
        " ".join(part for part in (host.kernel, f"user {host.user}" if host.user else "") if part)
        if host
        else ""
    )
    connect = "failed" if failed else "done" if state.connected else "now"
    look = "later" if not state.connected else "done" if state.host else "now"
    find = "later" if look != "done" else "done" if state.looked else "now"
    open_log = "later" if find != "done" else "now"
    return [
        (connect, "connect to the host", "" if failed else detail),
        (look if not failed or not reached else "later", "read clock and system", about),
        (
            find,
            "look for SGLang servers",
            words.count(len(state.servers), "server") if state.looked else "",
        ),
        (open_log, "open log and metrics", ""),
    ]


class Steps(Panel):
    """The steps, and the error in full."""

    def draw(self, view: View, size: Size) -> Content:
        width = max(20, min(100, size.width))
        lines: list[Content] = []
        for status, what, detail in steps(view.state):
            glyph, style = GLYPHS[status]
            lines.append(
                line(
                    (f"{glyph} ", style),
                    (what, "$quiet" if status == "later" else ""),
                    ("  " + detail if detail else "", "$quiet"),
                ).truncate(width, ellipsis=True)
            )
        lines += error_lines(view, width)
        return page(lines)


def error_lines(view: View, width: int) -> list[Content]:
    """What happened, what it means, what to do, and when the next try is."""
    link = view.state.link
    if link is None or link.link in ("connecting", "connected"):
        return []
    lines = [Content(""), *_paragraphs(link.detail, "bold $error", width), _next_try(view, link)]
    for text, style in ((link.meaning, ""), (link.advice, "bold")):
        if text:
            lines += [Content(""), *_paragraphs(text, style, width)]
    return lines


def _paragraphs(text: str, style: str, width: int) -> list[Content]:
    return [line((part, style)) for whole in text.splitlines() for part in wrap(whole, width)]


def _next_try(view: View, link: LinkChanged) -> Content:
    key = (first_key("link.retry", view.settings.keys), "bold $accent")
    if link.retry_at is None:
        return line("press ", key, " to try again")
    wait = words.seconds(max(0.0, round(link.retry_at - view.now)))
    tried = f"try {link.attempt} failed; " if link.attempt else ""
    return line(f"{tried}next try in ", (wait, "bold"), ", or press ", key, " to try now")


class ConnectingScreen(EagleScreen):
    """Until a server is selected."""

    KIND = "connecting"
    BINDINGS = bindings_for("connecting")

    def body(self) -> Iterator[Widget]:
        yield Steps("connecting", id="steps")
