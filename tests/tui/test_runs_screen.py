"""Runs, comparisons and sessions on the screen, driven by keys over a shelf without a disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import OptionList

from eagletui.model.errors import EagletuiError
from eagletui.model.keeping import KeptComparison
from eagletui.tui.app import EagleApp
from eagletui.tui.screens import runs
from eagletui.tui.screens.compare import CompareScreen
from eagletui.tui.screens.main import MainScreen
from eagletui.tui.screens.runs import RunsScreen
from eagletui.tui.screens.watched import WatchedScreen
from eagletui.tui.widgets.chart import Chart
from eagletui.tui.widgets.chart_overlay import Overlay
from eagletui.tui.widgets.chart_steps import StepCurve
from tests.tui.driving import make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.shelf import RUNS, SESSION, FakeShelf
from tests.tui.text_snapshot import screen_text

CHAIN2, OFF, CHAIN5 = (run.id for run in RUNS)
TWO = ("space", "down", "space")
"""Marks the first two."""


@asynccontextmanager
async def listed(
    shelf: FakeShelf, *, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[EagleApp, Pilot[None]]]:
    app = make_app(SCENES["serving"](), shelf=shelf)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "C")
        assert isinstance(app.screen, RunsScreen)
        yield app, pilot


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


def row(app: EagleApp, name: str) -> str:
    return next(line for line in screen_text(app).splitlines() if name in line)


async def test_the_list_says_what_decides_at_a_glance() -> None:
    async with listed(FakeShelf(), size=(140, 30)) as (app, _):
        assert "EAGLE3 k=2 topk=1 draft=3" in row(app, "chain-2")
        assert "c=1 96.6" in row(app, "chain-2")
        assert "2.00" in row(app, "chain-2")
        assert "#pcie LL and Ring" in row(app, "chain-2")
        assert "looped partial" in row(app, "chain-5")
        assert "looped" not in row(app, "chain-2")
        assert "71.3 tok/s" in row(app, "for 1 h 00 min")
        assert "accept 2.10" in row(app, "for 1 h 00 min")


async def test_what_another_program_keeps_is_seen_while_the_list_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And what it removes: a mark of it is gone as well."""
    monkeypatch.setattr(runs, "LOOK_EVERY", 0.05)
    shelf = FakeShelf()
    async with listed(shelf) as (app, pilot):
        await press(pilot, *TWO)
        assert "3 runs, 2 marked" in screen_text(app)
        del shelf.lines[0]
        for _ in range(100):
            if "2 runs, 1 marked" in screen_text(app):
                break
            await pilot.pause(0.05)
        assert "2 runs, 1 marked" in screen_text(app)
        assert "chain-2" not in screen_text(app)


async def test_marks_a_baseline_and_the_comparison() -> None:
    shelf = FakeShelf()
    async with listed(shelf) as (app, pilot):
        await press(pilot, *TWO)
        assert "3 runs, 2 marked" in screen_text(app)
        assert "● " in row(app, "chain-2")
        await press(pilot, "space", "space", "enter")
        assert isinstance(app.screen, CompareScreen)
        assert shelf.wishes == [("compare", ((CHAIN2, OFF), None))]
        text = screen_text(app)
        assert "2 runs against off" in text
        assert "baseline" in row(app, "off   ")
        await press(pilot, "escape", "home", "b")
        assert "◆ " in row(app, "k=2 topk")
        await press(pilot, "enter")
        assert shelf.wishes[-1] == ("compare", ((CHAIN2, OFF), CHAIN2))
        assert "2 runs against chain-2" in screen_text(app)


@pytest.mark.parametrize("at", range(len(RUNS)))
async def test_enter_behind_a_mark_opens_what_was_marked(at: int) -> None:
    shelf = FakeShelf()
    async with listed(shelf) as (_, pilot):
        await press(pilot, *["down"] * at, "space", "enter")
        assert shelf.wishes == [("compare", ((RUNS[at].id,), None))]


