"""One log line made ready for the screen: safe text, coloured by level and rank."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

from eagletui.model.loglevels import STAMP, Level

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


class Painted(NamedTuple):
    """A line in its colours. `plain` says that every character takes one cell."""

    segments: list[Segment]
    width: int
    plain: bool

    def cut(self, left: int, room: int) -> list[Segment]:
        """At most `room` cells of the line from the column `left` on.

        A wide character that an edge goes through leaves a blank.
        """
        if left == 0 and self.width <= room:
            return self.segments
        if not self.plain:
            return _cut_graphemes(self.segments, left, left + room)
        parts: list[Segment] = []
        begin = -left
        for text, style, _ in self.segments:
            part = text[max(0, -begin) : max(0, room - begin)]
            begin += len(text)
            if part:
                parts.append(Segment(part, style))
        return parts

    def rows(self, room: int, limit: int) -> list[list[Segment]]:
        """The whole line in rows of at most `room` cells; at most `limit` of them."""
        if room <= 0:
            return []
        if self.plain:
            shown = min(self.width, room * limit)
            rows = [self.cut(at, room) for at in range(0, shown, room)]
        else:
            rows = list(islice(_wrap_graphemes(self.segments, room), limit + 1))
            shown = self.width
            if len(rows) > limit:
                del rows[limit:]
                shown = sum(cells(row) for row in rows)
        if self.width > shown:
            note = f"… (+{self.width - shown} cells)"[:room]
            last = Painted(rows[-1], cells(rows[-1]), self.plain)
            rows[-1] = [*last.cut(0, room - len(note)), Segment(note)]
        return rows or [[]]


def cells(segments: Iterable[Segment]) -> int:
    """How many cells these take together."""
    return sum(cell_len(segment.text) for segment in segments)


def _cut_graphemes(segments: Sequence[Segment], left: int, right: int) -> list[Segment]:
    parts: list[Segment] = []
    at = 0
    for text, style, _ in segments:
        if at >= right:
            break
        kept = ""
        for first, past, width in split_graphemes(text)[0]:
            inside = min(at + width, right) - max(at, left)
            if inside == width and (width or at > left):
                kept += text[first:past]
            elif inside > 0:
                kept += " " * inside
            at += width
        if kept:
            parts.append(Segment(kept, style))
    return parts


def _wrap_graphemes(segments: Sequence[Segment], room: int) -> Iterator[list[Segment]]:
    row: list[Segment] = []
    taken = 0
    for text, style, _ in segments:
        begin = 0
        for first, past, width in split_graphemes(text)[0]:
            if taken and taken + width > room:
                if first > begin:
                    row.append(Segment(text[begin:first], style))
                yield row
                row, taken, begin = [], 0, first
            if width > room:
                # Not even alone in a row is there room for it.
                row.append(Segment(" " * room, style))
                begin, width = past, room
            taken += width
        if begin < len(text):
            row.append(Segment(text[begin:], style))
    if row:
        yield row


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
    return Painted(segments, len(text) if plain else cells(segments), plain)


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
