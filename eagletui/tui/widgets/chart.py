"""A live chart of a few lines over one span of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from eagletui.model.history import FRESH_SECONDS, Marker
from eagletui.model.series import Window
from eagletui.tui.widgets import chart_points as points
from eagletui.tui.widgets import chart_scale as scale
from eagletui.tui.widgets.chart_columns import Column, Gathered, Grid, grid_of, stacked
from eagletui.tui.widgets.chart_frame import Frame, Glyphs, Mark, frame_rows
from eagletui.tui.widgets.chart_headline import Headline, Reading, headline
from eagletui.tui.widgets.plot import Canvas, PlotUnavailable, Row, Stroke

__all__ = ["Chart", "Line", "LineRole", "Marker"]

LineRole = Literal["main", "second", "third", "step", "stack"]


class Line(NamedTuple):
    """One line of a chart.

    Attributes:
        name: its word in the legend.
        window: its samples.
        role: `main`, `second` and `third` are plain lines; `step` keeps a value until the next;
            `stack` lines are put on top of one another in the order given.
        unit: where it differs from the chart's.
    """

    name: str
    window: Window
    role: LineRole
    unit: str = ""


class _Look(NamedTuple):
    colour: int
    plain: str
    """The marker where colours cannot tell lines apart."""
    ascii: str


# Cell roles, numbered as the rows carry them.
AXIS, TICK, MARKER, VALUE, STALE, FIRST, SECOND, THIRD, STEP = range(1, 10)
COMPONENTS: dict[int, str] = {
    AXIS: "chart--axis",
    TICK: "chart--tick",
    MARKER: "chart--marker",
    VALUE: "chart--value",
    STALE: "chart--stale",
    FIRST: "chart--series-1",
    SECOND: "chart--series-2",
    THIRD: "chart--series-3",
    STEP: "chart--step",
}
LOOKS: dict[str, _Look] = {
    "main": _Look(FIRST, "braille", "*"),
    "second": _Look(SECOND, "+", "+"),
    "third": _Look(THIRD, "o", "o"),
    "step": _Look(STEP, "=", "="),
}
STACK_LOOKS = (LOOKS["main"], LOOKS["second"], LOOKS["third"])

# What a marker on the axis looks like: glyph, glyph in ASCII, first letter.
MARKS: dict[str, tuple[str, str, str]] = {
    "restart": ("▲", "^", "R"),
    "ready": ("●", "o", "r"),
    "alert": ("▲", "!", "A"),
    "lost": ("✖", "x", "L"),
    "back": ("●", "o", "b"),
    "gone": ("✖", "x", "G"),
}

# Lower than this, a line for the values would leave less than six rows of plot.
HEADLINE_HEIGHT = 9
SMALLEST = (12, 4)


class _Shown(NamedTuple):
    lines: tuple[Line, ...]
    begin: float
    end: float
    markers: tuple[Marker, ...]
    now: float | None
    note: str
    floor: float | None
    old: bool = False


class _Curve(NamedTuple):
    """A line as dots, with what it is drawn with."""

    dots: points.Dots
    mark: str
    role: int


class _Picture(NamedTuple):
    """All that plotext and the frame make rows from: the same picture is the same rows."""

    width: int
    height: int
    frame: Frame
    curves: tuple[_Curve, ...]


class Chart(Widget, can_focus=True):
    """Draws what `show` gives it; plotext works, and rows are painted, only where it differs.

    Args:
        title: shown in the border, as it is.
        unit: of the values: `ms`, `tok/s`, `%` (0 to 100), `share` (0 to 1) or any word.
        marker: `braille`, `hd` or `ascii`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS.values())
    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        width: 1fr;
        border: round $foreground 40%;
        border-title-style: bold;
        &:focus { border: round $accent; }
        .chart--axis { color: $foreground 45%; }
        .chart--tick { color: $foreground 70%; }
        .chart--series-1 { color: $accent; }
        .chart--series-2 { color: $primary; }
        .chart--series-3 { color: $success; }
        .chart--step { color: $foreground 80%; }
        .chart--marker { color: $error; }
        .chart--value { text-style: bold; }
        .chart--stale { text-style: dim; }
    }
    """

    marker = reactive("braille", init=False)

    def __init__(
        self, title: str, unit: str = "", *, id: str | None = None, marker: str = "braille"
    ) -> None:
        super().__init__(id=id)
        self.border_title = Content(title)
        self.unit = unit
        self.set_reactive(Chart.marker, marker)
        self.builds = 0
        """Pictures made so far."""
        self._shown: _Shown | None = None
        self._gathered: list[Gathered] = []
        self._built_for = Size(0, 0)
        self._gutter = 5
        self._below = ""
        self._picture: _Picture | None = None
        self._picture_rows: list[Row] = []
        self._rows: list[Row] = []
        self._strips: dict[int, Strip] = {}
        self._strips_for: tuple[int, Style] | None = None
        self._canvas: Canvas | None = None
        self._plot_works = True

    def show(
        self,
        lines: Sequence[Line],
        *,
        begin: float,
        end: float,
        markers: Sequence[Marker] = (),
        now: float | None = None,
        note: str = "",
        floor: float | None = 0.0,
        old: bool = False,
    ) -> None:
        """Draw these lines from `begin` to `end`.

        Args:
            lines: later ones are drawn below earlier ones, in order of importance.
            begin: left edge, seconds since the epoch.
            end: right edge.
            markers: moments drawn as vertical lines; those outside are left out.
            now: the present. At the right edge, labels are relative to it and a value older than
                a few samples is called stale; with an earlier right edge (scrubbing) labels show
                the clock. None: the right edge is the present.
            note: where the value comes from, shown beside it.
            floor: lower end of the value axis; None fits it to the data.
            old: the last values are no longer of now, however late they are.
        """
        begin, end = scale.sane_span(begin, end)
        shown = _Shown(tuple(lines), begin, end, tuple(markers), now, note, floor, old)
        if shown == self._shown:
            return
        self._shown = shown
        self._build()

    def on_resize(self) -> None:
        """Build for the new size."""
        self._build()

    def watch_marker(self) -> None:
        """Another marker is another picture."""
        self._build()

    # --- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        self._built_for = self.content_size
        shown, (width, height) = self._shown, self.content_size
        if shown is None or width <= 0 or height <= 0:
            self._put([])
            return
        shown = shown._replace(lines=self._see(shown.lines))
        head = self._headline(shown)
        large = width >= SMALLEST[0] and height >= SMALLEST[1]
        if large and self._open():
            with_head = height >= HEADLINE_HEIGHT
            above = [head.row(width)] if with_head else []
            self._draw(self._plan(shown, width, height - len(above)))
            self._put([*above, *self._picture_rows])
            self._say_below(head.note if with_head else head.short)
        else:
            self._put(self._compact(shown, head, width, height))
            self._say_below(head.note)

    def _see(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        """The lines without samples that are not finite."""
        self._gathered += [Gathered() for _ in lines[len(self._gathered) :]]
        del self._gathered[len(lines) :]
        return tuple(
            line._replace(window=gathered.see(line.window))
            for line, gathered in zip(lines, self._gathered, strict=True)
        )

    def _say_below(self, text: str) -> None:
        if text != self._below:  # a new one repaints the whole chart
            self._below = text
            self.border_subtitle = Content(text)

    def _draw(self, picture: _Picture) -> None:
        """Let plotext draw, where that is not what it drew last."""
        if picture == self._picture:
            return
        assert self._canvas is not None
        self.builds += 1
        cells = self._canvas.draw(
            picture.width, picture.height, _strokes(picture.curves, picture.width, picture.height)
        )
        width = picture.frame.gutter + 1 + picture.width
        self._picture, self._picture_rows = (
            picture,
            frame_rows(cells, picture.frame, width, axis=AXIS, tick=TICK, marker=MARKER),
        )

    def _put(self, rows: list[Row]) -> None:
        """Paint these rows, as far as they are not there."""
        old, self._rows = self._rows, rows
        if len(rows) != len(old):
            self._strips.clear()
            self.refresh()
            return
        changed = [y for y, row in enumerate(rows) if row != old[y]]
        for y in changed:
            self._strips.pop(y, None)
        if changed:
            self.refresh(*(Region(0, y, self.content_size.width, 1) for y in changed))

    def _open(self) -> bool:
        if self._canvas is None and self._plot_works:
            try:
                self._canvas = Canvas()
            except PlotUnavailable as error:
                self._plot_works = False
                self.log.warning(f"no plotext, so no charts: {error}")
        return self._canvas is not None

    @property
    def _plain(self) -> bool:
        return self.app.no_color

    def _look(self, line: Line, layer: int) -> _Look:
        if line.role == "stack":
            return STACK_LOOKS[min(layer, len(STACK_LOOKS) - 1)]
        return LOOKS[line.role]

    def _mark(self, look: _Look) -> str:
        if self.marker == "ascii":
            return look.ascii
        return look.plain if self._plain and look.plain != "braille" else self.marker

    def _headline(self, shown: _Shown) -> Headline:
        readings: list[Reading] = []
        layer = 0
        now = shown.end if shown.now is None else shown.now
        live = now - shown.end < 1.0
        for line in shown.lines:
            look = self._look(line, layer)
            layer += line.role == "stack"
            mark = self._mark(look)
            glyph = ("-" if self.marker == "ascii" else "━") if len(mark) > 1 else mark
            last = _last(line.window, shown.end)
            late = last is not None and now - last[0] > _patience(line.window)
            readings.append(
                Reading(
                    name=line.name,
                    text=self._text(line, last),
                    glyph=glyph,
                    role=look.colour,
                    stale=bool(last and live and (shown.old or late)),
                    named=line.role == "stack",
                )
            )
        return headline(readings, shown.note, value_role=VALUE, dim_role=STALE)

    def _text(self, line: Line, last: tuple[float, float] | None) -> str:
        if last and line.role == "step" and not line.unit:
            return f"{last[1]:g}"
        # A measure (ms, per cent) is shared by every line; a word (tokens/step) is the main line's.
        shared = line.role in ("main", "stack") or self.unit in scale.VALUE_FORMATS
        return scale.format_value(
            last[1] if last else None, line.unit or (self.unit if shared else "")
        )

    def _compact(self, shown: _Shown, head: Headline, width: int, height: int) -> list[Row]:
        window = shown.lines[0].window if shown.lines else Window((), (), ())
        ascii_only = self.marker == "ascii"

        def spark(room: int) -> str:
            return points.sparkline(window, shown.begin, shown.end, room, ascii_only=ascii_only)

        if height == 1:
            value = head.value[:width]
            room = width - len(value) - 1
            row: Row = [(value, head.value_role)]
            if room > 0:
                row += [(" ", 0), (spark(room), FIRST)]
            return [row]
        blanks: list[Row] = [[] for _ in range(height - 2)]
        return [head.row(width), [(spark(width), FIRST)], *blanks]

    def _plan(self, shown: _Shown, width: int, height: int) -> _Picture:
        """What to draw in this much room; moments count from the left edge."""
        rows = height - 2
        grid, gathered, axis, gutter = self._gather(shown, width, rows)
        now = shown.end if shown.now is None else shown.now
        begin, span = grid.begin, grid.slots * grid.step
        room = grid.slots // 12
        if now - shown.end < 1.0:
            ticks = scale.time_ticks(0.0, span, room, now=span)
        else:
            named = scale.time_ticks(begin, grid.end, room, now=None)
            ticks = [(moment - begin, text) for moment, text in named]
        ascii_only = self.marker == "ascii"
        frame = Frame(
            axis=axis,
            span=span,
            gutter=gutter,
            ticks=ticks,
            marks=[
                Mark(grid.slot_of(marker.at), *_glyph(marker.kind, ascii_only))
                for marker in shown.markers
                if begin <= marker.at <= grid.end
            ],
            glyphs=Glyphs.ASCII if ascii_only else Glyphs.LINES,
        )
        return _Picture(grid.slots, rows, frame, self._curves(shown.lines, gathered, axis, rows))

    def _gather(
        self, shown: _Shown, width: int, rows: int
    ) -> tuple[Grid, list[list[Column]], scale.Axis, int]:
        """The grid, the columns of every line, the axis and the width of its labels."""
        for again in (True, False):
            gutter = min(self._gutter, width // 3)
            grid = grid_of(shown.begin, shown.end, width - gutter - 1)
            gathered = [line.columns(grid) for line in self._gathered]
            layers = [i for i, line in enumerate(shown.lines) if line.role == "stack"]
            for i, layer in zip(layers, stacked([gathered[i] for i in layers]), strict=True):
                gathered[i] = layer
            lows = [column.low for line in gathered for column in line]
            highs = [column.high for line in gathered for column in line]
            axis = scale.value_axis(
                min(lows, default=0.0), max(highs, default=0.0), rows, self.unit, shown.floor
            )
            needed = max(map(len, axis.labels), default=1)
            if needed == self._gutter or not again:
                break
            self._gutter = needed
        return grid, gathered, axis, gutter

    def _curves(
        self,
        lines: Sequence[Line],
        gathered: Sequence[Sequence[Column]],
        axis: scale.Axis,
        rows: int,
    ) -> tuple[_Curve, ...]:
        curves: list[_Curve] = []
        layer = 0
        for line, columns in zip(lines, gathered, strict=True):
            look = self._look(line, layer)
            layer += line.role == "stack"
            dots = points.dots(columns, axis.low, axis.high, 4 * rows, steps=line.role == "step")
            curves.append(_Curve(dots, self._mark(look), look.colour))
        return tuple(curves)

    # --- drawing ---------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        """Other styles: the same rows look otherwise."""
        self._strips_for = None
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One row in the styles of the present theme."""
        if self._built_for != self.content_size:
            # The first frame after a layout comes before the word of the new size.
            self._build()
        width, base = self.content_size.width, self.rich_style
        if self._strips_for != (width, base):
            self._strips.clear()
            self._strips_for = width, base
        strip = self._strips.get(y)
        if strip is None:
            row = self._rows[y] if y < len(self._rows) else []
            strip = self._strips[y] = Strip(
                [Segment(text, self._style(role, base)) for text, role in row]
            ).adjust_cell_length(width, base)
        return strip

    def _style(self, role: int, base: Style) -> Style:
        name = COMPONENTS.get(role)
        return base + self.get_component_rich_style(name, partial=True) if name else base


def _strokes(curves: Sequence[_Curve], width: int, rows: int) -> list[Stroke]:
    """The curves in shares of the canvas, the most important on top."""
    across, up = max(1, 2 * width - 1), max(1, 4 * rows - 1)
    return [
        Stroke(
            [x / across for x in curve.dots.x],
            [y / up for y in curve.dots.y],
            curve.dots.joined,
            curve.mark,
            curve.role,
        )
        for curve in reversed(curves)
    ]


def _glyph(kind: str, ascii_only: bool) -> tuple[str, str]:
    glyph, plain, letter = MARKS.get(kind, ("▲", "^", kind[:1] or "?"))
    return (plain if ascii_only else glyph), letter


def _last(window: Window, end: float) -> tuple[float, float] | None:
    index = bisect_right(window.times, end) - 1
    return (window.times[index], window.values[index]) if index >= 0 else None


def _patience(window: Window) -> float:
    """Seconds after which a silent line is stale: three of its own intervals, 5 s at least."""
    times = window.times[-9:]
    usual = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    return max(FRESH_SECONDS, 3 * usual)
