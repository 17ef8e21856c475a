"""The switcher and the restart's strip, driven by keys over a switcher without a host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Button, Input

from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import HostError
from eagletui.model.history import History
from eagletui.model.profile import Guard
from eagletui.model.restart import RULES, RestartState, Standing
from eagletui.model.state import State
from eagletui.model.switching import Choice, Lock, Unfinished
from eagletui.tui.app import EagleApp
from eagletui.tui.config import HostSettings, Settings
from eagletui.tui.screens import switcher as screen
from eagletui.tui.screens.confirm import Confirm, PutBack
from eagletui.tui.screens.main import MainScreen
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.screens.switcher import SwitcherScreen
from eagletui.tui.switching import lock_question
from eagletui.tui.view import View
from tests.tui.driving import Clock, make_app, settle
from tests.tui.scenes import NOW, SCENES
from tests.tui.switcher import DIED, ERROR, WARNING, FakeSwitcher, moment
from tests.tui.text_snapshot import screen_text

LEFT = Unfinished(
    launch="20260119-010203-def456",
    name="kimi-k2.5+chain-7",
    began=0.0,
    standing=Standing(state="loading", replaces=True),
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice need not stand still before the host is asked."""
    monkeypatch.setattr(screen, "STILL", 0.0)


@asynccontextmanager
async def running(
    switcher: FakeSwitcher,
    settings: Settings | None = None,
    *,
    scene: str = "serving",
    read_only: bool = False,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[tuple[EagleApp, Pilot[None]]]:
    app = make_app(SCENES[scene](), settings, switcher=switcher, read_only=read_only)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        yield app, pilot


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def started(pilot: Pilot[None], switcher: FakeSwitcher) -> None:
    """From the main screen into a restart to chain-5."""
    await press(pilot, "s", "down", "down", "enter", "right", "enter")
    assert switcher.made("begin") == [Choice(speculative="chain-5")]


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    for _ in range(20):
        if holds():
            return
        await settle(pilot)
    raise AssertionError("it never came to this")


async def test_the_lists_the_running_rows_and_the_exact_difference() -> None:
    switcher = FakeSwitcher(findings={"chain-5": (WARNING,)})
    async with running(switcher) as (app, pilot):
        await press(pilot, "s")
        assert isinstance(app.screen, SwitcherScreen)
        assert switcher.made("menu") == [(4242, "0.5.16")]
        text = screen_text(app)
        assert "= the same command, environment and folder again" in text
        assert "● chain-3" in text
        await press(pilot, "down", "down")
        text = screen_text(app)
        assert "~ --speculative-num-steps  3 → 5" in text
        assert "~ --speculative-num-draft-tokens  4 → 6" in text
        assert "2 changes, 1 warning" in text
        assert "▲ The server tells its accept length every 40 steps" in text
        await press(pilot, "3", "down")
        text = screen_text(app)
        assert "+ NCCL_PROTO=LL" in text
        assert "~ NCCL_ALGO  Tree → Ring" in text
        assert "~ --speculative-num-steps  3 → 5" in text


async def test_enter_asks_once_with_cancel_in_focus() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await press(pilot, "s", "down", "down", "enter")
        assert isinstance(app.screen, Confirm)
        assert app.screen.focused is app.screen.query_one("#no")
        assert "stops pid 4242 on :30000" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, SwitcherScreen)
        assert switcher.made("begin") == []
        await press(pilot, "enter", "right", "enter")
        assert switcher.made("begin") == [Choice(speculative="chain-5")]
        assert isinstance(app.screen, MainScreen)


@pytest.mark.parametrize("by", ["profile", "config"])
async def test_a_protected_host_wants_its_name(by: str) -> None:
    switcher = FakeSwitcher(guard=Guard(protected=by == "profile"))
    hosts = {"gpu1": HostSettings(protected=by == "config")}
    async with running(switcher, Settings(hosts=hosts)) as (app, pilot):
        await press(pilot, "s", "enter")
        assert app.screen.query_one("#yes", Button).disabled
        await press(pilot, "g", "p", "u", "enter")
        assert isinstance(app.screen, Confirm)
        assert switcher.made("begin") == []
        await press(pilot, "1", "enter")
        assert switcher.made("begin") == [Choice()]