async def test_the_verdict_its_interval_and_whether_drafting_pays() -> None:
    async with listed(FakeShelf(), size=(120, 40)) as (app, pilot):
        await press(pilot, *TWO, "down", "space", "enter")
        text = screen_text(app)
        assert "3 runs against off" in text
        slower = next(line for line in text.splitlines() if "slower" in line)
        assert "chain-5" in slower
        assert "▼ slower 0.7" in slower
        faster = next(line for line in text.splitlines() if "faster" in line)
        assert "chain-2" in faster
        assert "needs accept length ≥" in text
        assert "it does not pay" in text
        differs = text[text.index("what differs") : text.index("a step, ms")]
        assert "num steps" in differs
        assert "NCCL" not in differs
        assert "█ verify  ▓ draft  ▒ extend  ░ other" in text
        assert "22.10  = 19.87 + 0.90 + 0.60 + 0.73" in text
        assert "0.61  0.64" in text  # accepted at positions 1 and 2 of chain-2
        assert "TTFT 50.0 / 50.0" in text
        await press(pilot, "end")
        curve = app.screen.query_one(StepCurve)
        assert [point.k for point in curve.points] == [0, 2, 5]
        assert "k=2: 97" in screen_text(app)


async def test_another_baseline_by_key() -> None:
    shelf = FakeShelf()
    async with listed(shelf) as (app, pilot):
        await press(pilot, *TWO, "enter", "b")
        assert shelf.wishes[-1] == ("compare", ((CHAIN2, OFF), CHAIN2))
        assert "2 runs against chain-2" in screen_text(app)
        await press(pilot, "b")
        assert shelf.wishes[-1] == ("compare", ((CHAIN2, OFF), OFF))


async def test_a_comparison_is_saved_and_opened_by_its_name() -> None:
    shelf = FakeShelf()
    async with listed(shelf) as (app, pilot):
        await press(pilot, *TWO, "enter", "w", "k", "s", "enter")
        assert ("save", ("ks", (CHAIN2, OFF), OFF)) in shelf.wishes
        assert "Comparison kept" in screen_text(app)
        await press(pilot, "escape")
        assert "ks  chain-2, off ◆" in screen_text(app)
        await press(pilot, "down", "down", "enter")
        assert "ks: 2 runs against off" in screen_text(app)


async def test_a_comparison_opens_without_the_run_that_was_removed() -> None:
    shelf = FakeShelf()
    shelf.saved.append(KeptComparison(name="all", runs=(CHAIN2, OFF, CHAIN5), baseline=OFF))
    shelf.removed[OFF] = "off\x1b[31m"
    async with listed(shelf) as (app, pilot):
        await press(pilot, "end", "up", "enter")
        text = screen_text(app)
        assert f"Removed meanwhile and missing here: {OFF} (off), the baseline." in text
        assert "all: 2 runs against chain-2" in text
        assert "\x1b" not in text
        await press(pilot, "b")
        assert "all: 2 runs against chain-5" in screen_text(app)
        assert f"missing here: {OFF} (off)." in screen_text(app)


async def test_reports_are_written_and_said() -> None:
    shelf = FakeShelf()
    async with listed(shelf) as (app, pilot):
        await press(pilot, *TWO, "enter", "m")
        assert ("report", (2, "md")) in shelf.wishes
        assert "/home/me/report.md" in screen_text(app)
        shelf.fails = EagletuiError("The disk is full.", advice="Make room.")
        await press(pilot, "h")
        assert ("report", (2, "html")) in shelf.wishes
        assert "The disk is full. Make room." in " ".join(screen_text(app).split())
        assert app.is_running


async def test_notes_tags_and_names_by_key() -> None:
    shelf = FakeShelf()
    async with listed(shelf, size=(140, 30)) as (app, pilot):
        await press(pilot, "down", "n", "n", "o", "w", "enter")
        assert shelf.annotated[-1] == (OFF, {"notes": "now"})
        await press(pilot, "t", "#", "a", "space", "b", "enter")
        assert shelf.annotated[-1] == (OFF, {"tags": ("a", "b")})
        assert "#a #b now" in row(app, " off ")
        await press(pilot, "N", "2", "enter")
        assert shelf.annotated[-1] == (OFF, {"name": "2"})
        assert app.screen.query_one(OptionList).highlighted == 2


@pytest.mark.parametrize("keys", [("n", "x"), ("t", "x"), ("N", "x")])
async def test_words_that_could_not_be_kept_are_said_to_be(keys: tuple[str, ...]) -> None:
    shelf = FakeShelf()
    async with listed(shelf, size=(140, 30)) as (app, pilot):
        shelf.refuses = EagletuiError("The runs could not be kept.", advice="Make room.")
        await press(pilot, *keys, "enter")
        assert shelf.annotated == []
        await settle(pilot)
        text = " ".join(screen_text(app).split())
        assert "Not written" in text
        assert "The runs could not be kept. Make room." in text
        shelf.refuses = None
        await press(pilot, *keys, "enter")
        assert len(shelf.annotated) == 1


