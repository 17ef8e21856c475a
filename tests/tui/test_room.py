"""Whatever is said above and beside them, charts keep their room, in every size of terminal."""

from __future__ import annotations

import pytest

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.tui.verdict import Verdict
from eagletui.tui.widgets.chart import HEADLINE_HEIGHT, Chart
from eagletui.tui.widgets.verdicts import lines_of, room_for
from tests.tui.driving import make_app, settle
from tests.tui.scenes import KEY, NOW, SCENES

LEAST_ROWS = 6
LEAST_COLUMNS = 22
AXIS_ROWS = 2
SIZES = (
    *((60, 20), (60, 35), (76, 20), (80, 24), (80, 35), (80, 44)),
    *(
        (100, 30),
        (100, 32),
        (111, 24),
        (112, 24),
        (112, 32),
        (120, 35),
        (149, 31),
        (150, 44),
        (200, 50),
    ),
)
ALERTS = (
    Diagnosis(
        code="deadlock",
        severity="error",
        title="Deadlocked: every GPU is at 100 % at idle power.",
        evidence="4 requests run, no token for 73 s",
        advice="Take a stack of every scheduler with py-spy, keep it for a report, and start the "
        "server again; with --watchdog-timeout it ends by itself when that happens the next time.",
    ),
    Diagnosis(
        code="accept-length-one",
        severity="warning",
        title="The draft is useless: the accept length is 1.02 over 400 steps.",
        evidence="accept length 1.02 over 412 steps since 02:58:11",
        advice="Compare the draft model with the target.",
    ),
    Diagnosis(code="kv-full", severity="warning", title="The KV cache is nearly full."),
)


def plot_rows(chart: Chart) -> int:
    """Rows between the value line and the axis."""
    height = chart.content_size.height
    return height - AXIS_ROWS - (height >= HEADLINE_HEIGHT)


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_charts_keep_their_room_whatever_is_said(count: int) -> None:
    said = ev.Alerted(at=NOW, server=KEY, alerts=ALERTS[:count])
    app = make_app([*SCENES["serving"](), said])
    async with app.run_test(size=SIZES[-1], notifications=False) as pilot:
        await settle(pilot)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            assert app.screen.size == (width, height)
            charts = [chart for chart in app.screen.query(Chart) if chart.region.height]
            assert len(charts) == (1 if width < 76 else 3)
            rows = {chart.id: plot_rows(chart) for chart in charts}
            assert min(rows.values()) >= LEAST_ROWS, (width, height, rows)
            columns = {chart.id: chart.outer_size.width for chart in charts}
            assert min(columns.values()) >= LEAST_COLUMNS, (width, height, columns)
            assert app.screen.query_one("#tail").size.height >= 1


@pytest.mark.parametrize("key", ["1", "2", "3"])
async def test_a_maximised_chart_has_the_whole_room(key: str) -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=(120, 35), notifications=False) as pilot:
        await settle(pilot)
        await pilot.press(key, key)
        await settle(pilot)
        (chart,) = (chart for chart in app.screen.query(Chart) if chart.region.height)
        assert chart.outer_size == (120, 35 - 2 - 1 - 1)
        await pilot.press("escape")
        await settle(pilot)
        assert sum(bool(chart.region.height) for chart in app.screen.query(Chart)) == 3


def test_verdicts_take_the_room_they_are_given() -> None:
    found = (
        Verdict("error", "Deadlocked.", "4 requests run", "Restart it."),
        Verdict("warning", "The draft is useless.", "1.02", "Compare."),
        Verdict("warning", "The KV cache is nearly full."),
    )

    def texts(room: int, *, rich: bool) -> list[str]:
        return [line.plain for line in lines_of(found, 60, room=room, rich=rich)]

    assert texts(1, rich=False) == ["✖ ERROR  Deadlocked.  (+2 more, d)"]
    assert lines_of(found[:1], 60, room=1, rich=False)[0].plain.endswith("  (why: d)")
    assert texts(3, rich=False) == ["✖ ERROR  Deadlocked.  (+2 more, d)", "  → Restart it."]
    assert texts(4, rich=True) == [
        "✖ ERROR  Deadlocked.  (+1 more, d)",
        "  4 requests run",
        "  → Restart it.",
        "▲ WARNING  The draft is useless.",
    ]
    assert len(texts(6, rich=True)) == 5
    assert lines_of((), 60, room=3, rich=True) == []


def test_a_start_up_leaves_more_room_to_what_is_said() -> None:
    assert [room_for(height, frozenset()) for height in (20, 24, 35)] == [3, 3, 6]
    charts = frozenset({"charts"})
    assert [room_for(height, charts) for height in (20, 24, 35)] == [1, 3, 4]
