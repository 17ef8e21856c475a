"""Three charts of 3,600 points at 200×50, two refreshes a second: share of a core.

Two programs, each in a process of its own on a terminal (a pty), so that writing to the terminal
counts: the three charts and nothing else, and the whole screen of a server that is scraped twice a
second, writes decode lines and has eight GPUs. Both draw values that jump from sample to sample,
over an hour, which moves the charts as little as they ever do, and over a minute, which moves them
all the time.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace
from textual.app import App, ComposeResult

from eagletui.model.events import DecodeSample, Event
from eagletui.model.series import Series
from eagletui.tui.app import EagleApp
from eagletui.tui.config import Settings, WindowName
from eagletui.tui.widgets.chart import Chart, Line
from tests.benchmarks.terminal import run_on_terminal
from tests.tui import scenes
from tests.tui.driving import QuietFeed

POINTS = 3600
HERTZ = 2
SECONDS = 10
SIZE = (200, 50)
CHARTS = ("accept length", "verify latency", "tok/s")
WINDOWS: dict[WindowName, float] = {"1h": 3600.0, "1m": 60.0}


def walk(first: float, jump: float, dice: random.Random) -> Iterator[float]:
    """Values that jump around `first`."""
    value = first
    while True:
        value += dice.gauss(0, jump) + (first - value) / 50
        yield max(first / 20, value)


class Used:
    """CPU seconds a second of this process, first left alone, then at work."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self._began = self._cpu = 0.0

    def begin(self) -> None:
        """From now on."""
        self._began, self._cpu = time.monotonic(), time.process_time()

    def end(self) -> None:
        """Until now."""
        spent = time.process_time() - self._cpu
        self.shares.append(spent / (time.monotonic() - self._began))

    async def beats(self) -> AsyncIterator[None]:
        """A wait of four seconds, then the moments of the work; both are measured."""
        await asyncio.sleep(2.0)
        self.begin()
        await asyncio.sleep(4.0)
        self.end()
        self.begin()
        began = time.monotonic()
        for beat in range(SECONDS * HERTZ):
            yield
            await asyncio.sleep(max(0.0, began + (beat + 1) / HERTZ - time.monotonic()))
        self.end()


class ChartsApp(App[None]):
    """Three charts that get a new sample each, twice a second."""

    def __init__(self, window: WindowName) -> None:
        super().__init__()
        self.charts = [Chart(name, "ms") for name in CHARTS]
        self.series = [Series() for _ in CHARTS]
        self.values = [walk(20.0, 0.7, random.Random(seed)) for seed in range(len(CHARTS))]
        self.used = Used()
        self._span = WINDOWS[window]
        self._now = 1_800_000_000.0
        for _ in range(POINTS):
            self.sample(1.0)

    def compose(self) -> ComposeResult:
        """The three, one above the other."""
        yield from self.charts

    def on_mount(self) -> None:
        """Begin once something is there."""
        self.call_after_refresh(self.refresh_charts)
        self.run_worker(self._work())

    async def _work(self) -> None:
        async for _ in self.used.beats():
            self.sample(1 / HERTZ)
            self.refresh_charts()
        self.exit()

    def sample(self, after: float) -> None:
        """One more sample of each."""
        self._now += after
        for series, values in zip(self.series, self.values, strict=True):
            series.add(self._now, next(values))

    def refresh_charts(self) -> None:
        """What a screen does with a new scrape."""
        begin = self._now - self._span
        for chart, series in zip(self.charts, self.series, strict=True):
            line = Line("x", series.window(begin, self._now), "main")
            chart.show([line], begin=begin, end=self._now, now=self._now, note="device timer")


