"""Small pieces of styled text. Styles are theme variables, so a theme switch needs no redrawing."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual.content import Content

GOOD = "bold $success"
QUIET = "$quiet"

NOTHING = "–"

Piece = str | tuple[str, str] | Content


def line(*pieces: Piece) -> Content:
    """One line from text, (text, style) pairs and other lines."""
    return Content.assemble(*pieces)


def page(lines: Iterable[Content]) -> Content:
    """Lines below each other."""
    return Content("\n").join(lines)


def fit(text: str, width: int, align: Literal["left", "right"] = "left") -> str:
    """The text in exactly `width` cells; what is too long ends in `…`."""
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    pad = " " * (width - length)
    return pad + text if align == "right" else text + pad


def wrap(text: str, width: int) -> list[str]:
    """The words in lines of at most `width`; at least one line."""
    return textwrap.wrap(text, max(10, width)) or [""]


def fit_middle(text: str, width: int) -> str:
    """A path in at most `width` cells: the end says more than the beginning."""
    if cell_len(text) <= width:
        return text
    keep = max(1, width - 1)
    tail = text
    while cell_len(tail) > keep:
        tail = tail[1:]
    return "…" + tail


def bar(fraction: float | None, width: int, ascii_only: bool = False, *, thin: bool = False) -> str:
    """A bar of exactly `width` cells whose filled part differs in shape, not only in colour."""
    full, empty = ("#", ".") if ascii_only else ("━", "─") if thin else ("█", "░")
    if fraction is None:
        return empty * max(0, width)
    filled = round(max(0.0, min(1.0, fraction)) * width)
    if fraction > 0.0 and filled == 0:
        filled = 1
    if fraction < 1.0 and filled == width:
        filled = width - 1
    return full * filled + empty * (width - filled)


class Field(NamedTuple):
    """A piece of a one-line summary. Lower `rank` stays longer when room is short."""

    rank: int
    text: str
    style: str = ""


def pack(fields: Sequence[Field], width: int, gap: str = "  ") -> Content:
    """As many fields in their order as fit in `width`, dropping the least important first."""
    kept = [field for field in fields if field.text]
    while len(kept) > 1 and sum(cell_len(f.text) + len(gap) for f in kept) - len(gap) > width:
        worst = max(range(len(kept)), key=lambda index: kept[index].rank)
        del kept[worst]
    pieces: list[Piece] = []
    for index, field in enumerate(kept):
        if index:
            pieces.append(gap)
        pieces.append((field.text, field.style))
    return line(*pieces).truncate(max(1, width), ellipsis=True) if pieces else Content("")


def between(left: Content, right: Content, width: int) -> Content:
    """Left and right on one line of `width`; the right one goes where there is no room."""
    room = width - left.cell_length - right.cell_length
    if room < 1:
        return left.truncate(max(1, width), ellipsis=True)
    return line(left, " " * room, right)
