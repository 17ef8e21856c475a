"""Two lines on top of every screen: which host, how the connection is, which server."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size

from eagletui.model.state import ServerState
from eagletui.tui import words
from eagletui.tui.draw import Field, between, pack, page
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

# Link → glyph, word, style.
LINKS: dict[str, tuple[str, str, str]] = {
    "connecting": ("◌", "connecting", "bold $warning"),
    "connected": ("●", "connected", "bold $success"),
    "lost": ("✖", "connection lost", "bold $error"),
    "failed": ("✖", "not connected", "bold $error"),
    "closed": ("○", "closed", "bold $warning"),
    "": ("◌", "starting", "bold"),
}


class HeaderBar(Panel):
    """Host, link, round trip, interval; model, version, speculation, uptime."""

    def draw(self, view: View, size: Size) -> Content:
        width = max(10, size.width)
        right = pack(_right(view), width // 2)
        left = pack(_host(view), width - right.cell_length - 2)
        top = between(left, right, width)
        if view.server is None:
            return page([top, pack([Field(0, _target(view))], width)])
        return page([top, pack(server_fields(view, view.server), width)])


def _target(view: View) -> str:
    return "no server selected" if view.state.looked else "looking for servers"


def _host(view: View) -> list[Field]:
    state = view.state
    link = state.link.link if state.link else ""
    glyph, word, style = LINKS[link]
    host = state.host
    name = view.target or (host.name if host else "")
    trip = host.round_trip if host and state.connected else None
    return [
        Field(6, "eagletui", "bold"),
        Field(0, name or "this machine", "bold $primary"),
        Field(1, f"{glyph} {word}", style),
        Field(5, words.milliseconds(trip * 1000) if trip is not None else "", "$quiet"),
        Field(7, f"user {host.user}" if host and host.user else "", "$quiet"),
    ]


def _right(view: View) -> list[Field]:
    return [
        Field(1, _paused(view), "bold $warning"),
        Field(2, "read-only" if view.permission().refusal else "", "bold"),
        Field(4, f"window {view.window}" if view.server else "", "$quiet"),
        Field(1, _bench(view), "bold $accent"),
        Field(2, view.recording, "bold $error"),
        Field(3, f"every {words.interval(view.interval)}" if view.replay is None else "", "$quiet"),
    ]


def _bench(view: View) -> str:
    going_on = view.bench is not None and not view.bench.over
    return view.bench.short if view.bench is not None and going_on else ""


def _paused(view: View) -> str:
    if view.paused_at is None:
        return ""
    ago = view.now - view.paused_at
    return f"‖ paused, {words.clock(ago)} ago" if ago >= 1 else "‖ paused"


def server_fields(view: View, server: ServerState) -> list[Field]:
    """Model, version, speculation and so on, for one line."""
    process = server.process
    up = view.now - process.started_at if process.started_at is not None else None
    version = server.version or process.version
    return [
        Field(0, short_model(process.model) or process.key, "bold"),
        Field(1, server.speculative.short, "bold $accent"),
        Field(2, f"SGLang {version}" if version else ""),
        Field(4, f"TP{process.tp_size}" if process.tp_size > 1 else ""),
        Field(4, f"DP{process.dp_size}" if process.dp_size > 1 else ""),
        Field(5, f"port {process.port}" if process.port else "", "$quiet"),
        Field(6, f"pid {process.pid}" if process.pid else "", "$quiet"),
        Field(3, f"up {words.seconds(up)}" if up is not None and server.alive else "", "$quiet"),
    ]


def short_model(path: str) -> str:
    """`/models/Kimi-K2.5` is `Kimi-K2.5`; `moonshotai/Kimi-K2.5` stays."""
    if path.count("/") > 1 or path.startswith("/"):
        return path.rstrip("/").rsplit("/", 1)[-1]
    return path
