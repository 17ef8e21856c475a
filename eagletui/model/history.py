"""Series and markers kept for the charts: a second fold of the same events, bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from eagletui.model import events as ev
from eagletui.model.diagnosis import SEVERITY_ORDER
from eagletui.model.readings import Rates, Reading
from eagletui.model.series import Series

FRESH_SECONDS = 5.0
"""Seconds for which a scrape speaks for its series, at the least: two of its own intervals."""

Source = Literal["scrape", "log"]


class Marker(NamedTuple):
    """A moment worth a line on every chart."""

    at: float
    kind: str
    """`restart`, `alert`, `lost`, `back`, `ready` or `gone`."""
    label: str


# Every series a chart or a side panel may draw: name → how a scrape gives it (None: no value).
SCRAPED_SERIES: dict[str, Callable[[Reading, Rates], float | None]] = {
    "accept_length": lambda _, rates: None if rates.stale else rates.accept_length,
    "accept_rate": lambda _, rates: None if rates.stale else rates.accept_rate,
    "tok_s": lambda _, rates: rates.tok_s,
    "verify_ms": lambda _, rates: rates.verify_ms,
    "draft_ms": lambda _, rates: rates.draft_ms,
    "draft_extend_ms": lambda _, rates: rates.draft_extend_ms,
    "step_ms": lambda _, rates: rates.step_ms,
    "running": lambda reading, _: reading.running,
    "queued": lambda reading, _: reading.queued,
    "token_usage": lambda reading, _: reading.token_usage,
    "cache_hit_rate": lambda reading, _: reading.cache_hit_rate,
    "ttft_p50_ms": lambda _, rates: rates.ttft_ms.p50,
    "ttft_p99_ms": lambda _, rates: rates.ttft_ms.p99,
    "itl_p50_ms": lambda _, rates: rates.itl_ms.p50,
    "itl_p99_ms": lambda _, rates: rates.itl_ms.p99,
    "num_steps": lambda reading, _: reading.num_steps,
}

# The same where only decode lines speak.
LOGGED_SERIES: dict[str, Callable[[ev.DecodeSample], float | None]] = {
    "accept_length": lambda sample: sample.accept_length,
    "accept_rate": lambda sample: sample.accept_rate,
    "tok_s": lambda sample: None if sample.first else sample.gen_throughput,
    "step_ms": lambda sample: None if sample.first else sample.step_ms,
    "running": lambda sample: sample.running,
    "queued": lambda sample: sample.queued,
    "token_usage": lambda sample: sample.token_usage,
}


class ServerHistory:
    """Series of one server. `version` grows with every change, so a chart knows when to build."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}
        self.markers: deque[Marker] = deque(maxlen=500)
        self.version = 0
        self.scraped_at: float | None = None
        self._fresh = FRESH_SECONDS
        self._given_at: dict[str, float] = {}
        self._sources: dict[str, Source] = {}
        self._alerts: frozenset[str] = frozenset()

    def get(self, name: str) -> Series:
        """The series of this name, empty where nothing came yet."""
        series = self.series.get(name)
        if series is None:
            series = self.series[name] = Series()
        return series

    def put(self, at: float, name: str, value: float | None) -> None:
        """One point, or a gap for None."""
        if value is None:
            if name in self.series:
                self.series[name].gap()
        else:
            self.get(name).add(at, value)

    def scraped(self, at: float, values: Mapping[str, float | None]) -> None:
        """What a scrape gives. A series it does not know is left to the log, unbroken."""
        if self.scraped_at is not None and at > self.scraped_at:
            self._fresh = max(FRESH_SECONDS, 2.0 * (at - self.scraped_at))
        self.scraped_at = at
        for name, value in values.items():
            if value is not None:
                self._given_at[name] = at
                self._put_from("scrape", at, name, value)
            elif self._sources.get(name) == "scrape":
                self.put(at, name, None)

    def logged(self, at: float, values: Mapping[str, float | None]) -> None:
        """What a decode line gives, for the series that no scrape gave lately."""
        for name, value in values.items():
            given = self._given_at.get(name)
            if given is None or at - given > self._fresh:
                self._put_from("log", at, name, value)

    def _put_from(self, source: Source, at: float, name: str, value: float | None) -> None:
        """A point; two sources measure differently, so that no line joins them."""
        if self._sources.get(name, source) != source:
            self.put(at, name, None)
        self._sources[name] = source
        self.put(at, name, value)

    def mark(self, at: float, kind: str, label: str) -> None:
        """A marker for every chart of this server."""
        self.markers.append(Marker(at, kind, label))
        self.version += 1

    def gap(self) -> None:
        """Nothing continues over this moment."""
        for series in self.series.values():
            series.gap()


