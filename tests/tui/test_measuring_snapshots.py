"""Benchmark, runs, comparison and an old session, as text in four sizes, and two pictures."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from eagletui.tui.app import EagleApp
from tests.tui.benchmarker import LOOPED, WHOLE, FakeBenchmarker, under
from tests.tui.driving import make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.shelf import FakeShelf
from tests.tui.test_snapshots import SIZES, SnapCompare
from tests.tui.text_snapshot import assert_snapshot, screen_text

THREE = ("space", "down", "space", "down", "space")
"""Marks the first three runs."""

# Name → keys from the main screen.
SCREENS: dict[str, tuple[str, ...]] = {
    "bench-form": ("B", "down"),
    "bench-asks": ("B", "enter"),
    "runs": ("C", "space", "down", "b"),
    "compare": ("C", *THREE, "enter"),
    "compare-end": ("C", *THREE, "enter", "end"),
    "watched": ("C", "end", "enter"),
}


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def in_every_size(app: EagleApp, pilot: Pilot[None], name: str, *keys: str) -> None:
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        await settle(pilot)
        await press(pilot, *keys)
        lines = screen_text(app).splitlines()
        assert len(lines) == height
        assert max(map(len, lines)) <= width
        assert_snapshot(app, f"screens/{name}-{width}x{height}")


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lists show the person's own clock."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("name", SCREENS)
async def test_screens_in_every_size(name: str) -> None:
    app = make_app(SCENES["serving"](), benchmarker=FakeBenchmarker(), shelf=FakeShelf())
    async with app.run_test(size=SIZES[0], notifications=False) as pilot:
        await settle(pilot)
        await press(pilot, *SCREENS[name])
        await in_every_size(app, pilot, name, *(("end",) if name.endswith("-end") else ()))


async def test_a_benchmark_in_every_size() -> None:
    benchmarker = FakeBenchmarker()
    app = make_app(SCENES["serving"](), benchmarker=benchmarker, shelf=FakeShelf())
    async with app.run_test(size=SIZES[0], notifications=False) as pilot:
        await settle(pilot)
        await press(pilot, "B", "enter", "right", "enter")
        said = ("Measuring Kimi-K2.5 from the host's own Python (round trip 12.3 ms).",)
        benchmarker.tell(under=under(number=3, concurrency=1), measured=(WHOLE, LOOPED), said=said)
        await settle(pilot)
        await in_every_size(app, pilot, "benching")
        benchmarker.tell(under=None, over=True, partial=True, run="abcdefghijkl")
        await settle(pilot)
        await in_every_size(app, pilot, "benched")


def test_picture_of_a_benchmark(snap_compare: SnapCompare) -> None:
    benchmarker = FakeBenchmarker()
    app = make_app(SCENES["serving"](), benchmarker=benchmarker, shelf=FakeShelf())

    async def begin(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await press(pilot, "B", "enter", "right", "enter")
        benchmarker.tell(under=under(number=3, concurrency=1), measured=(WHOLE, LOOPED))
        await settle(pilot)

    assert snap_compare(app, terminal_size=(120, 35), run_before=begin)


def test_picture_of_a_comparison(snap_compare: SnapCompare) -> None:
    app = make_app(SCENES["serving"](), shelf=FakeShelf())

    async def compare(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await press(pilot, *SCREENS["compare"])

    assert snap_compare(app, terminal_size=(120, 45), run_before=compare)
