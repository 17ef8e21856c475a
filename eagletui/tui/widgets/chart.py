"""A live chart: built when its data or size changes, painted from cached rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from eagletui.model.history import Marker
from eagletui.model.series import Window
from eagletui.tui.widgets.buckets import (
    bucket,
    nice_top,
    stacked,
    steps,
    tick_text,
    ticks,
    time_labels,
)
from eagletui.tui.widgets.plot import Curve, Plotter, Row, library

SMALLEST = (12, 4)
SPARKS = " ▁▂▃▄▅▆▇█"
MARK = {
    "restart": "↻", "ready": "✔", "alert": "▲", "lost": "✖", "back": "●", "gone": "✖",
}  # fmt: skip
MARK_LINE = "┊"
LEGEND_GLYPH = {1: "━", 2: "╍", 3: "┅"}


class Line(NamedTuple):
    """One line of a chart.

    Attributes:
        name: for the legend.
        window: the samples.
        role: `main`, `second` and `third` are lines of their own; `step` keeps its value until the
            next sample; `stack` lies on the stacked lines before it.
        unit: for the legend.
    """

    name: str
    window: Window
    role: Literal["main", "second", "third", "step", "stack"] = "main"
    unit: str = ""


class _Wish(NamedTuple):
    lines: tuple[Line, ...]
    begin: float
    end: float
    markers: tuple[Marker, ...]
    now: float | None
    note: str
    floor: float


class Chart(Widget):
    """Draws a few lines over time.

    Args:
        title: what is drawn, for the border.
        unit: of the values.
        marker: `braille`, `hd` (half blocks) or `ascii`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--axis",
        "chart--tick",
        "chart--series-1",
        "chart--series-2",
        "chart--series-3",
        "chart--marker",
        "chart--note",
    }
    DEFAULT_CSS = """
    Chart {
        & > .chart--axis { color: $foreground 30%; }
        & > .chart--tick { color: $foreground 70%; }
        & > .chart--series-1 { color: $accent; }
        & > .chart--series-2 { color: $secondary; }
        & > .chart--series-3 { color: $warning; }
        & > .chart--marker { color: $error; text-style: bold; }
        & > .chart--note { color: $foreground 70%; }
    }
    """

    def __init__(
        self, title: str, unit: str = "", *, id: str | None = None, marker: str = "braille"
    ) -> None:
        super().__init__(id=id)
        self.border_title = title
        self.unit = unit
        self.marker = marker
        self.builds = 0
        self._wish: _Wish | None = None
        self._plotter: Plotter | None = None
        self._rows: list[Row] = []

    def show(
        self,
        lines: Sequence[Line],
        *,
        begin: float,
        end: float,
        markers: Sequence[Marker] = (),
        now: float | None = None,
        note: str = "",
        floor: float = 0.0,
    ) -> None:
        """Draw these lines from `begin` to `end`.

        Args:
            markers: moments that get a vertical line.
            now: the present, where `end` may be the past.
            note: said in place of an empty chart, and under one that is not.
            floor: the upper end of the axis is never lower than this.
        """
        self._wish = _Wish(tuple(lines), begin, end, tuple(markers), now, note, floor)
        self._build()
        self.refresh()

    def on_resize(self) -> None:
        """Build for the new size."""
        self._build()
        self.refresh()

    # --- building ----------------------------------------------------------------------------

    def _build(self) -> None:
        width, height = self.content_size
        wish = self._wish
        if wish is None or width < 1 or height < 1:
            self._rows = []
            return
        self.builds += 1
        if not any(len(line.window.times) for line in wish.lines):
            self._rows = _centred(wish.note, width, height)
        elif width < SMALLEST[0] or height < SMALLEST[1] or library() is None:
            self._rows = _sparklines(wish, width, height)
        else:
            self._rows = self._drawn(wish, width, height)

    def _drawn(self, wish: _Wish, width: int, height: int) -> list[Row]:
        legend = _legend(wish.lines, width) if height >= SMALLEST[1] + 2 else None
        rows = height - (legend is not None)
        curves, top, upper = _curves(wish, width)
        if self._plotter is None:
            self._plotter = Plotter()
        labels = time_labels(wish.begin, wish.end, wish.now, 3 if width < 60 else 5)
        built = self._plotter.build(
            curves,
            size=(width, rows),
            x=(wish.begin, wish.end),
            top=top,
            x_ticks=labels,
            y_ticks=[(value, tick_text(value)) for value in ticks(upper, rows - 2)],
            marker=self.marker,
        )
        marked = _mark(built, wish)
        return [legend, *marked] if legend is not None else marked

    # --- painting ----------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One cached row, coloured by today's theme."""
        width = self.content_size.width
        base = self.rich_style
        if y >= len(self._rows):
            return Strip.blank(width, base)
        segments = [
            Segment(
                text,
                base + self.get_component_rich_style(f"chart--{role}", partial=True)
                if role
                else base,
            )
            for text, role in self._rows[y]
        ]
        return Strip(segments).adjust_cell_length(width, base)