class History:
    """Charts' memory of a host: `add` takes the same events as `fold`."""

    def __init__(self) -> None:
        self.servers: dict[str, ServerHistory] = {}
        self.gpus: dict[int, ServerHistory] = {}

    def server(self, key: str) -> ServerHistory:
        """History of one server, made on first use."""
        history = self.servers.get(key)
        if history is None:
            history = self.servers[key] = ServerHistory()
        return history

    def add_all(self, events: Iterable[ev.Event]) -> None:
        """`add` over many events."""
        for event in events:
            self.add(event)

    def add(self, event: ev.Event) -> None:
        """Take what this event says about time series; other events are passed over."""
        if isinstance(event, ev.Scraped):
            self._scraped(event)
        elif isinstance(event, ev.DecodeSample):
            self._decoded(event)
        elif isinstance(event, ev.GpusRead):
            self._gpus(event)
        elif isinstance(event, ev.StepsChanged):
            history = self.server(event.server)
            history.put(event.at, "num_steps", float(event.num_steps))
            history.version += 1
        elif isinstance(event, ev.Alerted):
            self._alerted(event)
        elif isinstance(event, ev.LaunchBegan):
            history = self.server(event.server)
            history.gap()
            history.mark(event.at, "restart", f"launch {event.version}".strip())
        elif isinstance(event, ev.StartedOver):
            self.servers, self.gpus = {}, {}
        elif isinstance(event, ev.ServerReady):
            self.server(event.server).mark(event.at, "ready", "ready")
        elif isinstance(event, ev.ServerGone):
            self.server(event.server).mark(event.at, "gone", "process gone")
        elif isinstance(event, ev.LinkChanged) and event.link in ("lost", "connected"):
            for history in self.servers.values():
                history.gap()
                history.mark(event.at, "lost" if event.link == "lost" else "back", event.link)

    def _scraped(self, event: ev.Scraped) -> None:
        history = self.server(event.server)
        if event.rates.reset:
            history.gap()
            history.mark(event.at, "restart", "counters restarted")
        reading, rates = event.reading, event.rates
        history.scraped(
            event.at, {name: read(reading, rates) for name, read in SCRAPED_SERIES.items()}
        )
        history.version += 1

    def _decoded(self, event: ev.DecodeSample) -> None:
        history = self.server(event.server)
        history.logged(event.at, {name: read(event) for name, read in LOGGED_SERIES.items()})
        history.version += 1

    def _gpus(self, event: ev.GpusRead) -> None:
        for gpu in event.gpus:
            history = self.gpus.get(gpu.index)
            if history is None:
                history = self.gpus[gpu.index] = ServerHistory()
            history.put(event.at, "utilization", gpu.utilization)
            history.put(event.at, "power", gpu.power)
            history.put(event.at, "memory_used", gpu.memory_used)
            history.version += 1

    def _alerted(self, event: ev.Alerted) -> None:
        history = self.server(event.server)
        serious = {
            a for a in event.alerts if SEVERITY_ORDER[a.severity] <= SEVERITY_ORDER["warning"]
        }
        codes = frozenset(alert.code for alert in serious)
        for alert in serious:
            if alert.code not in history._alerts:
                history.mark(event.at, "alert", alert.title)
        history._alerts = codes
