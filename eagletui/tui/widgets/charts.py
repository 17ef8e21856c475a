"""The three charts: which series each draws, from a table, and when they are built again."""

from __future__ import annotations

from typing import Literal, NamedTuple

from eagletui.model import latest
from eagletui.model.history import Marker, ServerHistory
from eagletui.model.readings import StepSource
from eagletui.model.series import Window
from eagletui.model.state import ServerState
from eagletui.tui.view import View
from eagletui.tui.widgets.chart import Line
from eagletui.tui.widgets.numbers import is_stale

Role = Literal["main", "second", "third", "step", "stack"]


class Drawn(NamedTuple):
    """One line of a chart: series name, name in the legend, role."""

    series: str
    name: str
    role: Role
    unit: str = ""


class ChartSpec(NamedTuple):
    """One chart."""

    key: str
    title: str
    short: str
    unit: str
    lines: tuple[Drawn, ...]


ACCEPT = ChartSpec(
    "accept",
    "accept length",
    "accept",
    "tokens/step",
    (
        Drawn("accept_length", "accept length", "main"),
        Drawn("num_steps", "k", "step"),
    ),
)
VERIFY = ChartSpec(
    "verify",
    "verify latency",
    "verify",
    "ms",
    (
        Drawn("verify_ms", "verify", "stack", "ms"),
        Drawn("draft_ms", "draft", "stack", "ms"),
        Drawn("draft_extend_ms", "draft extend", "stack", "ms"),
    ),
)
STEP = ChartSpec("verify", "step", "step", "ms", (Drawn("step_ms", "step", "main", "ms"),))
SPEED = ChartSpec("speed", "tok/s", "tok/s", "", (Drawn("tok_s", "tok/s", "main"),))


def source_of(server: ServerState) -> StepSource:
    """Where the step's wall time comes from now."""
    rates = server.metrics.rates
    source = latest.step_ms(server, server.metrics.at or 0.0).source
    if source == "none" and rates is not None:
        source = rates.source
    return "decode log" if source == "none" and server.decode is not None else source


def is_timed(server: ServerState, series: ServerHistory | None = None, begin: float = 0.0) -> bool:
    """Whether a device timer measures this server, be it idle now, or did since `begin`."""
    rates, reading = server.metrics.rates, server.metrics.reading
    if rates is not None and rates.source == "device timer":
        return True
    if reading is not None and reading.verify_seconds_total is not None:
        return True
    measured = series.series.get(VERIFY.lines[0].series) if series is not None else None
    return measured is not None and measured.last is not None and measured.last[0] >= begin


def specs(
    server: ServerState, series: ServerHistory | None = None, begin: float = 0.0
) -> tuple[ChartSpec, ChartSpec, ChartSpec]:
    """The charts for this server: *verify* only where a device timer measured it."""
    return ACCEPT, VERIFY if is_timed(server, series, begin) else STEP, SPEED


def title_of(spec: ChartSpec, server: ServerState) -> str:
    """`step (decode log)`: a derived number says so in its title."""
    if spec is STEP:
        source = source_of(server)
        return "step" if source == "none" else f"step ({source})"
    return spec.title


def lines_of(spec: ChartSpec, series: ServerHistory, begin: float, end: float) -> list[Line]:
    """The windows to draw; the first line stays even where it has nothing to show."""
    found = []
    for index, drawn in enumerate(spec.lines):
        kept = series.series.get(drawn.series)
        # k holds until it changes: what was chosen before the window still counts in it.
        since = float("-inf") if drawn.role == "step" else begin
        window = kept.window(since, end) if kept is not None else Window((), (), b"")
        if index == 0 or len(window.times):
            found.append(Line(drawn.name, window, drawn.role, drawn.unit))
    return found


def markers_of(series: ServerHistory, begin: float, end: float) -> list[Marker]:
    """Markers inside the window."""
    return [marker for marker in series.markers if begin <= marker.at <= end]


def note_of(spec: ChartSpec, server: ServerState) -> str:
    """What to say instead of, or beside, an empty or strange chart."""
    if spec.key == "accept" and not server.speculative.on:
        return "no speculation: every step yields one token"
    if spec is VERIFY:
        return "GPU time a step"
    if spec is STEP:
        known = source_of(server) != "none"
        return "wall time a step" if known else "no source of step times yet"
    if spec.key == "accept" and server.metrics.rates is not None and server.metrics.rates.stale:
        if latest.word_of_stale(server) == "idle":
            return "idle: nothing new is accepted"
        return "the gauge is stale"
    return ""


class ChartClock:
    """Says when to build a chart again: at most twice a second, never without cause."""

    def __init__(self, least: float = 0.5) -> None:
        self._least = least
        self._key: object = None
        self._at = float("-inf")

    def due(self, view: View, moment: float) -> bool:
        """Whether something a chart shows changed since it was last built.

        Args:
            moment: a monotonic clock, seconds.
        """
        series = view.series
        span = view.span if view.paused_at is not None else view.window
        old = view.server is not None and is_stale(view, view.server)
        wished = (old, view.state.selected, view.window, view.paused_at, span, view.settings.marker)
        key = (wished, series.version if series else -1)
        if key == self._key:
            return False
        same_wish = self._key is not None and self._key[0] == wished  # type: ignore[index]
        if same_wish and moment - self._at < self._least:
            return False
        self._key, self._at = key, moment
        return True