def _curves(wish: _Wish, width: int) -> tuple[list[Curve], float, float]:
    stack = iter(stacked([line.window for line in wish.lines if line.role == "stack"]))
    drawn = [(line, next(stack) if line.role == "stack" else line.window) for line in wish.lines]
    highest = max((max(window.values, default=0.0) for _, window in drawn), default=0.0)
    top = nice_top(highest, wish.floor)
    curves = []
    for number, (line, window) in enumerate(drawn, 1):
        if line.role == "step":
            points = steps(window, wish.begin, wish.end, top)
        else:
            points = bucket(window, wish.begin, wish.end, width, top)
        curves.append(Curve(points, min(3, number), line.role == "step"))
    # The lowest of a stack is drawn last, so that it is never hidden by what lies on it.
    return curves[::-1], top, top


def _legend(lines: Sequence[Line], width: int) -> Row | None:
    if len(lines) < 2:
        return None
    row: Row = []
    used = 0
    for number, line in enumerate(lines, 1):
        values = line.window.values
        value = f" {tick_text(round(values[-1], 2))}" if len(values) else ""
        unit = f" {line.unit}" if line.unit and value else ""
        series = min(3, number)
        text = f"{LEGEND_GLYPH[series]} {line.name}{value}{unit}  "
        if used + len(text) > width:
            break
        used += len(text)
        row.append((text, f"series-{series}"))
    return row


def _mark(rows: list[Row], wish: _Wish) -> list[Row]:
    inside = [marker for marker in wish.markers if wish.begin <= marker.at <= wish.end]
    if not inside or not rows:
        return rows
    bottom = "".join(text for text, _ in rows[-2]).rstrip()
    left, right = bottom.find("└"), len(bottom)
    if left < 0 or right <= left + 1:
        return rows
    columns = {}
    for marker in inside:
        share = (marker.at - wish.begin) / (wish.end - wish.begin)
        columns[left + 1 + round(share * (right - left - 2))] = MARK.get(marker.kind, "▲")
    return [_over(row, columns, glyphs=number == 0) for number, row in enumerate(rows[:-2])] + rows[
        -2:
    ]


def _over(row: Row, columns: dict[int, str], *, glyphs: bool) -> Row:
    """The row with marks put over its blank cells (and over the frame, for the glyphs)."""
    cells = [(character, role) for text, role in row for character in text]
    for column, glyph in columns.items():
        if column < len(cells) and (glyphs or cells[column][0] in " \u2800"):
            cells[column] = (glyph if glyphs else MARK_LINE, "marker")
    merged: Row = []
    for character, role in cells:
        if merged and merged[-1][1] == role:
            merged[-1] = (merged[-1][0] + character, role)
        else:
            merged.append((character, role))
    return merged


def _centred(note: str, width: int, height: int) -> list[Row]:
    text = note[:width] or "no data yet"[:width]
    blank: list[Row] = [[] for _ in range((height - 1) // 2)]
    return [*blank, [(text.center(width), "note")]]


def _sparklines(wish: _Wish, width: int, height: int) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(wish.lines[:height], 1):
        values = line.window.values
        if not len(values):
            continue
        value = tick_text(round(values[-1], 2))
        room = width - len(value) - 1
        points = bucket(line.window, wish.begin, wish.end, max(1, room), float("inf")).ys
        top = max(points, default=0.0) or 1.0
        sparks = (
            "".join(SPARKS[min(8, int(y / top * 8))] for y in points[-room:]) if room > 0 else ""
        )
        rows.append([(f"{value[:width]} ", "tick"), (sparks, f"series-{min(3, number)}")])
    return rows
