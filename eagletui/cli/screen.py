"""The live screen on a host: settings first, the screen next, everything heavy after that."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from eagletui.model.ask import Asker
from eagletui.model.base import Data
from eagletui.model.errors import ConfigError, UsageError
from eagletui.tui.app import EagleApp
from eagletui.tui.config import Settings, load_settings, where_set
from eagletui.tui.leaving import forgiving_terminal
from eagletui.tui.theme import Themes, every_theme, refuse_unknown

if TYPE_CHECKING:
    from eagletui.cli.session_keeping import SessionKeeper
    from eagletui.model.benchmarking import Benchmarker
    from eagletui.model.events import Event
    from eagletui.model.keeping import RunShelf
    from eagletui.model.switching import Switcher
    from eagletui.monitor.monitor import Monitor
    from eagletui.store.recording.recorder import Recorder

CONNECT = "eagletui.cli.connect"

# What no first screen needs: imported behind it, on a thread, in this order.
AFTER_THE_FIRST_PAINT = ("eagletui.tui.screens.main", "eagletui.tui.screens.servers", CONNECT)


class ScreenOptions(Data, frozen=True):
    """What the command line says about the screen and what it watches."""

    ssh_config: tuple[str, ...] = ()
    log: str = ""
    metrics: str = ""
    pid: int | None = None
    api_key_env: str | None = None
    interval: float | None = None
    theme: str | None = None
    read_only: bool = False
    under: str = ""
    record: str = ""


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def looks(theme: str | None) -> tuple[Settings, Themes]:
    """What `config.toml` says, with the theme that the command line names over it.

    Raises:
        ConfigError, UsageError: it can't be used, or the theme is nowhere.
    """
    settings, themes = load_settings(), every_theme()
    if theme is not None:
        settings = replace(settings, theme=theme)
        refuse_unknown(settings.theme, themes, UsageError)
    elif settings.theme != Settings().theme:
        refuse_unknown(settings.theme, themes, ConfigError, where_set("theme"))
    return settings, themes


def refuse_no_terminal(advice: str) -> None:
    """A screen is drawn on standard error, as Textual does.

    Raises:
        UsageError: nobody would see it.
    """
    if not (_is_terminal(sys.__stdin__) and _is_terminal(sys.__stderr__)):
        raise UsageError(
            "The screen needs a terminal.",
            meaning="Standard input or standard error is a file or a pipe.",
            advice=advice,
        )


class _LateKeeper:
    """A `SessionKeeper` that is made with the first events, behind the first paint."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._keeper: SessionKeeper | None = None

    @property
    def words(self) -> str:
        """The keeper's."""
        return self._keeper.words if self._keeper is not None else ""

    def put(self, at: float, events: Sequence[Event]) -> None:
        """Take what came."""
        if self._keeper is None:
            from eagletui.cli.session_keeping import SessionKeeper
            from eagletui.store.places import runs_file

            self._keeper = SessionKeeper(self._host, runs_file())
        self._keeper.put(at, events)

    def close(self) -> None:
        """Write what there is."""
        if self._keeper is not None:
            self._keeper.close()


def _shelf() -> RunShelf:
    """The person's runs; what reads them is loaded when somebody wants to see them."""
    from eagletui.cli.run_shelf import DiskShelf

    return DiskShelf()


def open_screen(
    target: str | None,
    options: ScreenOptions,
    *,
    before: Callable[[], Awaitable[tuple[str | None, ScreenOptions]]] | None = None,
    name: str = "",
) -> None:
    """Open the screen and stay until the person leaves.

    Args:
        target: the host; None is this machine.
        options: from the command line, over what `config.toml` says.
        before: runs after the first paint and gives the target and options to use in place of
            these (a simulated host is started so).
        name: what the header calls the host where that is not the target.

    Raises:
        ConfigError: `config.toml` can't be used, or names a theme that is nowhere.
        UsageError: an option can't be used.
        EagletuiError: the file to record to is there, or cannot be made.
        SystemExit: a fault of ours (1) or a signal (128 and its number) ended the screen.
    """
    settings, themes = looks(options.theme)
    refuse_no_terminal("For scripts there is `eagletui status --json`.")
    interval = options.interval if options.interval is not None else settings.interval
    settings = replace(settings, interval=interval)

    async def make(asker: Asker) -> Monitor:
        # asyncssh and aiohttp take half a second to import: not on the loop that paints.
        for name in AFTER_THE_FIRST_PAINT:
            await asyncio.to_thread(importlib.import_module, name)
        connect = importlib.import_module(CONNECT)
        where, chosen = await before() if before is not None else (target, options)
        wanted = connect.wanted_from(
            log=chosen.log,
            metrics=chosen.metrics,
            pid=chosen.pid,
            api_key_env=chosen.api_key_env,
            interval=interval,
            under=chosen.under,
        )
        host = connect.make_host(where, asker=asker, ssh_config=chosen.ssh_config)
        monitor: Monitor = connect.monitor_of(host, wanted=wanted)
        switchers.append(connect.make_switcher(host))
        simulated = "demo" if before is not None else ""
        benchmarkers.append(
            connect.make_benchmarker(host, target=where, wanted=wanted, called=simulated)
        )
        return monitor

    switchers: list[Switcher] = []
    benchmarkers: list[Benchmarker] = []
    called = name or target or "localhost"
    recorder: Recorder | None = None
    if options.record:
        from eagletui.cli.recording import open_recorder

        recorder = open_recorder(options.record, host=called)
    # A simulated host's series are nobody's yesterday.
    keeper = _LateKeeper(called) if settings.keep_sessions and before is None else None
    app = EagleApp(
        make,
        settings,
        themes=themes,
        switcher=lambda: switchers[-1],
        benchmarker=lambda: benchmarkers[-1],
        shelf=_shelf,
        target=called,
        read_only=options.read_only,
        recorder=recorder,
        sessions=keeper,
    )
    try:
        with forgiving_terminal():
            app.run()
    finally:
        if keeper is not None:
            keeper.close()
        if recorder is not None:
            from eagletui.cli.recording import close_recorder

            close_recorder(recorder)
    if app.return_code:
        raise SystemExit(app.return_code)