class Serving(QuietFeed):
    """A server that has served for an hour, and goes on."""

    def __init__(self, used: Used) -> None:
        super().__init__()
        self._used = used
        dice = random.Random(7)
        self._accept, self._verify = walk(2.2, 0.2, dice), walk(21.4, 0.7, dice)
        self._speed = walk(340.0, 12.0, dice)

    def _scrape(self, at: float) -> Event:
        seen = scenes.scrape(at, 1)
        accept, verify, speed = next(self._accept), next(self._verify), next(self._speed)
        rates = replace(seen.rates, accept_length=accept, verify_ms=verify, tok_s=speed)
        return replace(seen, rates=rates)

    def _decoded(self, at: float, beat: int) -> list[Event]:
        text = scenes.log(at, *scenes.decode_lines(8)[beat % 8 : beat % 8 + 1])
        return [
            text,
            DecodeSample(at=at, server=scenes.KEY, running=4, queued=1, accept_length=2.2),
        ]

    async def events(self) -> AsyncIterator[Sequence[Event]]:
        """An hour at once, then two scrapes and two lines a second, and the GPUs each second."""
        now = time.time()
        yield [
            *scenes.ready(),
            scenes.log(now - POINTS, *scenes.SERVING_LINES),
            *(self._scrape(now - POINTS + second) for second in range(POINTS)),
            scenes.gpus(now),
        ]
        beat = 0
        async for _ in self._used.beats():
            now, beat = time.time(), beat + 1
            yield [self._scrape(now), *self._decoded(now, beat)]
            if beat % HERTZ:
                yield [scenes.gpus(now, utilization=80 + beat % 9, power=400 + beat % 7)]


async def _program(window: WindowName) -> list[float]:
    used = Used()
    feed = Serving(used)
    app = EagleApp(feed, Settings(window=window, interval=1 / HERTZ), target="gpu1")
    worker = asyncio.ensure_future(app.run_async())
    while len(used.shares) < 2 and not worker.done():  # noqa: ASYNC110
        await asyncio.sleep(0.5)
    app.exit()
    await worker
    return used.shares


def _child(what: str, window: WindowName, report: Path) -> None:
    """Run one of the two here and write down what it used."""
    if what == "charts":
        app = ChartsApp(window)
        app.run()
        shares = app.used.shares
    else:
        shares = asyncio.run(_program(window))
    report.write_text(json.dumps(shares))


def measure(what: str, window: WindowName) -> tuple[float, float]:
    """Share of a core of `charts` or `program`, left alone and at work."""
    with tempfile.TemporaryDirectory() as home:
        report = Path(home) / "shares.json"
        argv = [sys.executable, "-m", "tests.benchmarks.bench_chart", what, window, str(report)]
        run_on_terminal(argv, home, columns=SIZE[0], rows=SIZE[1], seconds=60.0)
        idle, busy = json.loads(report.read_text())
    return idle, busy


def _raw() -> float:
    """CPU seconds of plotext alone for the same three charts with every point given."""
    import plotext

    plotext.terminal.limit(False, False)
    figure = type(plotext.figure)(plotext.terminal)
    xs = [float(x) for x in range(POINTS)]
    values = walk(20.0, 0.7, random.Random(7))
    ys = [next(values) for _ in xs]
    cpu = time.process_time()
    for _ in CHARTS:
        figure.clear()
        figure.plot_size(SIZE[0] - 2, SIZE[1] // 3 - 2)
        figure.draw(figure.signal(xs, ys, marker="braille").lines())
        figure.build().string()
    return time.process_time() - cpu


def rows() -> list[dict[str, str]]:
    """What was measured, beside its reference in the same run."""
    raw = f"plotext alone, every point given: {min(_raw() for _ in range(2)) * HERTZ:.1%}"
    reach = {"charts": "under 7%", "program": "under 10%"}
    named = {"charts": "the charts alone", "program": "the whole program"}
    found = []
    for what in ("charts", "program"):
        for window in WINDOWS:
            idle, busy = measure(what, window)
            found.append(
                {
                    "what": f"three charts of 3,600 points at {SIZE[0]}×{SIZE[1]}, refreshed at"
                    f" {HERTZ} Hz: {named[what]}, window {window}",
                    "measured": f"{busy:.1%} of a core (nothing new: {idle:.1%})",
                    "reference": raw,
                    "reach": reach[what],
                }
            )
    return found


if __name__ == "__main__":
    if len(sys.argv) == 4:
        wanted: WindowName = "1m" if sys.argv[2] == "1m" else "1h"
        _child(sys.argv[1], wanted, Path(sys.argv[3]))
    else:
        for row in rows():
            sys.stdout.write(f"{row}\n")
        sys.stdout.write(f"load {os.getloadavg()[0]:.2f}\n")
