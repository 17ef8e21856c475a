"""One log line made ready for the screen: safe text, coloured by level and rank."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from eagletui.model.loglevels import STAMP, Level
from eagletui.model.secrets import mask, may_hold_secret
from eagletui.model.text import visible_bytes

RANK_COLOURS = 4
GUTTER = 2

COMPONENTS = (
    *(f"log--{name}" for name in ("error", "warning", "info", "debug", "stamp", "rank", "match")),
    *(f"log--{name}" for name in ("gap", "continuation", "current", "overlay")),
    *(f"log--rank-{number}" for number in range(RANK_COLOURS)),
)

# What stands in column 0, so that nothing depends on colour alone.
GLYPHS: dict[Level, str] = {"error": "✖ ", "warning": "▲ "}

_NUMBER = re.compile(r"\d+")
_STAMP = re.compile(STAMP.pattern.decode())

Styler = Callable[[str], Style]


def safe_text(line: bytes) -> str:
    """A line without anything that could harm the terminal or give a secret away."""
    text = visible_bytes(line)
    return mask(text) if may_hold_secret(line) else text


def line_strip(
    text: str,
    level: Level,
    style: Styler,
    *,
    continued: bool = False,
    pattern: re.Pattern[str] | None = None,
) -> Strip:
    """The text in its colours, with every match of `pattern` marked."""
    body = style(f"log--{level}")
    if continued:
        body += style("log--continuation")
    pieces: list[tuple[str, Style]] = []
    stamp = _STAMP.match(text)
    if stamp:
        rank = stamp[2].strip()
        end = stamp.end()
        pieces.append((f"[{stamp[1]}", style("log--stamp")))
        if rank:
            number = sum(int(digits) for digits in _NUMBER.findall(rank)) % RANK_COLOURS
            pieces.append((f" {rank}", style("log--rank") + style(f"log--rank-{number}")))
        pieces.append((text[stamp.end(2) : end], style("log--stamp")))
        pieces.append((text[end:], body))
    else:
        pieces.append((text, body))
    if pattern is not None and pattern.search(text):
        pieces = _marked(pieces, text, pattern, style("log--match"))
    return Strip([Segment(part, look) for part, look in pieces if part])


def gap_strip(text: str, style: Styler) -> Strip:
    """A line of our own, about what is missing here."""
    return Strip([Segment(f"╌╌ {text} ╌╌", style("log--gap"))])


def _marked(
    pieces: list[tuple[str, Style]], text: str, pattern: re.Pattern[str], look: Style
) -> list[tuple[str, Style]]:
    spans = [match.span() for match in pattern.finditer(text) if match.end() > match.start()]
    out: list[tuple[str, Style]] = []
    begin = 0
    for part, style in pieces:
        end = begin + len(part)
        at = begin
        for first, past in spans:
            if past <= at or first >= end:
                continue
            out.append((text[at : max(at, first)], style))
            out.append((text[max(at, first) : min(past, end)], style + look))
            at = min(past, end)
        out.append((text[at:end], style))
        begin = end
    return out


def wrapped(strip: Strip, width: int, limit: int) -> list[Strip]:
    """The strip cut into rows of `width` cells, at most `limit` of them."""
    length = strip.cell_length
    if length <= width or width <= 0:
        return [strip]
    rows = [strip.crop(at, at + width) for at in range(0, min(length, width * limit), width)]
    if length > width * limit:
        note = f"… (+{length - width * limit} cells)"
        rows[-1] = Strip([*rows[-1].crop(0, width - len(note)), Segment(note)])
    return rows
