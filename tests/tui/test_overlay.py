"""Series of runs over each other: aligned, with their gaps, and with names that keep apart."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.compare import compare
from eagletui.model.moments import after_ticks
from eagletui.model.series import Window
from eagletui.store.reports.pictures import MOST_MOMENTS
from eagletui.tui.comparing import RunCurve, named_runs, overlaid
from eagletui.tui.widgets.chart_overlay import FIRST, LINES, TITLE, Overlay
from eagletui.tui.widgets.plot import Canvas, Row
from tests.tui.shelf import RUNS

FOUND = compare(list(RUNS), None)
NAMED = named_runs(FOUND)
A, B, C = (run.id for run in RUNS)


def text(row: Row) -> str:
    return "".join(piece for piece, _ in row)


def test_each_begins_at_its_own_beginning_and_keeps_its_gaps() -> None:
    series = {
        A: {"tok_s": Window([100.0, 105.0, 200.0], [1.0, 2.0, 3.0], b"\0\1\0")},
        B: {"tok_s": Window([9000.0], [4.0], [0]), "step_ms": Window([1.0], [1.0], [0])},
        C: {"tok_s": Window([], [], [])},
    }
    assert overlaid(NAMED, series, "tok_s") == (
        RunCurve("chain-2", (0.0, 5.0, 100.0), (1.0, 2.0, 3.0), (False, True, False)),
        RunCurve("off", (0.0,), (4.0,), (False,)),
    )
    assert overlaid(NAMED, series, "accept_length") == ()
    assert overlaid(NAMED, {}, "tok_s") == ()


def test_both_charts_of_one_begin_together() -> None:
    series = {
        A: {
            "tok_s": Window([100.0, 110.0], [0.0, 9.0], b"\0\1"),
            "accept_length": Window([110.0, 120.0], [2.0, 3.0], b"\0\1"),
        }
    }
    [only] = overlaid(NAMED, series, "accept_length")
    assert only.seconds == (10.0, 20.0)
    [only] = overlaid(NAMED, series, "tok_s")
    assert only.seconds == (0.0, 10.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_left_out(bad: float) -> None:
    series = {
        A: {"tok_s": Window([1.0, 2.0, 3.0, 4.0, 5.0], [bad, 2.0, 3.0, bad, 5.0], b"\0\1\1\1\1")}
    }
    [only] = overlaid(NAMED, series, "tok_s")
    assert (only.values, only.joined) == ((2.0, 3.0, 5.0), (False, True, False))
    assert overlaid(NAMED, {A: {"tok_s": Window([1.0], [bad], [0])}}, "tok_s") == ()


def curve(name: str, *values: float) -> RunCurve:
    count = len(values)
    return RunCurve(name, tuple(map(float, range(count))), values, (False, *[True] * (count - 1)))


def test_every_run_is_named_with_its_glyph() -> None:
    chart = Overlay("tok/s over time", "tok/s", marker="ascii")
    chart.show([curve(f"run {n}", 1.0 + n, 2.0 + n) for n in range(6)])
    head, *rows = chart.draw(Canvas(), 120, 12)
    assert head[0] == ("tok/s over time", TITLE)
    assert text(head) == "tok/s over time" + "".join(
        f"   {LINES[n % 5][1]} run {n}" for n in range(6)
    )
    roles = {role for row in rows for _, role in row}
    assert roles >= {FIRST + n for n in range(5)}
    assert len(rows) == 11
    assert all(len(text(row)) == 120 for row in rows)


def test_a_run_without_the_series_takes_no_colour_and_none_is_no_picture() -> None:
    chart = Overlay("x", "")
    chart.show([RunCurve("empty", (), (), ()), curve("full", 1.0)])
    assert chart.curves == (curve("full", 1.0),)
    chart.show([])
    assert chart.shown() is None


@given(
    st.lists(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=9), min_size=1, max_size=7),
    st.integers(24, 200),
    st.integers(5, 40),
)
def test_any_values_fit_any_room(values: list[list[float]], width: int, height: int) -> None:
    chart = Overlay("t", "tok/s", marker="ascii")
    chart.show([curve("a run", *one) for one in values])
    rows = chart.draw(Canvas(), width, height)
    assert len(rows) == height
    assert all(len(text(row)) <= width for row in rows)


@given(st.floats(0.05, 1e8), st.integers(1, 30))
def test_moments_after_a_beginning_are_few_and_rise(span: float, room: int) -> None:
    ticks = after_ticks(span, room)
    assert ticks[0] == (0.0, "0")
    moments = [moment for moment, _ in ticks]
    assert moments == sorted(set(moments))
    assert moments[-1] <= span * 1.001
    assert len({label for _, label in ticks}) == len(ticks)


def test_moments_are_round_and_named() -> None:
    assert [label for _, label in after_ticks(180.0, 6)] == ["0", "1m", "2m", "3m"]
    assert [label for _, label in after_ticks(60.0, 6)] == [
        "0", "10s", "20s", "30s", "40s", "50s", "60s",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (0.0, ["0"]),
        (90.0, ["0", "15s", "30s", "45s", "60s", "75s", "90s"]),
        (1990.0, ["0", "5m", "10m", "15m", "20m", "25m", "30m"]),
        (86_399.0, ["0", "3h", "6h", "9h", "12h", "15h", "18h", "21h", "24h"]),
        (9e6, None),
    ],
)
def test_a_report_has_the_same_moments_few_enough(
    longest: float, expected: list[str] | None
) -> None:
    found = [label for _, label in after_ticks(longest, MOST_MOMENTS)]
    assert len(found) <= MOST_MOMENTS + 1
    if expected is not None:
        assert found == expected
