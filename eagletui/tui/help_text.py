"""Text of the help, the legend and the details, as plain functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from textual.content import Content

from eagletui.model.state import ServerState
from eagletui.tui import words
from eagletui.tui.actions import actions_of, key_shown, keys_of
from eagletui.tui.draw import fit, line, page, wrap
from eagletui.tui.meanings import MARKS_OF, MEANINGS
from eagletui.tui.situation import is_valid
from eagletui.tui.view import View
from eagletui.tui.widgets.cards import log_words


def help_page(
    screen: str, changed: Mapping[str, str], facts: frozenset[str], width: int
) -> Content:
    """Every action of a screen with its keys, in groups; what is not possible now is quiet."""
    lines: list[Content] = []
    group = ""
    wide = width >= 68
    for action in actions_of(screen):
        if action.group != group:
            group = action.group
            if lines:
                lines.append(Content(""))
            lines.append(line((group, "bold $accent")))
        keys = " ".join(key_shown(key) for key in keys_of(action, changed)) or "–"
        now = is_valid(action, facts)
        head = (
            (fit(keys, 9), "bold" if now else "$quiet"),
            (
                fit(action.name, 16),
                "" if now else "$quiet",
            ),
        )
        text = action.help if now else f"{action.help} (not now)"
        identity = action.id if width >= 110 else ""
        indent = 27 if wide else 4
        wrapped = wrap(text, width - indent - (len(identity) and 18))
        if wide:
            first = fit(wrapped[0], width - indent - 18) if identity else wrapped[0]
            lines.append(line("  ", *head, (first, "$quiet"), (identity, "$quiet")))
            wrapped = wrapped[1:]
        else:
            lines.append(line("  ", *head))
        lines += [line(" " * indent, (part, "$quiet")) for part in wrapped]
    for name, means in MARKS_OF.get(screen, ()):
        if name == MARKS_OF[screen][0][0]:
            lines += [Content(""), line(("Marks", "bold $accent"))]
        first, *rest = wrap(means, width - 27)
        lines.append(line("  ", (fit(name, 25), "bold"), (first, "$quiet")))
        lines += [line(" " * 27, (part, "$quiet")) for part in rest]
    lines += [
        Content(""),
        line(("Keys can be changed in config.toml, by an action's name:", "$quiet")),
        line(('[keys]  "log.search" = "f3"', "$quiet")),
    ]
    return page(lines)


def legend_page(width: int) -> Content:
    """What each number means and where it comes from."""
    lines: list[Content] = []
    for meaning in MEANINGS:
        lines.append(line((meaning.name, "bold $accent"), ("  " + meaning.unit, "$quiet")))
        lines += [line("  ", part) for part in wrap(meaning.means, width - 2)]
        lines += [
            line("  ", (part, "$quiet")) for part in wrap("From: " + meaning.source, width - 2)
        ]
        lines.append(Content(""))
    return page(lines[:-1])


def details_lines(view: View, server: ServerState) -> list[tuple[str, list[tuple[str, str]]]]:
    """Sections of (name, value); everything here was masked where it was read."""
    process, host = server.process, view.state.host
    args = server.args or {}
    sections: list[tuple[str, list[tuple[str, str]]]] = [
        (
            "Server",
            _known(
                ("process", f"{process.pid} of {process.user}" if process.pid else "given by you"),
                ("model", process.model),
                ("draft model", server.speculative.draft_model or ""),
                ("speculation", server.speculative.short),
                ("SGLang", server.version or process.version),
                ("Python", process.python),
                ("address", process.url),
                ("folder", process.cwd),
                ("container", process.container),
                ("log", log_words(process.log, 500).removeprefix("log ")),
                ("log found by", process.log.detail),
                ("metrics", _metrics_words(server)),
                ("restarts seen", str(server.restarts) if server.restarts else ""),
                ("could not read", process.hidden),
            ),
        ),
        (
            "Verdicts",
            [
                pair
                for d in server.verdicts
                for pair in _known(
                    (d.severity, d.title),
                    ("", f"line {d.line}: {d.evidence}" if d.line else d.evidence),
                    ("", f"→ {d.advice}" if d.advice else ""),
                )
            ],
        ),
        ("Command line", [("", word) for word in _grouped(process.argv)]),
        ("Environment", sorted(process.environment.items())),
        ("Workers", [(w.rank or "–", f"{w.pid}  {w.title}") for w in process.workers]),
        (
            "Resolved arguments" if args else "Resolved arguments: not known",
            [(name, _plain(value)) for name, value in sorted(args.items())],
        ),
    ]
    if host is not None:
        sections.append(
            (
                "Host",
                _known(
                    ("name", host.name),
                    ("address", host.address),
                    ("user", host.user),
                    ("kernel", host.kernel),
                    (
                        "round trip",
                        words.milliseconds(host.round_trip * 1000) if host.round_trip else "",
                    ),
                    (
                        "clock",
                        f"{host.clock_offset:+.1f} s from this machine's"
                        if abs(host.clock_offset) >= 1
                        else "agrees with this machine's",
                    ),
                ),
            )
        )
    return [section for section in sections if section[1] or section[0].endswith("known")]


def details_page(view: View, server: ServerState, query: str, width: int) -> Content:
    """The sections as text; with a query only the lines that contain it."""
    wanted = query.strip().lower()
    lines: list[Content] = []
    for title, pairs in details_lines(view, server):
        found = [p for p in pairs if not wanted or wanted in f"{p[0]} {p[1]}".lower()]
        if wanted and not found:
            continue
        if lines:
            lines.append(Content(""))
        lines.append(line((title, "bold $accent")))
        name_width = min(34, max((len(name) for name, _ in found), default=0))
        name_width = min(name_width, max(8, width // 3))
        for name, value in found:
            indent = name_width + 4 if name_width else 2
            parts = wrap(value, width - indent) if value else [""]
            label = fit(name, name_width) + "  " if name_width else ""
            lines.append(line("  ", (label, "$quiet"), parts[0]))
            lines += [line(" " * indent, part) for part in parts[1:]]
    if not lines:
        return line((f"nothing here contains “{query}”", "$quiet"))
    return page(lines)


def _known(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if pair[1]]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _metrics_words(server: ServerState) -> str:
    metrics = server.metrics
    if metrics.problem is not None:
        return f"{metrics.problem.problem}: {metrics.problem.detail}".rstrip(": ")
    if server.process.metrics_enabled is False:
        return "off: start the server with --enable-metrics"
    if metrics.reading is not None:
        return f"{metrics.reading.samples:,} samples in {words.milliseconds(metrics.took * 1000)}"
    return "not read yet"


def _grouped(argv: Iterable[str]) -> list[str]:
    """A command line with each flag and its values on one line."""
    lines: list[str] = []
    for word in argv:
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines
