"""One log line made ready for the screen: safe text, coloured by level and rank."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from rich.cells import cell_len
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
    # Escapes may stand inside a name or a value: what is shown is what is judged.
    seen = line if b"\x1b" not in line else text.encode()
    return mask(text) if may_hold_secret(seen) else text


class Painted(NamedTuple):
    """A line in its colours. `plain` says that every character takes one cell."""

    segments: list[Segment]
    width: int
    plain: bool

    def cut(self, left: int, room: int) -> Strip:
        """Exactly `room` cells of the line from the column `left` on."""
        if not self.plain:
            return Strip(self.segments, self.width).crop_extend(left, left + room, None)
        if left == 0 and self.width <= room:
            pad = room - self.width
            return Strip([*self.segments, Segment(" " * pad)] if pad else self.segments, room)
        parts: list[Segment] = []
        begin = -left
        for text, style, _ in self.segments:
            part = text[max(0, -begin) : max(0, room - begin)]
            begin += len(text)
            if part:
                parts.append(Segment(part, style))
        missing = room - sum(len(part.text) for part in parts)
        if missing > 0:
            parts.append(Segment(" " * missing))
        return Strip(parts, room)

    def rows(self, room: int, limit: int) -> list[Strip]:
        """The whole line in rows of `room` cells, at most `limit` of them."""
        if room <= 0:
            return []
        shown = min(self.width, room * limit)
        rows = [self.cut(at, room) for at in range(0, shown, room)] or [self.cut(0, room)]
        if self.width > shown:
            note = f"… (+{self.width - shown} cells)"[:room]
            rows[-1] = Strip([*rows[-1].crop(0, room - len(note)), Segment(note)], room)
        return rows


def paint(
    text: str,
    level: Level,
    style: Styler,
    *,
    continued: bool = False,
    pattern: re.Pattern[str] | None = None,
) -> Painted:
    """The text in its colours, with every match of `pattern` marked."""
    body = style(f"log--{level}")
    if continued:
        body += style("log--continuation").without_color
    pieces: list[tuple[str, Style]]
    stamp = _STAMP.match(text)
    if stamp:
        rank = stamp[2].strip()
        faint = style("log--stamp")
        pieces = [(f"[{stamp[1]}", faint)]
        if rank:
            number = sum(int(digits) for digits in _NUMBER.findall(rank)) % RANK_COLOURS
            pieces.append((f" {rank}", style("log--rank") + style(f"log--rank-{number}")))
        pieces += [(text[stamp.end(2) : stamp.end()], faint), (text[stamp.end() :], body)]
    else:
        pieces = [(text, body)]
    if pattern is not None and pattern.search(text):
        pieces = _marked(pieces, text, pattern, style("log--match"))
    plain = text.isascii()
    segments = [Segment(part, look) for part, look in pieces if part]
    return Painted(segments, len(text) if plain else cell_len(text), plain)


def paint_gap(text: str, style: Styler) -> Painted:
    """A line of our own, about what is missing here."""
    words = f"╌╌ {text} ╌╌"
    return Painted([Segment(words, style("log--gap"))], cell_len(words), False)


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
