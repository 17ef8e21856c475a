"""A replay on the screens, driven by keys; its clock is moved by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from eagletui.model import events as ev
from eagletui.model.server import LogPlace
from eagletui.monitor.replay import Replay
from eagletui.store.recording.reader import Recording
from eagletui.store.recording.recorder import Recorder
from eagletui.store.recording.writer import Limits, Writer
from eagletui.tui.app import EagleApp
from eagletui.tui.config import Settings
from eagletui.tui.screens.main import MainScreen
from tests.store.recording.made import ABOUT, write
from tests.tui.driving import Clock, Hurry, QuietFeed, inject, settle
from tests.tui.scenes import KEY, NOW, connected, found, gpus, process, scrape
from tests.tui.text_snapshot import assert_snapshot, screen_text

SIZE = (80, 24)
BEGIN = NOW - 300.0


def line(number: int) -> str:
    return f"[2026-01-20 02:{55 + number // 60:02d}:{number % 60:02d}] line {number}\n"


def batches(count: int = 301) -> list[tuple[float, list[ev.Event]]]:
    """Five minutes of a server that serves: a scrape and a line of log a second."""
    first: list[ev.Event] = [
        *connected(),
        ev.ServersFound(at=BEGIN, servers=(process(),)),
        ev.ServerSelected(at=BEGIN, server=KEY),
        ev.LogOpened(at=BEGIN, server=KEY, place=LogPlace(kind="file", target="/srv/sglang.log")),
        ev.ServerReady(at=BEGIN, server=KEY),
    ]
    said: list[tuple[float, list[ev.Event]]] = [(BEGIN, first)]
    start = 0
    for number in range(count):
        data = line(number).encode()
        at = BEGIN + number
        text = ev.LogText(at=at, server=KEY, start=start, data=data)
        said.append((at, [text, scrape(at, number)]))
        start += len(data)
    return said


class Driven(EagleApp):
    """An app on a replay that is moved by its keys and by `hand` alone."""

    def __init__(self, recording: Recording, at: float | None = None) -> None:
        self.hand = Clock(50.0)
        self.feed = Replay(recording, at=at, monotonic=self.hand)
        super().__init__(
            self.feed,
            Settings(),
            target="gpu1",
            read_only=True,
            replay=self.feed,
            monotonic=Hurry(),
        )


@asynccontextmanager
async def replayed(
    tmp_path: Path,
    *,
    at: float | None = None,
    events: list[tuple[float, list[ev.Event]]] | None = None,
    close: bool = True,
) -> AsyncIterator[tuple[Driven, Pilot[None]]]:
    path = tmp_path / "a.rec"
    if not path.exists():
        write(path, events or batches(), close=close)
    with Recording(path) as recording:
        app = Driven(recording, at)
        async with app.run_test(size=SIZE, notifications=True) as pilot:
            await caught_up(app, pilot)
            yield app, pilot


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def here(call: Callable[..., object], *given: object) -> object:
        return call(*given)

    monkeypatch.setattr("eagletui.monitor.replay.asyncio.to_thread", here)


async def caught_up(app: Driven, pilot: Pilot[None]) -> None:
    """Until what was asked for is on the screen."""
    await settle(pilot)
    while app.feed.hurrying or app._catching_up:
        await pilot.pause()
    await settle(pilot)
    app.draw_now()
    await settle(pilot)


def memory(app: EagleApp) -> tuple[object, ...]:
    """State, log and charts of a session: all there is."""
    session = app.session
    history = session.history.servers[KEY]
    series = {name: list(one) for name, one in history.series.items()}
    lines = {key: store.lines(store.first, store.end) for key, store in session.logs.items()}
    return session.state, lines, series, list(history.markers)


def main_screen(app: EagleApp) -> MainScreen:
    assert isinstance(app.screen, MainScreen)
    return app.screen


def last_line(app: EagleApp) -> bytes:
    store = app.view.log
    assert store is not None
    return store.line(store.end - 1)


async def test_it_says_that_it_is_a_replay_where_and_how_fast(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=BEGIN + 123.0) as (app, pilot):
        assert isinstance(app.screen, MainScreen)
        strip = screen_text(app).splitlines()
        row = next(text for text in strip if "replay" in text)
        assert row.split() == [
            *("▶", "replay", "×1", "2:03", "of", "5:00", "━━━━━━━─────────", "2026-01-20"),
            "03:57:03",
        ]
        assert last_line(app) == line(123).strip().encode()
        assert_snapshot(app, "screens/replay-80x24")
        for key in ("right_curly_bracket", "right_curly_bracket", "left_curly_bracket"):
            await pilot.press(key)
        await pilot.press("P")
        await settle(pilot)
        assert "‖ held: replay  ×2  2:03 of 5:00" in screen_text(app)


async def test_seek_and_step_by_keys(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=BEGIN + 100.0) as (app, pilot):
        wanted = 100
        for key, by in (
            ("greater_than_sign", 10),
            ("less_than_sign", -10),
            ("right_parenthesis", 60),
            ("left_parenthesis", -60),
            ("less_than_sign", -10),
            ("full_stop", 1),
            ("full_stop", 1),
        ):
            await pilot.press(key)
            await caught_up(app, pilot)
            wanted += by
            assert last_line(app) == line(wanted).strip().encode(), key
            assert app.view.now == BEGIN + wanted
            assert isinstance(app.screen, MainScreen)
        assert app.feed.standing.paused


async def test_back_is_as_if_it_had_never_been_further(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=BEGIN + 200.0) as (app, _):
        fresh, kept = screen_text(app), memory(app)
    async with replayed(tmp_path, at=BEGIN + 260.0) as (app, pilot):
        assert screen_text(app) != fresh
        assert memory(app) != kept
        await pilot.press("left_parenthesis")
        await caught_up(app, pilot)
        assert memory(app) == kept
        assert screen_text(app) == fresh


async def test_what_a_person_looks_at_stays_over_a_seek(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=BEGIN + 200.0) as (app, pilot):
        await pilot.press("1", "1")
        await settle(pilot)
        screen = main_screen(app)
        assert screen._filled == 1
        await pilot.press("less_than_sign")
        await caught_up(app, pilot)
        now = app.screen
        assert now is screen
        assert main_screen(app)._filled == 1


async def test_space_holds_the_whole(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=BEGIN + 100.0) as (app, pilot):
        await pilot.press("space")
        app.hand.now += 30
        await settle(pilot)
        assert (app.feed.standing.paused, app.view.paused_at) == (True, None)
        assert app.view.now == BEGIN + 100.0
        await pilot.press("space")
        assert not app.feed.standing.paused


async def test_nothing_that_changes_a_host_is_offered(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=BEGIN + 100.0) as (app, pilot):
        facts = app.screen.facts if isinstance(app.screen, MainScreen) else frozenset[str]()
        assert "replay" in facts
        assert not facts & {"live", "switcher", "restart", "unfinished"}
        for key in ("s", "b", "I", "plus", "minus", "r", "U", "c"):
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(app.screen, MainScreen), key
        assert app.view.permission().refusal
        await pilot.press("S")
        await settle(pilot)
        assert app.screen.query(OptionList)
        text = screen_text(app)
        assert "Log file" not in text
        assert "Metrics URL" not in text
        assert "replay" in text


async def test_what_is_caught_up_with_pops_up_nothing(tmp_path: Path) -> None:
    said: list[tuple[float, list[ev.Event]]]
    said = [*batches(10), (NOW, [ev.ServerGone(at=NOW, server=KEY)]), (NOW + 60, [gpus(NOW)])]
    async with replayed(tmp_path, at=BEGIN, events=said) as (app, pilot):
        for _ in range(4):
            await pilot.press("right_parenthesis")
        await caught_up(app, pilot)
        assert not app._notifications
        await pilot.press("right_parenthesis")
        await caught_up(app, pilot)
        server = app.session.state.server
        assert server is not None
        assert not server.alive
        assert not app._notifications
        await pilot.press("less_than_sign", "full_stop")
        await caught_up(app, pilot)
        assert [note.title for note in app._notifications] == ["Server gone"]


async def test_a_recording_without_last_words_says_so_at_its_end(tmp_path: Path) -> None:
    async with replayed(tmp_path, at=NOW, close=False) as (app, _):
        assert app.feed.standing.over
        text = screen_text(app)
        assert "■ end of replay" in text
        assert "ends without its last words" in text


async def test_an_empty_recording(tmp_path: Path) -> None:
    write(tmp_path / "a.rec", [])
    async with replayed(tmp_path) as (app, _):
        assert "■ end of replay" in screen_text(app)


async def test_the_live_screen_records_and_says_when_it_ends(tmp_path: Path) -> None:
    recorder = Recorder(Writer(tmp_path / "a", ABOUT, limits=Limits(seconds=10.0)), every=3600.0)
    clock = Clock()
    app = EagleApp(
        QuietFeed([*connected(), *found()]),
        target="gpu1",
        clock=clock,
        monotonic=Hurry(),
        recorder=recorder,
    )
    async with app.run_test(size=(120, 35), notifications=True) as pilot:
        await settle(pilot)
        app.draw_now()
        await settle(pilot)
        assert "● rec 0.0 MB" in screen_text(app)
        recorder.put(NOW + 60, [gpus(NOW)])
        recorder.close()
        for _ in range(2):
            app._tick()
            await settle(pilot)
        assert [note.title for note in app._notifications] == ["The recording ended"]
        await inject(app, pilot, gpus(NOW))
        assert "rec ended" in screen_text(app)
    with Recording(tmp_path / "a") as recording:
        assert [list(frame.events) for frame in recording] == [[*connected(), *found()]]
