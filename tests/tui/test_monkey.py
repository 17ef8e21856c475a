"""Keys in no order at all: whatever is pressed, wherever, the program goes on."""

from __future__ import annotations

import asyncio
import random

import pytest
from textual.command import CommandList
from textual.widgets.option_list import Option

from eagletui.tui.actions import ACTIONS, keys_of
from eagletui.tui.app import EagleApp
from eagletui.tui.palette import Palette
from eagletui.tui.widgets.options import Options
from tests.tui.benchmarker import FakeBenchmarker
from tests.tui.driving import make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.shelf import FakeShelf

KEYS, BREATH = 150, 50
# What would end the program, or write a file.
LEFT_OUT = frozenset({"app.quit", "app.interrupt", "app.screenshot"})
BOUND = sorted({key for row in ACTIONS if row.id not in LEFT_OUT for key in keys_of(row, {})})
MORE = (*"0123456789azx", *("pageup", "pagedown", "home", "end", "up", "down", "tab", "backspace"))
OFTEN = ("ctrl+p", "pageup", "pagedown", "escape") * 4
ALL = (*BOUND, *MORE, *OFTEN)
SCENE_OF_SEED = ("serving", "several", "none_found", "serving", "serving")


@pytest.mark.parametrize(("seed", "scene"), list(enumerate(SCENE_OF_SEED)))
async def test_any_keys_in_any_order(
    seed: int, scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stay(app: EagleApp) -> None:
        """Both are in the palette too."""

    monkeypatch.setattr(EagleApp, "action_quit", stay)
    monkeypatch.setattr(EagleApp, "action_picture", stay)
    chance = random.Random(seed)
    app = make_app(SCENES[scene](), benchmarker=FakeBenchmarker(), shelf=FakeShelf())
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        for _ in range(KEYS // BREATH):
            # As a terminal delivers keys that wait.
            for key in chance.choices(ALL, k=BREATH):
                app.simulate_key(key)
            if chance.random() < 0.5:
                await pilot.resize_terminal(*chance.choice([(30, 8), (100, 30), (60, 20)]))
            await pilot.pause()
        while not app._message_queue.empty():  # a key left over would meet an app that closes
            await pilot.pause()
        await settle(pilot)
        assert app.is_running
    assert app.return_code in (0, None)


@pytest.mark.parametrize("key", ["pageup", "pagedown", "ctrl+end", "down"])
async def test_the_palette_takes_page_keys_before_it_has_a_size(key: str) -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.action_command_palette()
        await settle(pilot)
        palette = app.screen
        assert isinstance(palette, Palette)
        commands = palette.query_one(CommandList)
        commands.styles.display = "none"
        await settle(pilot)
        commands.clear_options().add_options([Option("a"), Option("b")])
        commands.highlighted = 0
        await pilot.press(key)
        assert app.is_running


async def test_a_search_that_outlives_the_palette_finds_what_it_knew() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.action_command_palette()
        await settle(pilot)
        palette = app.screen
        assert isinstance(palette, Palette)
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen is not palette
        palette._watch__list_visible()
        await palette._watch__show_busy()
        await asyncio.sleep(0)
        assert app.is_running


@pytest.mark.parametrize("key", ["pageup", "pagedown"])
async def test_a_list_takes_page_keys_before_it_has_a_size(key: str) -> None:
    app = make_app(SCENES["several"]())
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        cards = app.screen.query_one("#cards", Options)
        cards.styles.height = 0
        cards.styles.max_height = 0
        await settle(pilot)
        cards.clear_options().add_options([Option("a"), Option("b")])
        cards.highlighted = 1
        await pilot.press(key)
        assert app.is_running
        assert cards.highlighted == 1
