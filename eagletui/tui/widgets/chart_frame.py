"""Axis, tick labels and markers around the bare picture of a chart."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from eagletui.tui.widgets.chart_scale import Axis
from eagletui.tui.widgets.plot import Row


class Glyphs(Enum):
    """Characters of the frame: side, side at a tick, corner, floor, floor at a tick, marker."""

    LINES = ("│", "┤", "└", "─", "┬", "┊")
    ASCII = ("|", "+", "+", "-", "+", ":")


class Mark(NamedTuple):
    """A marker: its column, and the two characters it has on the axis."""

    column: int
    glyph: str
    letter: str


class Frame(NamedTuple):
    """What stands around a picture of `span` seconds; `ticks` count from its left edge."""

    axis: Axis
    span: float
    gutter: int
    ticks: Sequence[tuple[float, str]]
    marks: Sequence[Mark]
    glyphs: Glyphs

    def column(self, moment: float, width: int) -> int:
        """The column of a moment in a picture of this width."""
        share = moment / self.span if self.span > 0 else 1.0
        return min(width - 1, max(0, int(share * width))) if share == share else 0


def frame_rows(
    canvas: Sequence[Row], frame: Frame, width: int, *, axis: int, tick: int, marker: int
) -> list[Row]:
    """The picture's rows with their axis, then the axis row and the row of time labels."""
    side, side_tick, corner, floor, floor_tick, dotted = frame.glyphs.value
    inner = width - frame.gutter - 1
    labels = _value_labels(frame.axis, len(canvas))
    marked = {mark.column: mark for mark in frame.marks}
    rows: list[Row] = []
    for y, cells in enumerate(canvas):
        label = labels.get(y)
        rows.append(
            [
                ((label or "")[: frame.gutter].rjust(frame.gutter), tick),
                (side if label is None else side_tick, axis),
                *(_overlaid(cells, marked, dotted, marker) if marked else cells),
            ]
        )
    times = _time_labels(frame, inner)
    line = [floor] * inner
    for x, _, anchor in times:
        del x
        line[anchor] = floor_tick
    return [
        *rows,
        _axis_row(frame, line, marked, corner, axis, marker),
        _label_row(frame, times, inner, tick),
    ]


def _value_labels(axis: Axis, rows: int) -> dict[int, str]:
    span = axis.high - axis.low
    return {
        min(rows - 1, max(0, rows - 1 - round((value - axis.low) / span * (rows - 1)))): label
        for value, label in zip(axis.ticks, axis.labels, strict=True)
        if span > 0 and rows > 0
    }


def _overlaid(cells: Row, marked: dict[int, Mark], dotted: str, role: int) -> Row:
    """The cells with a dotted line in the blank cells of marked columns."""
    out: Row = []
    x = 0
    for text, cell_role in cells:
        begin = 0
        for index, char in enumerate(text):
            if char == " " and x + index in marked:
                if index > begin:
                    out.append((text[begin:index], cell_role))
                out.append((dotted, role))
                begin = index + 1
        if begin < len(text):
            out.append((text[begin:], cell_role))
        x += len(text)
    return out


def _axis_row(
    frame: Frame, line: list[str], marked: dict[int, Mark], corner: str, axis: int, marker: int
) -> Row:
    roles = [axis] * len(line)
    for x, mark in sorted(marked.items()):
        for at, char in ((x, mark.glyph), (x + 1, mark.letter)):
            if at < len(line) and (at == x or at not in marked):
                line[at], roles[at] = char, marker
    row: Row = [(" " * frame.gutter + corner, axis)]
    begin = 0
    for x in range(1, len(line) + 1):
        if x == len(line) or roles[x] != roles[begin]:
            row.append(("".join(line[begin:x]), roles[begin]))
            begin = x
    return row


def _time_labels(frame: Frame, width: int) -> list[tuple[int, str, int]]:
    """Labels that fit beside one another as (first column, text, column of their tick)."""
    placed: list[tuple[int, str, int]] = []
    free_until = width
    for moment, text in reversed(frame.ticks):
        anchor = frame.column(moment, width)
        start = min(max(0, anchor - len(text) // 2), width - len(text))
        if start >= 0 and start + len(text) <= free_until:
            placed.append((start, text, anchor))
            free_until = start - 1
    return placed[::-1]


def _label_row(frame: Frame, times: Sequence[tuple[int, str, int]], width: int, role: int) -> Row:
    text = ""
    for start, label, _ in times:
        text = text.ljust(start) + label
    return [(" " * (frame.gutter + 1) + text.ljust(width), role)]
