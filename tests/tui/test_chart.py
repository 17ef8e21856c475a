"""The chart: exact sizes, safe input, builds only when needed, readable everywhere."""

from __future__ import annotations

import math
import subprocess
import sys
from array import array
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.strip import Strip

from eagletui.model.history import Marker
from eagletui.model.series import Series, Window
from eagletui.tui.widgets import chart_columns as columns
from eagletui.tui.widgets import chart_points as points
from eagletui.tui.widgets import chart_scale as scale
from eagletui.tui.widgets.chart import Chart, Line
from eagletui.tui.widgets.plot import Canvas, PlotUnavailable, Stroke
from tests.tui.text_snapshot import assert_snapshot, screen_text

END = 1_800_000_000.0


def window(*values: float, step: float = 1.0, end: float = END) -> Window:
    series = Series()
    for index, value in enumerate(values):
        series.add(end - (len(values) - 1 - index) * step, value)
    return series.window(0, math.inf)


class ChartApp(App[None]):
    def __init__(self, chart: Chart) -> None:
        super().__init__()
        self.chart = chart

    def compose(self) -> ComposeResult:
        yield self.chart


def accept_lines() -> list[Line]:
    return [
        Line("accept length", window(*(2.33 + 0.3 * math.sin(i / 9) for i in range(300))), "main"),
        Line("rate", window(*(0.44 + 0.06 * math.sin(i / 9) for i in range(300))), "second"),
        Line("k", window(*([3.0] * 200 + [2.0] * 100)), "step"),
    ]


MARKERS = (
    Marker(END - 200, "restart", "launch 0.5.23"),
    Marker(END - 60, "alert", "draft useless"),
    Marker(END - 900, "lost", "outside"),
)


@pytest.mark.parametrize("size", [(80, 24), (60, 10), (40, 7), (12, 4), (9, 3)])
@pytest.mark.parametrize("marker", ["braille", "ascii"])
async def test_a_chart_reads_as_its_snapshot(size: tuple[int, int], marker: str) -> None:
    app = ChartApp(Chart("¹ accept length", "tokens/step", marker=marker))
    async with app.run_test(size=size) as pilot:
        app.chart.show(
            accept_lines(), begin=END - 300, end=END, now=END, markers=MARKERS, note="device timer"
        )
        await pilot.pause()
        assert_snapshot(app, f"chart-accept-{size[0]}x{size[1]}-{marker}")


async def test_stacked_lines_add_up_and_are_named() -> None:
    app = ChartApp(Chart("² verify latency", "ms"))
    lines = [
        Line("verify", window(*[20.0] * 60), "stack"),
        Line("draft", window(*[10.0] * 60), "stack"),
        Line("draft extend", window(*[5.0] * 60), "stack"),
    ]
    async with app.run_test(size=(80, 16)) as pilot:
        app.chart.show(lines, begin=END - 60, end=END, now=END, note="device timer")
        await pilot.pause()
        text = screen_text(app)
    assert "20.0 ms verify" in text
    assert "draft 10.0 ms" in text
    assert "draft extend 5.00 ms" in text
    grid = columns.grid_of(END - 60, END, 30)
    layers = columns.stacked([columns.columns(line.window, grid) for line in lines])
    assert [layer[10].mean for layer in layers] == [20.0, 30.0, 35.0]


async def test_built_only_for_changed_data_or_size() -> None:
    app = ChartApp(Chart("x"))
    async with app.run_test(size=(60, 12)) as pilot:
        shown = window(1, 2, 3)
        app.chart.show([Line("x", shown, "main")], begin=END - 10, end=END, now=END)
        await pilot.pause()
        builds = app.chart.builds
        app.chart.show([Line("x", shown, "main")], begin=END - 10, end=END, now=END)
        app.theme = "textual-light"
        await pilot.pause()
        assert app.chart.builds == builds
        app.chart.show([Line("x", window(1, 2, 4), "main")], begin=END - 10, end=END, now=END)
        assert app.chart.builds == builds + 1
        await pilot.resize_terminal(70, 14)
        assert app.chart.builds > builds + 1
        assert {len(row.rstrip("\n")) for row in screen_text(app).splitlines()} == {70}