async def test_errors_need_a_second_word_that_says_what_will_fail() -> None:
    switcher = FakeSwitcher(findings={"chain-5": (ERROR,)})
    async with running(switcher) as (app, pilot):
        await press(pilot, "s", "down", "down", "enter", "right", "enter")
        text = screen_text(app)
        assert "this will fail" in text
        assert "EAGLE3 needs a draft model" in text
        await press(pilot, "enter")
        assert switcher.made("begin") == []
        await press(pilot, "enter", "right", "enter", "right", "enter")
        assert switcher.made("begin") == [Choice(speculative="chain-5")]


@pytest.mark.parametrize("by", ["session", "config"])
async def test_read_only_looks_and_starts_nothing(by: str) -> None:
    switcher = FakeSwitcher(left=(LEFT,))
    settings = Settings(hosts={"gpu1": HostSettings(read_only=by == "config")})
    async with running(switcher, settings, read_only=by == "session") as (app, pilot):
        await press(pilot, "U", "s", "enter")
        assert isinstance(app.screen, SwitcherScreen)
        assert switcher.made("begin") == switcher.made("resume") == []
        assert any("Read-only" in note.message for note in app._notifications)


async def test_b_asks_about_what_ran_before() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await press(pilot, "b")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert "kimi-k2.5+chain-2" in screen_text(app)
        await press(pilot, "right", "enter")
        assert switcher.made("begin") == [Choice(back=True)]


async def test_a_second_restart_is_refused_by_name() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("loading")
        await settle(pilot)
        await press(pilot, "s", "enter")
        assert isinstance(app.screen, SwitcherScreen)
        assert len(switcher.made("begin")) == 1
        said = [note.message for note in app._notifications]
        assert "kimi-k2.5+chain-5 is being started (loading): one at a time." in said


@pytest.mark.parametrize("state", [s for s in RULES if RULES[s].cancel])
async def test_the_strip_says_where_it_stands_and_what_a_cancel_would_do(
    state: RestartState,
) -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell(state, "3 in flight")
        await settle(pilot)
        text = screen_text(app)
        assert f"kimi-k2.5+chain-5: {RULES[state].title}"[:60] in text
        assert "0:42" in text
        assert "3 in flight" in text
        assert f"c cancels: {RULES[state].cancel}"[:70] in text
        await press(pilot, "c")
        assert app.screen.focused is app.screen.query_one("#no")
        await press(pilot, "enter")
        assert switcher.made("cancel") == []
        await press(pilot, "c", "right", "enter")
        assert switcher.made("cancel") == [None]


@pytest.mark.parametrize(
    ("keys", "answers"),
    [(("enter",), []), (("escape",), []), (("right", "enter"), [False]),
     (("right", "right", "enter"), [True])],
)  # fmt: skip
async def test_the_question_of_the_roll_back(keys: tuple[str, ...], answers: list[bool]) -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("asking", problem=DIED, old_gone=True, started=True)
        await settle(pilot)
        text = screen_text(app)
        assert "The GPU ran out of memory while loading." in text
        assert "a whether what ran before is put back" in text
        await press(pilot, "a")
        assert isinstance(app.screen, PutBack)
        await press(pilot, *keys)
        assert switcher.made("answer") == answers


async def test_how_it_ended_stays_until_it_is_closed() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("rolled-back", problem=DIED, old_gone=True)
        await until(pilot, lambda: "What ran before is back" in screen_text(app))
        assert "c closes this" in screen_text(app)
        await press(pilot, "c")
        assert "c closes this" not in screen_text(app)


