"""One server of a list, in three lines."""

from __future__ import annotations

from textual.content import Content

from eagletui.model.eta import eta
from eagletui.model.server import LogPlace
from eagletui.model.state import ServerState
from eagletui.tui import words
from eagletui.tui.draw import Field, fit, fit_middle, line, pack, page
from eagletui.tui.verdict import MARKS, Verdict, verdicts
from eagletui.tui.view import View
from eagletui.tui.widgets.header import short_model

LOG_WORDS = {
    "file": "file",
    "tee": "file, through tee",
    "journal": "journald unit",
    "docker": "docker logs",
    "tmux": "tmux pane",
    "terminal": "a terminal: cannot be read",
    "none": "not found",
    "given": "given by you",
}


def card(server: ServerState, view: View, width: int) -> Content:
    """Model and what it does; who runs it since when; where its log goes."""
    process = server.process
    seen = view.state
    alone = type(seen)(servers={process.key: server}, selected=process.key)
    verdict = verdicts(alone, view.now, eta(server, view.now).remaining)[0]
    glyph, word, style = MARKS[verdict.level]
    if not (server.ladder or server.ready or server.metrics.at or server.gone_at):
        # Nobody looked closer yet: its process is there, that is all.
        verdict, glyph, word, style = Verdict("ok", ""), "●", "RUNNING", "bold"
    up = view.now - process.started_at if process.started_at is not None else None
    version = server.version or process.version
    first = pack(
        [
            Field(0, f"{glyph} {verdict.word or word}", style),
            Field(0, short_model(process.model) or process.key, "bold"),
            Field(1, f"port {process.port}" if process.port else ""),
            Field(2, server.speculative.short, "$accent"),
        ],
        width,
    )
    second = pack(
        [
            Field(0, f"pid {process.pid}" if process.pid else "given by you"),
            Field(1, f"user {process.user}" if process.user else ""),
            Field(1, f"up {words.seconds(up)}" if up is not None else ""),
            Field(2, f"SGLang {version}" if version else ""),
            Field(3, f"TP{process.tp_size}" if process.tp_size > 1 else ""),
            Field(4, f"GPUs {', '.join(map(str, process.gpus))}" if process.gpus else ""),
            Field(3, f"in {process.container}" if process.container else ""),
        ],
        width - 2,
    )
    text = verdict.text if verdict.level != "ok" else ""
    lines = [
        first,
        line("  ", second),
        line("  ", (fit(log_words(process.log, width - 8), width - 2).rstrip(), "$quiet")),
    ]
    if text:
        lines.insert(1, line("  ", text).truncate(width, ellipsis=True))
    if process.hidden:
        lines.append(line("  ", (process.hidden, "$warning")).truncate(width, ellipsis=True))
    lines.append(Content(""))
    return page(lines)


def log_words(place: LogPlace, width: int) -> str:
    """`log /var/log/sglang.log (file)`."""
    how = LOG_WORDS[place.kind]
    if not place.target:
        return f"log {how}" + (f": {place.detail}" if place.detail else "")
    return f"log {fit_middle(place.target, max(10, width - len(how) - 7))} ({how})"
