"""The application, driven by keys and injected events. Both clocks stand still."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import pytest
from textual.widgets import Input, OptionList

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import HostError
from eagletui.tui.app import EagleApp
from eagletui.tui.config import HostSettings, Settings
from eagletui.tui.messages import EventsArrived
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.main import PANELS, MainScreen
from eagletui.tui.screens.prompt import Prompt
from tests.tui.driving import Clock, Hurry, QuietFeed, inject, make_app, settle
from tests.tui.scenes import KEY, NOW, SCENES, connected, found, gpus, process, scrape
from tests.tui.text_snapshot import screen_text

WIDE = (120, 35)


def kind(app: EagleApp) -> str:
    """Which screen is on top."""
    assert isinstance(app.screen, EagleScreen)
    return app.screen.KIND


def main_screen(app: EagleApp) -> MainScreen:
    """The live screen on top."""
    assert isinstance(app.screen, MainScreen)
    return app.screen


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        ("connecting", "connecting"),
        ("cannot_connect", "connecting"),
        ("none_found", "servers"),
        ("several", "servers"),
        ("loading", "main"),
        ("serving", "main"),
        ("link_lost", "main"),
        ("crashed", "main"),
    ],
)
async def test_each_scene_has_its_screen(scene: str, expected: str) -> None:
    app = make_app(SCENES[scene]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert kind(app) == expected


async def test_the_feed_chooses_not_the_screen() -> None:
    feed = QuietFeed([*connected(), ev.ServersFound(at=NOW, servers=(process(),))])
    app = make_app(feed=feed)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert (feed.wishes, kind(app)) == ([], "servers")
        await inject(app, pilot, ev.ServerSelected(at=NOW, server=KEY))
        assert kind(app) == "main"


@pytest.mark.parametrize("scene", ["none_found", "several", "loading", "serving"])
async def test_what_is_queued_behind_the_word_to_leave_draws_nothing(scene: str) -> None:
    # A signal comes at any moment: also just before the first sight of a server and its log.
    app = make_app(SCENES["connecting"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        app.exit(return_code=143)
        app.post_message(EventsArrived(SCENES[scene]()))
        app.call_later(app.draw_now)
    assert app.return_code == 143


@pytest.mark.parametrize("scene", ["none_found", "several", "loading", "serving"])
async def test_a_screen_is_about_to_be_put_up_when_the_word_to_leave_comes(scene: str) -> None:
    app = make_app(SCENES["connecting"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        app._take(EventsArrived(SCENES[scene]()))
        app.exit(return_code=143)
    assert app.return_code == 143


async def test_choosing_from_the_list() -> None:
    feed = QuietFeed(SCENES["several"]())
    app = make_app(feed=feed)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert app.screen.query_one("#cards", OptionList).option_count == 3
        await pilot.press("down", "enter")
        assert feed.wishes == [("select", "5151@1200")]


async def test_the_list_keeps_its_mark_while_the_look_is_repeated() -> None:
    events = list(SCENES["several"]())
    app = make_app(events)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("down", "down")
        looked = next(event for event in events if isinstance(event, ev.ServersFound))
        await inject(app, pilot, ev.ServersFound(at=NOW + 1, servers=looked.servers))
        assert app.screen.query_one("#cards", OptionList).highlighted == 2


async def test_back_to_the_list_and_to_the_server() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("S")
        await settle(pilot)
        assert kind(app) == "servers"
        await pilot.press("enter")
        await settle(pilot)
        assert kind(app) == "main"


async def test_none_found_takes_a_path_and_an_address() -> None:
    feed = QuietFeed(SCENES["none_found"]())
    app = make_app(feed=feed)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("o")
        await settle(pilot)
        app.screen.query_one(Input).value = "/srv/logs/*.log"
        await pilot.press("enter")
        await pilot.press("u")
        await settle(pilot)
        app.screen.query_one(Input).value = "http://127.0.0.1:30000"
        await pilot.press("enter")
        await pilot.press("o")
        await settle(pilot)
        await pilot.press("escape")
        assert feed.wishes == [("log", "/srv/logs/*.log"), ("metrics", "http://127.0.0.1:30000")]


async def test_the_screen_stays_when_the_link_is_lost_and_says_so() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        lost = ev.LinkChanged(at=NOW, link="lost", detail="no answer", retry_at=NOW + 8)
        await inject(app, pilot, lost)
        assert kind(app) == "main"
        assert "connection lost" in app.screen.query_one("#header").render().plain  # type: ignore[union-attr]
        assert "next try in 8.0 s" in app.screen.query_one("#verdicts").render().plain  # type: ignore[union-attr]
        await inject(app, pilot, ev.LinkChanged(at=NOW + 1, link="connected"))
        assert "connected" in app.screen.query_one("#header").render().plain  # type: ignore[union-attr]


async def test_the_countdown_counts() -> None:
    clock = Clock()
    app = make_app(SCENES["cannot_connect"](), clock=clock)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "next try in 18 s" in app.screen.query_one("#steps").render().plain  # type: ignore[union-attr]
        clock.now += 5
        app.draw_now()
        assert "next try in 13 s" in app.screen.query_one("#steps").render().plain  # type: ignore[union-attr]


async def test_retry_now() -> None:
    feed = QuietFeed(SCENES["cannot_connect"]())
    app = make_app(feed=feed)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("r")
        assert feed.wishes == [("reconnect", None)]


async def test_a_feed_that_cannot_be_made_is_an_error_on_the_screen() -> None:
    def broken(asker: object) -> QuietFeed:
        raise HostError("There is no ~/.ssh/config.", advice="Write one.")

    app = EagleApp(broken, Settings(), clock=Clock(), monotonic=Hurry())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await app.workers.wait_for_complete()
        await settle(pilot)
        text = app.screen.query_one("#steps").render().plain  # type: ignore[union-attr]
        assert "There is no ~/.ssh/config." in text
        assert "Write one." in text


async def test_digits_focus_and_fill_and_escape_goes_back() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        screen = main_screen(app)
        for digit, name in PANELS.items():
            if digit == 6:
                continue
            await pilot.press(str(digit))
            assert screen.focused_panel == digit
            before = screen.query_one(f"#{name}").size
            await pilot.press(str(digit))
            await settle(pilot)
            after = screen.query_one(f"#{name}").size
            assert after.width > 110
            assert after.height > before.height
            await pilot.press("escape")
            await settle(pilot)
            assert screen.query_one(f"#{name}").size == before
        await pilot.press("6", "6")
        await settle(pilot)
        assert kind(app) == "log"
        await pilot.press("escape")
        assert kind(app) == "main"


async def test_pause_holds_the_charts_and_scrubbing_stays_in_what_is_kept() -> None:
    clock = Clock()
    app = make_app(SCENES["serving"](), clock=clock)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("left")
        assert app.view.paused_at is None
        await pilot.press("space")
        assert app.view.span == (NOW - 300, NOW)
        clock.now += 60
        assert app.view.span == (NOW - 300, NOW)
        await pilot.press("left")
        assert app.view.span == (NOW - 375, NOW - 75)
        await pilot.press("right", "right", "right")
        assert app.view.span[1] == NOW + 60
        for _ in range(20):
            await pilot.press("left")
        assert app.view.span[1] == NOW - 600
        await pilot.press("space")
        assert app.view.span == (NOW + 60 - 300, NOW + 60)


async def test_windows() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        seen = []
        for key in ("]", "]", "]", "]", "[", "t", "t", "["):
            await pilot.press(key)
            seen.append(app.view.window)
        assert seen == ["15m", "1h", "all", "all", "1h", "all", "1m", "1m"]


async def test_the_interval_is_bounded_and_told_to_the_feed() -> None:
    feed = QuietFeed(SCENES["serving"]())
    app = make_app(feed=feed)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("-", "-", "-")
        assert app.view.interval == 0.2
        await pilot.press(*"+" * 8)
        assert app.view.interval == 30.0
        assert ("interval", 0.2) in feed.wishes
        assert ("interval", 30.0) in feed.wishes


async def test_the_ladder_is_reachable_after_ready() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert not app.screen.query_one("#ladder").display
        await pilot.press("g")
        await settle(pilot)
        assert app.screen.query_one("#ladder").display
        assert not app.screen.query_one("#charts").display
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen.query_one("#charts").display


async def test_the_ladder_gives_way_to_the_charts_when_ready() -> None:
    app = make_app(SCENES["loading"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert app.screen.query_one("#ladder").display
        await inject(app, pilot, ev.ServerReady(at=NOW, server=KEY), scrape(NOW, 1))
        assert not app.screen.query_one("#ladder").display
        assert app.screen.query_one("#charts").display


async def test_help_is_made_of_the_bindings_and_follows_config() -> None:
    app = make_app(SCENES["serving"](), Settings(keys={"view.log": "f4"}))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("?")
        await settle(pilot)
        assert kind(app) == "help"
        text = app.screen.query_one("#text").render().plain  # type: ignore[union-attr]
        assert "f4" in text
        await pilot.press("escape")
        await pilot.press("l")
        assert kind(app) == "main", "the old key is free"
        await pilot.press("f4")
        await settle(pilot)
        assert kind(app) == "log"


async def test_details_are_searchable() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("d")
        await settle(pilot)
        await pilot.press("/", *"nccl")
        await settle(pilot)
        text = app.screen.query_one("#text").render().plain  # type: ignore[union-attr]
        assert "NCCL_PROTO" in text
        assert "--port 30000" not in text
        await pilot.press("escape")
        await settle(pilot)
        text = app.screen.query_one("#text").render().plain  # type: ignore[union-attr]
        assert "--port 30000" in text
        assert "--api-key •••" in text
        await pilot.press("escape")
        assert kind(app) == "main"


async def test_the_palette_offers_only_what_is_possible() -> None:
    from eagletui.tui.palette import ActionCommands, Palette

    app = make_app(SCENES["loading"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        names = {action.id for _, action in ActionCommands(app.screen).offered()}
        assert "view.log" in names
        assert not {"time.pause", "link.retry", "view.startup"} & names
        await inject(app, pilot, ev.ServerReady(at=NOW, server=KEY))
        names = {action.id for _, action in ActionCommands(app.screen).offered()}
        assert {"time.pause", "view.startup"} <= names
        await pilot.press("colon")
        await settle(pilot)
        assert isinstance(app.screen, Palette)


async def test_interrupt_says_how_to_leave_and_leaves_on_the_second() -> None:
    app = make_app(SCENES["serving"](), monotonic=Clock())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+c")
        assert app.is_running
        assert [n.message for n in app._notifications] == [
            "Press ctrl+c again, or q, to leave. The server keeps running."
        ]
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app._exit


@pytest.mark.parametrize("dialog", ["prompt", "palette", "two"])
async def test_what_happens_is_shown_under_a_dialog(dialog: str) -> None:
    clock = Clock()
    app = make_app(SCENES["serving"](), clock=clock)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        if dialog == "palette":
            app.action_command_palette()
        else:
            app.push_screen(Prompt("Tag", "one word"))
        await settle(pilot)
        if dialog == "two":
            app.push_screen(Prompt("Another", "one word"))
        await settle(pilot)
        [below] = [screen for screen in app.screen_stack if isinstance(screen, MainScreen)]
        assert below is not app.screen
        assert "77" not in screen_text(app, below)
        await inject(app, pilot, scrape(NOW + 1, 1, running=77))
        assert "77" in screen_text(app, below)
        before = screen_text(app, below)
        clock.now += 61
        app.draw_now()
        await settle(pilot)
        assert screen_text(app, below) != before


async def test_a_flood_of_batches_is_drawn_at_most_ten_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    app = make_app(SCENES["serving"](), clock=clock, monotonic=clock)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        drawn: list[float] = []
        monkeypatch.setattr(main_screen(app), "show", lambda view: drawn.append(view.now))
        for step in range(50):
            clock.now += 0.01
            app._take(_batch(step))
        assert 4 <= len(drawn) <= 6


def _batch(step: int) -> EventsArrived:
    return EventsArrived([gpus(NOW + step / 100)])


@pytest.mark.parametrize("size", [(59, 24), (80, 19), (20, 5)])
async def test_too_small_says_what_is_needed(size: tuple[int, int]) -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert app.screen.query_one("#too-small").display
        assert not app.screen.query_one("#top").display
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        assert not app.screen.query_one("#too-small").display
        assert app.screen.query_one("#top").display


async def test_an_unknown_theme_is_said_and_does_not_block() -> None:
    app = make_app(SCENES["serving"](), Settings(theme="eagel"))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert app.theme == "textual-dark"
        assert any('"eagel"' in n.title for n in app._notifications)


async def test_a_host_has_its_accent_and_may_be_read_only() -> None:
    hosts = {"gpu1": HostSettings(accent="#b3261e", read_only=True)}
    app = make_app(SCENES["serving"](), Settings(hosts=hosts))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        header = app.screen.query_one("#header")
        assert header.styles.background.hex6.lower() == "#b3261e"
        assert "read-only" in header.render().plain  # type: ignore[union-attr]


async def test_an_accent_that_is_no_colour_is_said() -> None:
    app = make_app((), Settings(hosts={"gpu1": HostSettings(accent="rouge")}))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert [n.message for n in app._notifications] == ['"rouge" is not a colour.']


async def test_panels_that_say_the_same_are_not_painted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        painted: list[str] = []

        def note(name: str, *args: object, **options: object) -> None:
            painted.append(name)

        for panel in app.screen.query("Panel"):
            monkeypatch.setattr(panel, "refresh", partial(note, str(panel.id)))
        app.draw_now()
        assert painted == []


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    code = (
        "import sys, eagletui.cli.demo\n"
        "from eagletui.cli.screen import AFTER_THE_FIRST_PAINT\n"
        "heavy = {'asyncssh', 'aiohttp', 'plotext', 'tomlkit', 'rich.markdown', 'cryptography'}\n"
        "heavy |= {'eagletui.simulator.host', 'eagletui.monitor.monitor', *AFTER_THE_FIRST_PAINT}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_selecting_another_server_shows_its_log() -> None:
    other = process(key="77@1", pid=77, model="/models/other", port=30020)
    app = make_app([*connected(), *found()])
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await inject(
            app,
            pilot,
            ev.ServersFound(at=NOW, servers=(process(), other)),
            ev.LogText(at=NOW, server=KEY, start=0, data=b"first\n"),
            ev.LogText(at=NOW, server="77@1", start=0, data=b"second\n"),
        )
        holder = main_screen(app).query_one("#tail")
        await inject(app, pilot, ev.ServerSelected(at=NOW, server="77@1"))
        assert getattr(holder, "log_view").store is app.session.logs["77@1"]  # noqa: B009


async def test_escape_leads_back_from_the_list_to_the_watched_server() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("S")
        await settle(pilot)
        assert "esc Back" in app.screen.query_one("#keys").render().plain  # type: ignore[union-attr]
        await pilot.press("escape")
        await settle(pilot)
        assert kind(app) == "main"


@pytest.mark.parametrize("scene", ["serving", "loading"])
@pytest.mark.parametrize("size", [(60, 20), (80, 40), (120, 35), (120, 50)])
async def test_a_filled_panel_takes_all_the_room(scene: str, size: tuple[int, int]) -> None:
    app = make_app(SCENES[scene]())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        screen = main_screen(app)
        for keys, name in (("55", "gpus"), ("6", "tail")):
            await pilot.press(*keys)
            await settle(pilot)
            rest = sum(screen.query_one(n).size.height for n in ("#header", "#verdicts", "#keys"))
            assert screen.query_one(f"#{name}").outer_size.height == size[1] - rest


async def test_a_server_that_was_stopped_is_shown_everywhere() -> None:
    stop = Diagnosis(code="terminated", severity="info", title="Stopped by SIGTERM")
    events = [
        *SCENES["serving_by_log"](),
        ev.Diagnosed(at=NOW, server=KEY, diagnosis=stop, ended=True),
    ]
    app = make_app(events)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "STOPPED" in app.screen.query_one("#verdicts").render().plain  # type: ignore[union-attr]
        await pilot.press("S")
        await settle(pilot)
        card = app.screen.query_one("#cards", OptionList).options[0].prompt
        assert "STOPPED" in str(card)


async def test_a_screenshot_that_cannot_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", "/[/nowhere]")

    app = make_app(SCENES["serving"]())
    monkeypatch.setattr(app, "save_screenshot", refuse)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("f8")
        await settle(pilot)
        assert [(n.title, n.severity) for n in app._notifications] == [
            ("No screenshot saved", "error")
        ]


async def test_remote_text_is_no_markup() -> None:
    app = make_app(SCENES["serving"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await inject(app, pilot, ev.LinkChanged(at=NOW, link="lost", detail="[/b] [link=x\x1b[1m"))
        assert [(n.message, n.markup) for n in app._notifications] == [("[/b] [link=x", False)]


async def test_a_search_that_finds_nothing_and_a_filter_that_hides_all_say_so() -> None:
    app = make_app(SCENES["loading"]())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("6", "e")
        await settle(pilot)
        assert [n.message for n in app._notifications] == ["The log that is kept has no error."]
        await pilot.press("l")
        await settle(pilot)
        for key in ("e", "E"):
            await pilot.press(key)
            await settle(pilot)
            assert "no error" in app.screen.query_one("#status").render().plain  # type: ignore[union-attr]
        assert "x shows more" not in screen_text(app)
        await pilot.press("v", "v", "v")
        await settle(pilot)
        assert "No line passes what is hidden and filtered; x shows more." in screen_text(app)