async def test_c_closes_only_what_is_on_the_screen() -> None:
    switcher, clock = FakeSwitcher(), Clock()
    app = make_app(SCENES["serving"](), switcher=switcher, clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await started(pilot, switcher)
        switcher.tell("ready")
        await until(pilot, lambda: "ready" in screen_text(app))
        assert "c Close" in screen_text(app)
        clock.now += 21
        app.draw_now()
        await settle(pilot)
        assert "c Close" not in screen_text(app)


async def test_a_launch_seen_to_its_end_is_not_offered_as_left() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        # The host says what was written there before it wrote that this launch ended.
        switcher.left = (replace(LEFT, launch=moment(switcher.standing).launch), LEFT)
        switcher.tell("ready")
        await until(pilot, lambda: app.restarts.left != ())
        assert app.restarts.left == (LEFT,)


async def test_leaving_during_a_restart_says_what_that_means() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("loading", started=True)
        await settle(pilot)
        await press(pilot, "q")
        text = screen_text(app)
        assert "What was started goes on by itself on the host." in text
        assert "--resume 20260120-025918-abc123" in text
        await press(pilot, "enter")
        assert app.is_running
        await press(pilot, "q", "right", "enter")
    assert ("left", "kimi-k2.5+chain-5") in switcher.wishes


async def test_what_was_left_is_offered() -> None:
    switcher = FakeSwitcher(left=(LEFT,))
    async with running(switcher) as (app, pilot):
        text = screen_text(app)
        assert "launch kimi-k2.5+chain-7 was left at: loading" in text
        await press(pilot, "U")
        assert app.screen.focused is app.screen.query_one("#no")
        assert "It was left at: loading." in screen_text(app)
        await press(pilot, "enter")
        assert switcher.made("resume") == []
        await press(pilot, "U", "right", "enter")
        assert switcher.made("resume") == ["20260119-010203-def456"]


async def test_what_was_meant_to_be_left_says_so() -> None:
    switcher = FakeSwitcher(left=(replace(LEFT, unattended=True),))
    async with running(switcher) as (app, pilot):
        await press(pilot, "U")
        assert "It was started to be left (--no-wait), at: loading." in screen_text(app)


HELD = Lock(
    who="bob@desk", what="launching chain-7 on :30000", since=NOW - 300, quiet=3.0, stale=False
)
LOCKED = Diagnosis(code="locked", severity="error", title="bob@desk is in the middle of it.")


async def test_another_s_lock_is_shown_and_taken_only_after_the_host_s_name() -> None:
    switcher = FakeSwitcher()
    switcher.held = HELD
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("failed", problem=LOCKED)
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        text = screen_text(app)
        assert "bob@desk is in the middle of it: launching chain-7 on :30000" in text
        assert "begun" in text
        assert "Last sign of life 3 s ago." in text
        assert app.screen.query_one("#yes", Button).disabled
        await press(pilot, "enter")
        assert switcher.made("break") == []
        await press(pilot, "g", "p", "u", "1", "enter")
        assert switcher.made("break") == [Choice(speculative="chain-5")]


def test_the_words_of_a_lock() -> None:
    view = View(State(), History(), {}, now=NOW, settings=Settings(), target="gpu1")
    asked = lock_question(HELD, view)
    assert asked.name == "gpu1"
    assert asked.lines[:2] == (
        "bob@desk is in the middle of it: launching chain-7 on :30000, begun 5 min ago.",
        "Last sign of life 3 s ago.",
    )
    assert lock_question(replace(HELD, stale=True), view).name == ""
    damaged = lock_question(replace(HELD, damaged=True, stale=True), view)
    assert (damaged.title, damaged.name) == ("the lock of gpu1 is damaged", "gpu1")
    assert "bob" not in "".join(damaged.lines)


async def test_a_stale_lock_is_taken_by_one_word_with_cancel_in_focus() -> None:
    switcher = FakeSwitcher()
    switcher.held = replace(HELD, stale=True, quiet=400.0)
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("failed", problem=LOCKED)
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert "Their eagletui seems to be gone." in screen_text(app)
        assert app.screen.focused is app.screen.query_one("#no")
        await press(pilot, "enter")
        assert switcher.made("break") == []
        assert "bob@desk is in the middle of it." in screen_text(app), "it still says why"


async def test_a_lock_that_is_free_by_now_is_not_broken() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await started(pilot, switcher)
        switcher.tell("failed", problem=LOCKED)
        await until(pilot, lambda: "The lock is free by now" in screen_text(app))
        assert isinstance(app.screen, MainScreen)
        assert switcher.made("break") == []


async def test_what_somebody_else_is_at_is_taken_over_only_by_name() -> None:
    switcher = FakeSwitcher(left=(replace(LEFT, busy="bob@desk"),))
    switcher.held = HELD
    async with running(switcher) as (app, pilot):
        assert "U takes it over from bob@desk, who is at it" in screen_text(app)
        await press(pilot, "U", "right", "enter")
        await until(pilot, lambda: "another restart on gpu1" in screen_text(app))
        assert switcher.made("resume") == []
        assert app.restarts.left == switcher.left, "it is still offered"
        await press(pilot, "g", "p", "u", "1", "enter")
        assert switcher.made("break") == [LEFT.launch]


async def test_what_is_gone_back_to_is_said_before_it_is_asked() -> None:
    switcher = FakeSwitcher()
    async with running(switcher, size=(100, 30)) as (app, pilot):
        await press(pilot, "b")
        assert isinstance(app.screen, Confirm)
        said = "goes back to kimi-k2.5+chain-2: ready 60 min ago, the last before what runs now"
        assert " ".join(said.split()[:8]) in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, SwitcherScreen)
        assert f"← {said}" in screen_text(app)
        assert switcher.made("begin") == []


