"""The application: folds events, keeps the moment, and tells the screen on top to draw."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.text import Text
from textual import on
from textual.color import Color, ColorParseError
from textual.css.query import NoMatches
from textual.timer import Timer
from textual.widget import MountError

from eagletui.model.ask import Asker
from eagletui.model.benchmarking import Benchmarker
from eagletui.model.benchmarking import Moment as BenchMoment
from eagletui.model.errors import EagletuiError
from eagletui.model.events import Event, LinkChanged
from eagletui.model.feed import Feed
from eagletui.model.keeping import RunShelf
from eagletui.model.state import State
from eagletui.model.switching import Switcher
from eagletui.tui.ask import ScreenAsker
from eagletui.tui.benching import leave_question as leave_bench_question
from eagletui.tui.collecting import collect_quietly
from eagletui.tui.config import Settings
from eagletui.tui.crash import safe_traceback
from eagletui.tui.features.benchmarks import BenchActions
from eagletui.tui.features.pages import PageActions
from eagletui.tui.features.replays import ReplayActions
from eagletui.tui.features.restarts import RestartActions
from eagletui.tui.features.runs import RunActions
from eagletui.tui.leaving import leave_on_signals
from eagletui.tui.messages import (
    EventsArrived,
)
from eagletui.tui.palette import ActionCommands
from eagletui.tui.restarting import Restarts
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.connecting import ConnectingScreen
from eagletui.tui.session import Session, Toast, slices
from eagletui.tui.switching import (
    leave_question,
)
from eagletui.tui.theme import Themes, every_theme, own_variables
from eagletui.tui.view import View

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eagletui.monitor.replay import Replay
    from eagletui.store.recording.recorder import Recorder

FRAME = 0.1
TICK = 1.0
# Slices of events that may wait in the message queue: a key waits for these at most.
AHEAD = 8
FALLBACK_THEME = "textual-dark"

FeedMaker = Callable[[Asker], "Feed | Awaitable[Feed]"]
SwitcherMaker = Callable[[], "Switcher | None"]
BenchmarkerMaker = Callable[[], "Benchmarker | None"]


class SessionTaker(Protocol):
    """Keeps what the charts show."""

    @property
    def words(self) -> str:
        """Why nothing is kept for now, "" while all is well."""
        ...

    def put(self, at: float, events: Sequence[Event]) -> None:
        """What came; never waits for a disk."""
        ...


class EagleApp(RestartActions, BenchActions, RunActions, ReplayActions, PageActions):
    """Watches one host.

    Args:
        feed: where events come from, or what makes it. It is made after the first paint, so that
            nothing heavy is imported before, and is given the dialogs that answer its questions.
        settings: what `config.toml` says.
        switcher: who changes what runs, or what gives it once there is a feed; None for nobody.
        benchmarker: who measures, or what gives it once there is a feed; None for nobody.
        shelf: gives what was measured before, once it is wanted; None for nothing.
        target: the host as the person named it, for the header.
        read_only: nothing changes the host in this session.
        replay: the feed, where it is a recording: it is held, wound and has a clock of its own.
        recorder: is given every event, with the moment it came.
        sessions: the same, to keep what the charts show.
        clock: seconds since the epoch.
        monotonic: seconds that never go back.
        themes: themes to offer; None reads ours and the person's.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "eagletui"
    COMMANDS = {ActionCommands}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar = []

    def __init__(
        self,
        feed: Feed | FeedMaker,
        settings: Settings | None = None,
        *,
        switcher: Switcher | SwitcherMaker | None = None,
        benchmarker: Benchmarker | BenchmarkerMaker | None = None,
        shelf: Callable[[], RunShelf] | None = None,
        target: str = "",
        read_only: bool = False,
        replay: Replay | None = None,
        recorder: Recorder | None = None,
        sessions: SessionTaker | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        themes: Themes | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings or Settings()
        self.session = Session()
        self.asker = ScreenAsker(self)
        self.clock = clock if replay is None else replay.now
        self.monotonic = monotonic
        self._target = target
        self._read_only = read_only
        self.replay = replay
        self._recorder = recorder
        self._sessions = sessions
        self._told: set[str] = set()
        self._catching_up = False
        self._feed_or_maker = feed
        self._feed: Feed | None = None
        self._switcher_or_maker = switcher
        self.restarts = Restarts(self, None if callable(switcher) else switcher)
        self._benchmarker_or_maker = benchmarker
        self.benchmarker = None if callable(benchmarker) else benchmarker
        self._shelf = shelf
        self.bench: BenchMoment | None = None
        self.window = self.settings.window
        self.paused_at: float | None = None
        self.rate = self.settings.interval
        self._wants_list = False
        self._due: Timer | None = None
        self._drawn_at = float("-inf")
        self._leaving = False
        self._interrupted_at = float("-inf")
        self._themes = themes
        self._room = asyncio.Semaphore(AHEAD)
        self.set_keymap(dict(self.settings.keys))

    # --- start -------------------------------------------------------------------------------

    def get_css_variables(self) -> dict[str, str]:
        """Textual's and our own colours."""
        variables = super().get_css_variables()
        variables = {**own_variables(self.current_theme, variables), **variables}
        self.theme_variables = variables
        return variables

    def on_mount(self) -> None:
        """Themes, then the feed as soon as something is on the screen."""
        if not self.is_headless:
            leave_on_signals(lambda status: self.exit(return_code=status))
        self._use_themes()
        self.push_screen(ConnectingScreen())
        self.set_interval(TICK, self._tick)
        self.call_after_refresh(self._start_feed)

    def _use_themes(self) -> None:
        found = self._themes or every_theme()
        for theme in found.themes.values():
            self.register_theme(theme)
        for problem in found.problems:
            self.notify(str(problem), title="A theme is left out", severity="warning", markup=False)
        chosen = self.settings.host(self._target).accent
        if chosen and self.accent is None:
            self.notify(
                f'"{chosen}" is not a colour.', title="accent", severity="warning", markup=False
            )
        if self.settings.theme in self.available_themes:
            self.theme = self.settings.theme
            return
        self.theme = FALLBACK_THEME
        self.notify(
            f"Known themes: {', '.join(sorted(self.available_themes))}.",
            title=f'There is no theme "{self.settings.theme}"',
            severity="warning",
            markup=False,
        )

    def _start_feed(self) -> None:
        if not self.is_headless:
            collect_quietly()
        self.run_worker(self._pump(), name="feed", exclusive=True, group="feed")

    def exit(
        self, result: None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Leave; what is still in the queues draws nothing more.

        Between the word and the end Textual mounts no widget, which would be taken for a fault.
        """
        self._leaving = True
        super().exit(result, return_code, message)

    def _handle_exception(self, error: Exception) -> None:
        """A screen that was about to be put up when the word to leave came misses its widgets."""
        if not (self._leaving and isinstance(error, MountError | NoMatches)):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Leave after a fault of ours: no local variables, no secrets, no control characters."""
        self.bell()
        self._exit_renderables.append(Text(safe_traceback()))
        self._close_messages_no_wait()

    async def _pump(self) -> None:
        """Hand every batch of events to the message queue; this worker touches no widget."""
        try:
            made = self._feed_or_maker
            if callable(made):
                result = made(self.asker)
                self._feed = await result if inspect.isawaitable(result) else result
            else:
                self._feed = made
            if callable(self._switcher_or_maker):
                self.restarts.switcher = self._switcher_or_maker()
            if callable(self._benchmarker_or_maker):
                self.benchmarker = self._benchmarker_or_maker()
            async for events in self._feed.events():
                if self._recorder is not None:
                    self._recorder.put(self.clock(), events)
                if self._sessions is not None:
                    self._sessions.put(self.clock(), events)
                quiet = self.replay is not None and self.replay.hurrying
                for part in slices(events) if events else [()]:
                    await self._room.acquire()
                    self.post_message(EventsArrived(part, quiet))
        except EagletuiError as error:
            failed = LinkChanged(
                at=self.clock(),
                link="failed",
                detail=error.what,
                meaning=error.meaning,
                advice=error.advice,
            )
            self.post_message(EventsArrived([failed]))

    # --- events in, screens out ----------------------------------------------------------------

    @property
    def view(self) -> View:
        """What there is to see now."""
        return View(
            state=self.session.state,
            history=self.session.history,
            logs=self.session.logs,
            now=self.clock(),
            settings=self.settings,
            window=self.window,
            paused_at=self.paused_at,
            interval=self.interval,
            read_only=self._read_only,
            target=self._target,
            switchable=self.restarts.switcher is not None,
            restart=self.restarts.moment,
            unfinished=self.restarts.left,
            measurable=self.benchmarker is not None,
            shelved=self._shelf is not None,
            bench=self.bench,
            replay=self.replay.standing if self.replay is not None else None,
            recording=self._recording_words(),
        )

    @property
    def accent(self) -> Color | None:
        """Colour of the header for this host, where the person chose one."""
        chosen = self.settings.host(self._target).accent
        try:
            return Color.parse(chosen) if chosen else None
        except ColorParseError:
            return None

    @on(EventsArrived)
    def _take(self, message: EventsArrived) -> None:
        self._room.release()
        if self._leaving:
            return
        for toast in self.session.take(message.events):
            # That the old server goes is what a restart is for; how the new one fares, it says.
            news = self.restarts.active is None or toast.severity != "error"
            if news and not message.quiet:
                self.pop_up(toast)
        if self.session.state.connected:
            self.restarts.connected()
        self._catching_up = message.quiet
        if not message.quiet:
            self.draw_soon()

    def draw_soon(self) -> None:
        wait = self._drawn_at + FRAME - self.monotonic()
        if wait <= 0:
            self.draw_now()
        elif self._due is None:
            self._due = self.set_timer(wait, self.draw_now)

    def draw_now(self) -> None:
        """Let the uppermost full screen show what is known, without waiting for the next frame."""
        if self._leaving or not self.is_running:
            return
        if self._due is not None:
            self._due.stop()
            self._due = None
        self._drawn_at = self.monotonic()
        if not self._catching_up:  # what is true in between is true for no time
            self._go_where_it_belongs()
        for screen in reversed(self.screen_stack):
            if isinstance(screen, EagleScreen):  # also where a dialog lies on it
                screen.refresh_view()
                break

    def _tick(self) -> None:
        """Clocks that count, where no event drew them a moment ago."""
        if self.monotonic() - self._drawn_at >= TICK / 2:
            self.draw_now()
        self._tell_of_disk()

    def _recording_words(self) -> str:
        if self._recorder is None:
            return ""
        size = f"{self._recorder.size / 1e6:.1f} MB"
        return f"● rec {size}" if self._recorder.ended is None else f"rec ended, {size}"

    def _tell_of_disk(self) -> None:
        """Once, when something is no longer kept: everything else goes on."""
        for title, keeper in (
            ("The recording ended", self._recorder),
            ("What is watched is not kept", self._sessions),
        ):
            if keeper is not None and keeper.words and title not in self._told:
                self._told.add(title)
                self.pop_up(Toast(title, keeper.words, "warning"))

    # --- leaving ---------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leave; while something goes on, say first what that means."""
        moment, bench = self.restarts.active, self.benching
        if moment is not None:
            self.agreed(leave_question(moment), self.exit, no="Stay")
        elif bench is not None:
            self.agreed(leave_bench_question(bench), self.exit, no="Stay")
        else:
            self.exit()

    # --- which screen --------------------------------------------------------------------------

    def _go_where_it_belongs(self) -> None:
        state = self.session.state
        base = next((s for s in self.screen_stack if isinstance(s, EagleScreen)), None)
        kind = place(state, self._wants_list)
        if base is None or kind == base.KIND:
            return
        if base is not self.screen:
            # Something lies on top of it: change places when that is closed.
            return
        self.switch_screen(_make(kind))

    def close_screen(self) -> None:
        """Close the screen on top, if it is not the last."""
        if sum(isinstance(s, EagleScreen) for s in self.screen_stack) > 1:
            self.pop_screen()
            self.call_after_refresh(self.draw_now)
        elif self._wants_list and self.session.state.selected:
            self._wants_list = False
            self.draw_now()

    # --- wishes of screens -----------------------------------------------------------------------

    def select(self, server: str) -> None:
        """Watch this server."""
        self._wants_list = False
        if server == self.session.state.selected:
            self.draw_now()
        elif self._feed is not None:
            self._feed.select(server)

    def feed_log(self, path: str) -> None:
        """Follow this file on the host."""
        self._wants_list = False
        if self._feed is not None:
            self._feed.follow_log(path)

    def feed_metrics(self, url: str) -> None:
        """Read metrics from this address."""
        self._wants_list = False
        if self._feed is not None:
            self._feed.follow_metrics(url)

    # --- actions -------------------------------------------------------------------------------

    def action_servers(self) -> None:
        """The list of servers."""
        self._wants_list = True
        while len([s for s in self.screen_stack if isinstance(s, EagleScreen)]) > 1:
            self.pop_screen()
        self.draw_now()

    def action_reconnect(self) -> None:
        """Try to reach the host now."""
        if self._feed is not None:
            self._feed.reconnect()
        else:
            self._start_feed()

    def action_interrupt(self) -> None:
        """Copy what is selected; else a second press within two seconds leaves."""
        selected = self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            return
        moment = self.monotonic()
        if moment - self._interrupted_at < 2.0:
            self.exit()
            return
        self._interrupted_at = moment
        self.notify("Press ctrl+c again, or q, to leave. The server keeps running.", timeout=2)


def place(state: State, wants_list: bool) -> str:
    """Which screen belongs at the bottom: `connecting`, `servers` or `main`."""
    if wants_list and state.looked:
        return "servers"
    if state.selected:
        return "main"
    return "servers" if state.looked else "connecting"


def _make(kind: str) -> EagleScreen:
    if kind == "main":
        from eagletui.tui.screens.main import MainScreen

        return MainScreen()
    if kind == "servers":
        from eagletui.tui.screens.servers import ServersScreen

        return ServersScreen()
    return ConnectingScreen()
