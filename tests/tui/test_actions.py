"""The table of actions agrees with itself and with the screens."""

from __future__ import annotations

import re

import pytest

from eagletui.model.state import State, fold_all
from eagletui.tui.actions import (
    ACTIONS,
    BY_ID,
    EVERYWHERE,
    GROUPS,
    BadKey,
    actions_of,
    check_keys,
    key_name,
    key_shown,
    keys_of,
)
from eagletui.tui.app import EagleApp
from eagletui.tui.help_text import help_page
from eagletui.tui.screens.bench import BenchScreen
from eagletui.tui.screens.compare import CompareScreen
from eagletui.tui.screens.connecting import ConnectingScreen
from eagletui.tui.screens.log import LogScreen
from eagletui.tui.screens.main import MainScreen
from eagletui.tui.screens.pages import DetailsScreen, HelpScreen, LegendScreen
from eagletui.tui.screens.runs import RunsScreen
from eagletui.tui.screens.servers import ServersScreen
from eagletui.tui.screens.switcher import SwitcherScreen
from eagletui.tui.screens.watched import WatchedScreen
from eagletui.tui.situation import is_valid, situation
from eagletui.tui.widgets.keys_line import keys_line
from tests.tui.scenes import SCENES

SCREENS = {
    screen.KIND: screen
    for screen in (
        ConnectingScreen,
        ServersScreen,
        MainScreen,
        LogScreen,
        DetailsScreen,
        SwitcherScreen,
        BenchScreen,
        RunsScreen,
        CompareScreen,
        WatchedScreen,
        HelpScreen,
        LegendScreen,
    )
}


def test_ids_are_unique_and_defaults_do_not_clash() -> None:
    assert len(BY_ID) == len(ACTIONS)
    check_keys({})


def test_every_screen_of_the_table_exists() -> None:
    assert set(SCREENS) == set(EVERYWHERE)
    assert {a.group for a in ACTIONS} == set(GROUPS)


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_every_action_is_implemented_where_it_is_offered(kind: str) -> None:
    for action in actions_of(kind):
        owner: type = EagleApp if action.call.startswith("app.") else SCREENS[kind]
        name = re.sub(r"\(.*", "", action.call.removeprefix("app."))
        assert callable(getattr(owner, f"action_{name}", None)), (kind, action.id)


@pytest.mark.parametrize(
    ("written", "name", "shown"),
    [
        ("/", "slash", "/"),
        ("+", "plus", "+"),
        ("-", "minus", "-"),
        ("[", "left_square_bracket", "["),
        ("?", "question_mark", "?"),
        ("&", "ampersand", "&"),
        ("ctrl+p", "ctrl+p", "^p"),
        ("N", "N", "N"),
        ("escape", "escape", "esc"),
    ],
)
def test_names_of_keys(written: str, name: str, shown: str) -> None:
    assert key_name(written) == name
    assert key_shown(written) == shown
    assert key_shown(name) == shown


def test_changed_keys() -> None:
    action = BY_ID["log.search"]
    assert keys_of(action, {}) == ("slash",)
    assert keys_of(action, {"log.search": "/,f3"}) == ("slash", "f3")


def test_a_taken_key_is_refused_naming_the_changed_entry() -> None:
    with pytest.raises(BadKey) as caught:
        check_keys({"view.log": "d"})
    assert caught.value.action == "view.log"
    assert '"view.details"' in caught.value.what


def test_what_is_valid_follows_the_situation() -> None:
    def valid(scene: str, name: str, paused: bool = False) -> bool:
        facts = situation(fold_all(State(), SCENES[scene]()), paused=paused)
        return is_valid(BY_ID[name], facts)

    assert not valid("connecting", "view.log")
    assert valid("loading", "view.log")
    assert not valid("loading", "time.pause")
    assert valid("serving", "time.pause")
    assert not valid("serving", "time.back")
    assert valid("serving", "time.back", paused=True)
    assert not valid("serving", "link.retry")
    assert valid("link_lost", "link.retry")
    assert valid("cannot_connect", "link.retry")
    assert not valid("loading", "view.startup")
    assert valid("serving", "view.startup")


@pytest.mark.parametrize("screen", EVERYWHERE)
@pytest.mark.parametrize("width", [*range(14, 60, 5), 60, 80, 120, 200])
def test_the_keys_line_always_says_how_to_learn_and_how_to_leave(screen: str, width: int) -> None:
    facts = frozenset(need for action in actions_of(screen) for need in action.needs)
    text = keys_line(screen, {}, facts, width).plain
    assert len(text) <= width
    assert text.startswith("? Help")
    assert text.endswith("q Quit")
    assert ("esc Back" in text) is (width >= len("? Help  esc Back  q Quit"))


def test_the_keys_line_shows_the_most_useful_keys_in_what_room_is_left() -> None:
    facts = frozenset({"server", "ready", "charts", "servers"})
    assert keys_line("main", {}, facts, 32).plain == "? Help  l Log  d Details  q Quit"
    assert keys_line("main", {}, facts, 31).plain == "? Help  l Log  q Quit"
    assert keys_line("main", {}, facts, 8).plain == "? Help"
    assert "/ Search" in keys_line("log", {}, facts, 80).plain
    assert "f3 Search" in keys_line("log", {"log.search": "f3"}, facts, 80).plain
    assert keys_line("help", {"app.quit": "f10"}, facts, 14).plain == "? Help"
    assert keys_line("help", {"app.quit": "f10"}, facts, 16).plain == "? Help  f10 Quit"


def test_help_lists_every_action_with_the_changed_key() -> None:
    text = help_page("log", {"log.search": "f3"}, frozenset(), 100).plain
    for action in actions_of("log"):
        assert action.name in text
    assert re.search(r"f3 +Search", text)
    assert "not now" in text