async def test_one_run_is_opened_as_it_is() -> None:
    shelf = FakeShelf()
    async with listed(shelf) as (app, pilot):
        await press(pilot, "enter")
        assert shelf.wishes == [("compare", ((CHAIN2,), None))]
        text = screen_text(app)
        assert "what differs" not in text or "nothing" not in text
        assert "m Markdown" not in text


async def test_yesterday_is_drawn() -> None:
    async with listed(FakeShelf()) as (app, pilot):
        await press(pilot, "end", "enter")
        assert isinstance(app.screen, WatchedScreen)
        text = screen_text(app)
        assert "for 1 h 00 min  gpu1 :30000  Kimi-K2.5  EAGLE3 k=3 topk=1 draft=4" in text
        assert all(chart.builds for chart in app.screen.query(Chart))
        await press(pilot, "escape", "escape")
        assert isinstance(app.screen, MainScreen)


async def test_sessions_are_drawn_beside_runs_from_their_beginnings_without_a_verdict() -> None:
    shelf = FakeShelf()
    async with listed(shelf, size=(120, 40)) as (app, pilot):
        await press(pilot, "space", "end", "space")
        assert "3 runs, 2 marked" in screen_text(app)
        assert "● " in row(app, "for 1 h 00 min")
        await press(pilot, "enter")
        assert isinstance(app.screen, CompareScreen)
        assert shelf.wishes == [("compare", ((CHAIN2,), None))]
        text = screen_text(app)
        assert "chain-2, 1 session beside" in text
        assert "No verdict is given on what was watched" in text
        for verdict in ("faster", "slower", "tie", "not comparable"):
            assert verdict not in text
        watched = next(line for line in text.splitlines() if "for 1 h 00 min" in line)
        assert "EAGLE3 k=3 topk=1 draft=4" in watched
        assert "71.3  acc 2.10" in watched
        for name, first, last in (("tok_s", 70.0, 76.0), ("accept_length", 2.0, 2.0)):
            run, session = app.screen.query_one(f"#over-{name}", Overlay).curves
            assert run.name == "chain-2"
            assert session.name.startswith("EAGLE3 k=3 topk=1 draft=4 ")
            assert (session.seconds[0], session.seconds[-1]) == (0.0, 3600.0)
            assert (session.values[0], session.values[-1]) == (first, last)
        await press(pilot, "escape", "space", "enter")
        assert isinstance(app.screen, CompareScreen)  # the run is marked still


async def test_sessions_alone_are_drawn_over_each_other() -> None:
    later = replace(SESSION, id="s2", began=SESSION.began + 9000.0, speculative="EAGLE3 k=5")
    shelf = FakeShelf(more=(later,))
    async with listed(shelf, size=(120, 40)) as (app, pilot):
        await press(pilot, "end", "space", "up", "space", "enter")
        assert isinstance(app.screen, CompareScreen)
        assert shelf.wishes == []
        text = screen_text(app)
        assert "2 sessions" in text
        assert "No verdict is given on what was watched" in text
        names = [curve.name for curve in app.screen.query_one("#over-tok_s", Overlay).curves]
        assert [name[:-12] for name in names] == [
            "EAGLE3 k=3 topk=1 draft=4", "EAGLE3 k=5",
        ]  # fmt: skip
        assert "b Baseline" not in text
        assert "w Save" not in text
        await press(pilot, "b", "w", "m", "h")
        assert shelf.wishes == []


async def test_a_database_that_cannot_be_read_says_why() -> None:
    shelf = FakeShelf(fails=EagletuiError("The runs are damaged.", advice="Keep a copy."))
    async with listed(shelf) as (app, _):
        assert "✖ The runs are damaged. Keep a copy." in screen_text(app)
        assert app.is_running


async def test_nothing_kept_says_how_to_begin() -> None:
    async with listed(FakeShelf(empty=True)) as (app, pilot):
        assert "No runs are kept yet: a benchmark makes one." in screen_text(app)
        await press(pilot, "enter", "space", "b", "n", "t", "N", "down", "end")
        assert isinstance(app.screen, RunsScreen)
