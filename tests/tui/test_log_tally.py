"""Counting what a search matches, while the log grows and is cut short."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.logfilter import LogFilter
from eagletui.model.logindex import LogIndex
from eagletui.model.logstore import LogStore
from eagletui.tui.screens.log import LogScreen
from eagletui.tui.widgets.log_tally import NOTHING, Count, Tally
from tests.tui.driving import make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.text_snapshot import screen_text

LINES = [f"[2026-11-29 12:00:{n % 60:02d}] line {n}{' ERROR' * (n % 7 == 0)}" for n in range(5000)]


def stored(lines: list[str]) -> LogStore:
    store = LogStore()
    store.append("".join(f"{line}\n" for line in lines).encode())
    return store


def hasty() -> Callable[[], float]:
    """A clock by which every look uses up the whole budget."""
    moments = iter(range(10**9))
    return lambda: float(next(moments))


def counted(tally: Tally) -> None:
    while tally.busy:
        tally.advance(0.5, hasty())


def test_it_counts_in_slices_and_says_that_it_does() -> None:
    store = stored(LINES)
    tally = Tally(store, LogIndex(store))
    assert tally.count(0) == NOTHING
    tally.begin("ERROR")
    seen = []
    while tally.busy:
        tally.advance(0.5, hasty())
        seen.append(tally.count(None))
    wanted = [n for n in range(5000) if n % 7 == 0]
    assert len(seen) > 3
    assert all(count.counting for count in seen[:-1])
    assert seen[-1] == Count(0, len(wanted), False)
    assert tally.count(14).place == 3
    assert tally.count(15).place == 0


def test_lines_that_come_are_counted_and_lines_that_go_are_not() -> None:
    store = stored(LINES[:700])
    tally = Tally(store, LogIndex(store))
    tally.begin("ERROR")
    counted(tally)
    assert tally.count(None).matches == 100
    store.append("".join(f"{line}\n" for line in LINES[700:1400]).encode())
    assert tally.count(None).counting
    counted(tally)
    assert tally.count(None).matches == 200


@given(st.lists(st.sampled_from(["GET /health", "ERROR a", "Decode batch", "x"]), max_size=60))
def test_only_lines_that_are_shown_count(lines: list[str]) -> None:
    store = stored(lines)
    index = LogIndex(store)
    index.set_filter(LogFilter(exclude="ERROR", polls=True, bars=True))
    tally = Tally(store, index)
    tally.begin("[A-Z]")
    counted(tally)
    wanted = [n for n, line in enumerate(lines) if re.search("[A-Z]", line) and "ERROR" not in line]
    assert tally.count(None).matches == len(wanted)
    assert [tally.count(n).place for n in wanted] == list(range(1, len(wanted) + 1))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (Count(3, 41, False), "3 of 41"),
        (Count(3, 41, True), "3 of 41…"),
        (Count(0, 1, False), "1 match"),
        (Count(0, 0, True), "0… matches"),
        (NOTHING, ""),
    ],
)
def test_what_is_said(count: Count, text: str) -> None:
    assert count.text == text


async def test_the_log_screen_says_which_match_of_how_many_it_stands_on() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=(120, 35)) as pilot:
        await settle(pilot)
        await pilot.press("l")
        await settle(pilot)
        await pilot.press("slash", *"Decode", "enter")
        await settle(pilot)
        assert isinstance(app.screen, LogScreen)
        log = app.screen.log_view
        assert log is not None
        total = sum(b"Decode" in log.store.line(n) for n in range(log.store.first, log.store.end))
        assert total > 1
        assert f" of {total}" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        place = log.matches.place
        assert f"{place} of {total}" in screen_text(app)
        await pilot.press("n")
        await settle(pilot)
        assert log.matches.place == place % total + 1
