"""The current values of a chart in one line, and as short texts for its border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from eagletui.tui.widgets.plot import Row


class Reading(NamedTuple):
    """The latest value of one line. `named` says that even the first needs its name beside it."""

    name: str
    text: str
    glyph: str
    role: int
    stale: bool
    named: bool


class Headline(NamedTuple):
    """`value` is the first reading alone, `short` has the note too, `note` is only that."""

    value: str
    value_role: int
    pieces: tuple[tuple[tuple[str, int], ...], ...]
    note: str
    short: str

    def row(self, width: int) -> Row:
        """As many whole readings as fit; the first is cut rather than left out."""
        if width < sum(cell_len(text) for text, _ in self.pieces[0]):
            short = self.value if cell_len(self.value) <= width else self.value.split(" ")[0]
            return clipped([(short, self.value_role)], width)
        row: Row = []
        used = 0
        for piece in self.pieces:
            gap = "   " if row else ""
            length = len(gap) + sum(cell_len(text) for text, _ in piece)
            if used + length > width:
                break
            row += [(gap, 0), *piece] if gap else list(piece)
            used += length
        return row


def clipped(row: Row, width: int) -> Row:
    """The row cut to `width` cells."""
    out: Row = []
    for text, role in row:
        length = cell_len(text)
        if length > width:
            text, length = set_cell_size(text, width), width
        out.append((text, role))
        width -= length
        if width <= 0:
            break
    return out


def headline(readings: Sequence[Reading], note: str, *, value_role: int, dim_role: int) -> Headline:
    """Compose the readings; the first is the big one."""
    if not readings:
        return Headline("–", dim_role, ((("–", dim_role),),), note, _join("–", note))
    first = readings[0]
    first_role = dim_role if first.stale else value_role
    pieces: list[tuple[tuple[str, int], ...]] = []
    key: tuple[tuple[str, int], ...]
    text: tuple[tuple[str, int], ...]
    for index, reading in enumerate(readings):
        role = dim_role if reading.stale else value_role if index == 0 else 0
        stale = " stale" if reading.stale else ""
        key = ((f"{reading.glyph} ", reading.role),) if len(readings) > 1 else ()
        if index:
            text = ((f"{reading.name} {reading.text}{stale}", role),)
        else:
            name = f" {reading.name}" if reading.named else ""
            text = ((reading.text, role), (name + stale, dim_role if stale else 0))
        pieces.append(key + text)
    stale_note = _join("stale", note) if first.stale else note
    return Headline(
        first.text, first_role, tuple(pieces), stale_note, _join(first.text, stale_note)
    )


def _join(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