async def test_a_theme_changes_colours_without_a_build() -> None:
    app = ChartApp(Chart("x"))
    async with app.run_test(size=(60, 12)) as pilot:
        app.chart.show([Line("x", window(1, 2, 3), "main")], begin=END - 10, end=END, now=END)
        await pilot.pause()
        seen = set()
        for theme in ("textual-dark", "textual-light", "ansi-dark", "ansi-light"):
            app.theme = theme
            await pilot.pause()
            styles = {s.style.color for y in range(10) for s in app.chart.render_line(y) if s.style}
            assert len(styles) > 1, theme
            for strip in (app.chart.render_line(y) for y in range(10)):
                for segment in strip:
                    style = segment.style
                    # Both default is the terminal's own pair, which it keeps readable.
                    if (
                        style
                        and segment.text.strip()
                        and not (style.bgcolor and style.bgcolor.is_default)
                    ):
                        assert style.color != style.bgcolor, theme
            seen.add(frozenset(styles))
        assert len(seen) >= 3


async def test_lines_differ_by_marker_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ChartApp(Chart("x"))
    async with app.run_test(size=(60, 12)) as pilot:
        app.chart.show(
            [Line("a", window(1, 1, 1), "main"), Line("b", window(3, 3, 3), "second")],
            begin=END - 2,
            end=END,
        )
        await pilot.pause()
        text = screen_text(app)
    assert "+ b 3.00" in text
    assert "++++++++++" in text


async def test_a_silent_line_is_called_stale() -> None:
    app = ChartApp(Chart("x", "ms"))
    async with app.run_test(size=(60, 7)) as pilot:
        line = Line("x", window(1, 2, 3), "main")
        app.chart.show([line], begin=END - 60, end=END + 4, now=END + 4)
        await pilot.pause()
        assert "stale" not in screen_text(app)
        app.chart.show([line], begin=END - 60, end=END + 6, now=END + 6, note="log lines")
        await pilot.pause()
        assert "3.00 ms · stale · log lines" in screen_text(app)


async def test_while_scrubbing_the_clock_is_shown() -> None:
    app = ChartApp(Chart("x"))
    async with app.run_test(size=(60, 12)) as pilot:
        line = Line("x", window(1, 2, 3), "main")
        app.chart.show([line], begin=END - 60, end=END, now=END + 500)
        await pilot.pause()
        text = screen_text(app)
    assert "now" not in text
    assert scale.clock(END - 30) in text
    assert "stale" not in text


async def test_without_plotext_numbers_and_a_sparkline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    with pytest.raises(PlotUnavailable):
        Canvas()
    app = ChartApp(Chart("x", "ms"))
    async with app.run_test(size=(60, 12)) as pilot:
        app.chart.show([Line("x", window(1, 2, 9), "main")], begin=END - 3, end=END)
        await pilot.pause()
        text = screen_text(app)
    assert "9.00 ms" in text
    assert "█" in text


async def test_markup_in_titles_and_notes_is_text() -> None:
    app = ChartApp(Chart("[b]x[/b] [1]"))
    async with app.run_test(size=(60, 7)) as pilot:
        app.chart.show([Line("x", window(1), "main")], begin=END - 9, end=END, note="[red]a[/x]")
        await pilot.pause()
        assert "[b]x[/b] [1]" in screen_text(app)
        assert "[red]a[/x]" in screen_text(app)


def test_gaps_are_not_joined() -> None:
    series = Series()
    for at in range(10):
        if at == 5:
            series.gap()
        series.add(float(at), 1.0)
    gathered = columns.columns(series.window(0, 10), columns.Grid(0, 10, 1.0))
    assert [column.joined for column in gathered] == [False] + [True] * 4 + [False] + [True] * 4
    assert points.dots(gathered, 0, 2, 9).joined.count(False) == 2


def test_at_most_two_points_a_column_hold_the_extremes() -> None:
    values = [math.sin(i) * i for i in range(3600)]
    gathered = columns.columns(window(*values), columns.grid_of(END - 3600, END, 100))
    assert len(gathered) == 100
    assert max(column.high for column in gathered) == max(values)
    assert min(column.low for column in gathered) == min(values)
    assert len(points.dots(gathered, min(values), max(values), 60).x) <= 200


def test_samples_that_are_not_finite_leave_a_gap() -> None:
    times = array("d", [0, 1, 2, 3, 4])
    values = array("d", [1, math.nan, 2, math.inf, 3])
    kept = columns.finite(Window(times, values, [False, True, True, True, True]))
    assert list(kept.values) == [1, 2, 3]
    assert list(kept.joined) == [False, False, False]


