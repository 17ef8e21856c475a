"""What a screen is drawn from: state, series, logs and the moment. Nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from eagletui.model.benchmarking import Moment as BenchMoment
from eagletui.model.history import History, ServerHistory
from eagletui.model.logstore import LogStore
from eagletui.model.permission import Permission, permission
from eagletui.model.playing import Standing
from eagletui.model.profile import Guard
from eagletui.model.state import ServerState, State
from eagletui.model.switching import Moment, Unfinished
from eagletui.tui.config import Settings, WindowName
from eagletui.tui.situation import situation

# Spans of the charts in seconds; None is everything kept.
WINDOWS: dict[WindowName, float | None] = {
    "1m": 60.0,
    "5m": 300.0,
    "15m": 900.0,
    "1h": 3600.0,
    "all": None,
}
SHOWN_WHEN_READY = 20.0
"""Seconds that a restart which went well stays on the screen."""
WINDOW_NAMES: tuple[WindowName, ...] = tuple(WINDOWS)


class View(NamedTuple):
    """One moment of one session.

    Attributes:
        now: user's clock, seconds since the epoch.
        paused_at: the right edge of the charts while they are held still.
        interval: seconds between scrapes, as wished.
        keys: the person's changes of keys.
        read_only: whether `--read-only` was given; `permission` says the whole of it.
        switchable: whether what runs can be changed from here.
        restart: the restart that goes on, or the last one.
        unfinished: launches that somebody left.
        replay: where a replay is; None on a live host.
        measurable: whether what runs can be measured from here.
        shelved: whether there are runs to look at.
        bench: the benchmark that goes on, or the last one.
        recording: what is to be said of the recording that is being made, "" for none.
    """

    state: State
    history: History
    logs: Mapping[str, LogStore]
    now: float
    settings: Settings
    window: WindowName = "5m"
    paused_at: float | None = None
    interval: float = 1.0
    read_only: bool = False
    target: str = ""
    switchable: bool = False
    restart: Moment | None = None
    unfinished: tuple[Unfinished, ...] = ()
    replay: Standing | None = None
    measurable: bool = False
    shelved: bool = False
    bench: BenchMoment | None = None
    recording: str = ""

    @property
    def server(self) -> ServerState | None:
        """The selected server."""
        return self.state.server

    @property
    def series(self) -> ServerHistory | None:
        """Its series, None where nothing came yet."""
        return self.history.servers.get(self.state.selected)

    @property
    def log(self) -> LogStore | None:
        """Its log."""
        return self.logs.get(self.state.selected)

    @property
    def facts(self) -> frozenset[str]:
        """What actions may need."""
        paused, replay = self.paused_at is not None, self.replay
        facts = situation(self.state, paused=paused, replay=replay is not None)
        held = {"held"} if replay is not None and (replay.paused or replay.over) else set[str]()
        return facts | self._restart_facts | self._bench_facts | held

    @property
    def restart_shown(self) -> bool:
        """Whether the restart that goes on, or how one ended, is on the screen."""
        moment = self.restart
        if moment is None:
            return False
        return moment.standing.state != "ready" or self.now - moment.at < SHOWN_WHEN_READY

    @property
    def _restart_facts(self) -> frozenset[str]:
        moment = self.restart
        facts = {
            "switcher": self.switchable and self.state.connected,
            "restart": self.restart_shown,
            "restarted": moment is not None and moment.over,
            "asking": moment is not None and moment.standing.state == "asking",
            "unfinished": bool(self.unfinished) and (moment is None or moment.over),
        }
        return frozenset(word for word, holds in facts.items() if holds)

    @property
    def _bench_facts(self) -> frozenset[str]:
        facts = {
            "measurable": self.measurable,
            "shelved": self.shelved,
            "measuring": self.bench is not None and not self.bench.over,
        }
        return frozenset(word for word, holds in facts.items() if holds)

    def permission(self, guard: Guard | None = None) -> Permission:
        """Whether this host may be changed, and what has to be typed first."""
        host = self.settings.host(self.target)
        return permission(
            self.target,
            session_read_only=self.read_only,
            host_read_only=host.read_only,
            host_protected=host.protected,
            guard=guard,
        )

    @property
    def ascii_only(self) -> bool:
        """Whether bars and charts keep to ASCII."""
        return self.settings.marker == "ascii"

    @property
    def span(self) -> tuple[float, float]:
        """Begin and end of the charts."""
        end = self.now if self.paused_at is None else self.paused_at
        length = WINDOWS[self.window]
        if length is None:
            series = self.series
            firsts = [first for s in series.series.values() if (first := s.first)] if series else []
            length = in_steps(max(60.0, end - min(firsts, default=end)))
        return end - length, end

    @property
    def host_now(self) -> float:
        """Now in log time: what the host's clock would write, read as if it were UTC."""
        host = self.state.host
        if host is None:
            return self.now
        return self.now - host.clock_offset + host.utc_offset


def in_steps(span: float) -> float:
    """The span rounded up by a sixteenth at most, so that a growing one mostly stays the same."""
    step = 2.0 ** (math.frexp(span)[1] - 5)
    return math.ceil(span / step) * step