async def test_a_host_that_does_not_say_is_told_in_words() -> None:
    switcher = FakeSwitcher(fails=HostError("gpu1 is not connected.", advice="Press r."))
    async with running(switcher) as (app, pilot):
        await press(pilot, "s")
        assert "✖ gpu1 is not connected." in screen_text(app)
        assert "Press r." in screen_text(app)
        await press(pilot, "enter")
        assert switcher.made("begin") == []


async def test_what_runs_is_written_as_a_profile_under_a_name_that_is_asked_for() -> None:
    switcher = FakeSwitcher()
    async with running(switcher, size=(100, 30)) as (app, pilot):
        await press(pilot, "I")
        assert isinstance(app.screen, Prompt)
        assert app.screen.query_one(Input).value == "kimi-k2.5"
        await press(pilot, "end", "-", "x", "enter")
        assert switcher.made("keep") == [(4242, "kimi-k2.5-x", False)]
        text = screen_text(app)
        assert "Profile written" in text
        assert "/home/me/profiles/kimi-k2.5-x.toml" in text
        assert "PATH was kept." in text


async def test_an_import_writes_over_nothing_unasked() -> None:
    switcher = FakeSwitcher()
    switcher.taken = frozenset({"kimi-k2.5"})
    async with running(switcher) as (app, pilot):
        await press(pilot, "I", "enter")
        assert isinstance(app.screen, Confirm)
        assert app.screen.focused is app.screen.query_one("#no")
        assert "/home/me/profiles/kimi-k2.5.toml would be written over" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, Prompt), "another name is asked for"
        assert switcher.made("keep") == [(4242, "kimi-k2.5", False)]
        await press(pilot, "enter", "right", "enter")
        assert switcher.made("keep")[-1] == (4242, "kimi-k2.5", True)


async def test_an_import_given_up_writes_nothing() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await press(pilot, "I", "escape")
        assert switcher.made("keep") == []
        assert isinstance(app.screen, MainScreen)


async def test_a_folder_that_cannot_be_written_is_told_in_words() -> None:
    switcher = FakeSwitcher()
    switcher.keeps = HostError(
        "/home/me/profiles/x.toml cannot be written: Read-only file system.", advice="Make room."
    )
    async with running(switcher) as (app, pilot):
        await press(pilot, "I", "enter")
        assert "Not written" in screen_text(app)
        assert "cannot be written: Read-only" in screen_text(app)
        assert "file system. Make room." in screen_text(app)


async def test_a_name_that_no_file_can_have_is_complained_about_at_once() -> None:
    switcher = FakeSwitcher()
    async with running(switcher) as (app, pilot):
        await press(pilot, "I", "end", "/", "x", "enter")
        assert isinstance(app.screen, Prompt)
        assert "Use letters, digits, dots, dashes and underscores." in screen_text(app)
        assert switcher.made("keep") == []


async def test_without_a_server_there_is_nothing_to_import() -> None:
    switcher = FakeSwitcher()
    async with running(switcher, scene="crashed") as (app, pilot):
        await press(pilot, "I")
        assert isinstance(app.screen, MainScreen)
        assert "No server runs here" in screen_text(app)


async def test_an_import_from_the_switcher_is_in_its_lists_at_once() -> None:
    switcher = FakeSwitcher()
    async with running(switcher, size=(120, 40)) as (app, pilot):
        await press(pilot, "s", "down", "down", "I", "end", "-", "n", "enter")
        assert isinstance(app.screen, SwitcherScreen)
        text = screen_text(app)
        assert "kimi-k2.5-n" in text
        assert "~ --speculative-num-steps  3 → 5" in text, "what was marked stays marked"