def test_a_step_line_keeps_its_value_and_jumps() -> None:
    gathered = columns.columns(window(3, 3, 2, 2), columns.Grid(int(END) - 3, 4, 1.0))
    grid = points.dots(gathered, 0, 3, 4, steps=True)
    assert list(zip(grid.x, grid.y, strict=True)) == [(0, 3), (4, 3), (4, 2), (7, 2)]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.333, "tokens/step", "2.33 tokens/step"),
        (21.44, "ms", "21.4 ms"),
        (12_345.0, "ms", "12.3 s"),
        (2149.4, "tok/s", "2,149 tok/s"),
        (12_340.0, "tok/s", "12.3k tok/s"),
        (0.44, "share", "44 %"),
        (44.0, "%", "44 %"),
        (None, "ms", "–"),
        (math.nan, "ms", "–"),
    ],
)
def test_values_are_written_with_their_unit(value: float | None, unit: str, text: str) -> None:
    assert scale.format_value(value, unit) == text


@pytest.mark.parametrize(
    ("high", "unit", "labels"),
    [
        (2.6, "", ("0", "1", "2")),
        (2600.0, "tok/s", ("0k", "1k", "2k")),
        (0.8, "share", ("0%", "50%")),
        (45.0, "ms", ("0", "20", "40")),
    ],
)
def test_ticks_are_round(high: float, unit: str, labels: tuple[str, ...]) -> None:
    assert scale.value_axis(0.0, high, 9, unit, 0.0).labels == labels


@pytest.mark.parametrize(
    ("span", "room", "labels"),
    [
        (60, 6, "-60s -50s -40s -30s -20s -10s now"),
        (60, 1, "-60s now"),
        (137, 10, "-2m -1m now"),
        (300, 6, "-5m -4m -3m -2m -1m now"),
        (300, 11, "-5m -4m -3m -2m -1m now"),
        (734, 1, "-10m now"),
        (734, 6, "-12m -9m -6m -3m now"),
        (900, 6, "-15m -12m -9m -6m -3m now"),
        (3600, 6, "-60m -50m -40m -30m -20m -10m now"),
        (20_000, 6, "-5h -4h -3h -2h -1h now"),
        (3 * 86_400, 6, "-3d -2d -1d now"),
    ],
)
def test_relative_time_labels(span: float, room: int, labels: str) -> None:
    ticks = scale.time_ticks(END - span, END, room, now=END)
    assert " ".join(text for _, text in ticks) == labels


@given(st.floats(0.2, 1e8), st.integers(1, 20))
@example(span=0.9999, room=1)
def test_one_axis_tells_time_in_one_unit_and_even_steps(span: float, room: int) -> None:
    ticks = scale.time_ticks(END - span, END, room, now=END)
    *before, present = [text for _, text in ticks]
    assert present == "now"
    assert before
    (unit,) = {text[-1] for text in before}
    size = {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    for moment, text in ticks[:-1]:
        assert float(text[:-1]) * size == pytest.approx(moment - END, rel=1e-5, abs=1e-5)
    gaps = [b - a for (a, _), (b, _) in pairwise(ticks)]
    assert max(gaps) - min(gaps) < 1e-5
    assert ticks[0][0] >= END - span * 1.001


def test_no_points_outside_reach_plotext() -> None:
    nan, inf = math.nan, math.inf
    stroke = Stroke(
        [0.0, nan, 0.5, 2.0, 1.0], [0.0, 0.5, inf, 0.5, 1.0], [False] + [True] * 4, "braille", 1
    )
    rows = Canvas().draw(10, 3, [stroke])
    cells = "".join(text for row in rows for text, _ in row)
    assert len(cells) == 30
    assert len(cells.replace(" ", "")) == 2


FUZZ = """
import math
from hypothesis import Phase, given, settings, strategies as st
from eagletui.model.history import Marker
from eagletui.model.series import Window
from eagletui.tui.widgets.chart import Chart, Line
from eagletui.tui.widgets.plot import Canvas
from rich.cells import cell_len
from textual.geometry import Size

wild = st.one_of(
    st.floats(), st.floats(0, 10), st.sampled_from([0.0, 1e308, -1e308, 5e-324, math.nan, math.inf])
)
moment = st.one_of(st.floats(0, 100), st.floats())
point = st.tuples(moment, wild, st.booleans())
roles = st.sampled_from(["main", "second", "third", "step", "stack"])
span = st.one_of(st.tuples(st.just(0.0), st.floats(0.001, 200)), st.tuples(wild, wild))

class Bare(Chart):
    size_now = Size(0, 0)
    no_colour = False
    content_size = property(lambda self: self.size_now)
    _plain = property(lambda self: self.no_colour)

canvas = Canvas()

@settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
@given(
    st.lists(st.tuples(st.lists(point, max_size=60), roles), max_size=4), span,
    st.integers(0, 90), st.integers(0, 20), st.sampled_from(["braille", "hd", "ascii"]),
    st.one_of(st.none(), wild),
    st.lists(st.tuples(wild, st.sampled_from(["restart", "?", ""])), max_size=3),
    st.booleans(), st.sampled_from(["", "ms", "%", "share", "tok/s", "steps"]),
    st.one_of(st.none(), wild),
)
def check(lines, span, width, height, marker, floor, markers, plain, unit, now):
    chart = Bare("x", unit, marker=marker)
    chart._canvas, chart.size_now, chart.no_colour = canvas, Size(width, height), plain
    chart.show(
        [Line("n", Window(*(zip(*sorted(p)) if p else ((), (), ()))), r) for p, r in lines],
        begin=span[0], end=span[1], floor=floor, now=now,
        markers=[Marker(at, kind, "") for at, kind in markers],
    )
    if width and height:
        assert len(chart._rows) == height, (len(chart._rows), height)
        assert all(sum(cell_len(t) for t, _ in row) <= width for row in chart._rows)

check()
print("done")
"""


def test_whatever_is_shown_the_process_lives() -> None:
    """In a process of its own, since a mistake here is an abort, not an exception."""
    code = FUZZ.replace("EXAMPLES", "150")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-3000:]


