"""The switcher and a restart on the main screen, as text in three sizes and one picture."""

from __future__ import annotations

import pytest

from tests.tui.driving import make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.switcher import ERROR, WARNING, FakeSwitcher
from tests.tui.test_snapshots import SnapCompare
from tests.tui.test_switcher import at_once, press, running
from tests.tui.text_snapshot import assert_snapshot, screen_text

SIZES = ((60, 20), (80, 24), (120, 35))
__all__ = ["at_once"]


async def test_the_switcher_in_every_size() -> None:
    switcher = FakeSwitcher(findings={"chain-5": (ERROR,), "pcie-ll-ring": (WARNING,)})
    async with running(switcher, size=SIZES[0]) as (app, pilot):
        await press(pilot, "s", "down", "down", "3", "down")
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            lines = screen_text(app).splitlines()
            assert len(lines) == height
            assert max(map(len, lines)) <= width
            assert_snapshot(app, f"screens/switcher-{width}x{height}")


@pytest.mark.parametrize("size", SIZES)
async def test_a_restart_on_the_main_screen(size: tuple[int, int]) -> None:
    switcher = FakeSwitcher()
    async with running(switcher, size=size) as (app, pilot):
        await press(pilot, "s", "down", "down", "enter")
        assert_snapshot(app, f"screens/switcher-asks-{size[0]}x{size[1]}")
        await press(pilot, "right", "enter")
        switcher.tell("draining", "3 in flight; aborted in 12 s if they have not ended")
        await settle(pilot)
        assert_snapshot(app, f"screens/restarting-{size[0]}x{size[1]}")


def test_picture(snap_compare: SnapCompare) -> None:
    switcher = FakeSwitcher(findings={"chain-5": (WARNING,)})
    app = make_app(SCENES["serving"](), switcher=switcher)
    keys = ("s", "down", "down")
    assert snap_compare(app, terminal_size=(120, 35), press=keys, run_before=settle)