def test_a_sample_stays_in_its_column_while_time_moves_on() -> None:
    shown = window(*map(float, range(600)), step=0.37)
    places: dict[float, set[int]] = {}
    for frame in range(200):
        grid = columns.grid_of(END - 60 + frame * 0.29, END + frame * 0.29, 133)
        assert grid.begin < END + frame * 0.29 <= grid.end
        for column in columns.columns(shown, grid):
            places.setdefault(column.low, set()).add(column.slot + grid.first)
    assert len(places) > 100
    # The leftmost column of a frame is whole too, so that every sample has one place.
    assert {len(found) for found in places.values()} == {1}


@given(
    st.lists(
        st.tuples(st.floats(0.01, 9), st.sampled_from([1.0, 2.0, math.nan, 5.0]), st.booleans()),
        max_size=60,
    ),
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(0, 8), st.floats(0, 9), st.integers(0, 3)), max_size=8),
)
def test_columns_counted_anew_where_samples_came_are_all_columns(
    steps: list[tuple[float, float, bool]],
    count: int,
    frames: list[tuple[int, float, int]],
) -> None:
    """Whatever comes, leaves and moves between two pictures."""
    times = [END + sum(step for step, _, _ in steps[: i + 1]) for i in range(len(steps))]
    gathered = columns.Gathered()
    seen, gone, now = 3, 0, END + 20.0
    for came, moved, left in frames:
        seen, gone, now = seen + came, gone + left, now + moved
        part = slice(min(gone, seen), seen)
        shown = Window(
            times[part], [v for _, v, _ in steps[part]], [int(j) for _, _, j in steps[part]]
        )
        grid = columns.grid_of(now - 20.0, now, count)
        clean = gathered.see(shown)
        assert gathered.columns(grid) == columns.columns(clean, grid)


async def test_a_picture_that_stays_the_same_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = ChartApp(Chart("x"))
    series = Series()
    for at in range(3600):
        series.add(END - 3600 + at, 2.0 + at % 5 / 5)
    async with app.run_test(size=(200, 17)) as pilot:
        painted: list[int] = []
        paint = app.chart.render_line

        def spied(y: int) -> Strip:
            painted.append(y)
            return paint(y)

        builds = []
        for beat in range(40):
            now = END + beat / 2
            series.add(now, 2.0 + beat % 5 / 5)
            line = Line("x", series.window(now - 3600, now), "main")
            app.chart.show([line], begin=now - 3600, end=now, now=now)
            await pilot.pause()
            builds.append(app.chart.builds)
            monkeypatch.setattr(app.chart, "render_line", spied)
        # A column lasts 19 seconds: it fills, then the next one begins.
        assert 2 <= builds[-1] <= 12
        # The number above the picture is written each time.
        assert painted.count(0) >= 30
        assert painted.count(7) <= 12


async def test_the_first_frame_has_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line may be asked for before the chart hears of its size."""
    monkeypatch.setattr(Chart, "on_resize", lambda chart: None)
    chart = Chart("¹ accept length", "tokens/step")
    chart.show(accept_lines(), begin=END - 300, end=END, now=END)
    app = ChartApp(chart)
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        assert "2.62 tokens/step" in screen_text(app)
        assert chart.builds == 1
