"""The log view: lines taken in, gaps of the event loop, and the way from a key to the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Log

from eagletui.model.logstore import LogStore
from eagletui.tui.collecting import collect_quietly
from eagletui.tui.widgets.log_view import LogView

SIZE = (200, 50)
CHUNK = 64 << 10
RATE = 20_000
SECONDS = 6
KEYS = ("up", "pageup", "down", "f", "up", "g", "pagedown", "G")


def _text(lines: int) -> bytes:
    return b"".join(
        b"[2026-11-29 12:%02d:%02d TP0] Decode batch, #running-req: %d, #token: %d, "
        b"token usage: 0.%02d, accept len: 2.%d, gen throughput (token/s): %d.%02d, #queue-req: 0\n"
        % (n // 60 % 60, n % 60, n % 48, n * 13 % 90000, n % 100, n % 97, n * 7 % 999, n % 83)
        for n in range(lines)
    )


class LogsApp(App[None]):
    """The view under test, or Textual's own."""

    def __init__(self, *, own: bool) -> None:
        super().__init__()
        self.store = LogStore()
        self.view = LogView(self.store)
        self.other = Log()
        self.own = own

    def compose(self) -> ComposeResult:
        """One of the two."""
        yield self.view if self.own else self.other


class _Gaps:
    """The longest time the event loop was busy without a pause.

    Counted in CPU time of the loop's thread, so that other programs do not add to it.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest = max(self.longest, now - last)
            last = now

    async def stop(self) -> float:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.longest


async def _intake(
    app: LogsApp, take: Callable[[bytes], object], done: Callable[[], bool], data: bytes, times: int
) -> tuple[float, float]:
    """Lines a CPU-second, and the longest gap in seconds."""
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        collect_quietly()
        gaps = _Gaps()
        cpu = time.process_time()
        for _ in range(times):
            for chunk in chunks:
                take(chunk)
                await asyncio.sleep(0)
        while not done():  # noqa: ASYNC110 - the view works in the loop; nothing else tells
            await asyncio.sleep(0.001)
        cpu = time.process_time() - cpu
        gap = await gaps.stop()
    return data.count(b"\n") * times / cpu, gap


def _own(data: bytes, times: int) -> tuple[float, float]:
    app = LogsApp(own=True)

    def take(chunk: bytes) -> None:
        app.store.append(chunk)
        app.view.extended()

    return asyncio.run(_intake(app, take, lambda: app.view.index.complete, data, times))


def _textual(data: bytes, times: int) -> tuple[float, float]:
    app = LogsApp(own=False)
    return asyncio.run(
        _intake(app, lambda c: app.other.write(c.decode()), lambda: True, data, times)
    )


async def _press(app: LogsApp, key: str) -> float | None:
    """Seconds from a key, sent as the terminal's driver would, to the paint that shows its effect.

    None where the key had nothing to change.
    """
    before = (round(app.view.scroll_y), app.view.follow)
    began = time.perf_counter()
    app.post_message(events.Key(key, key if len(key) == 1 else None))
    while (round(app.view.scroll_y), app.view.follow) == before:
        if time.perf_counter() - began > 1.0:
            return None
        await asyncio.sleep(0.001)
    painted = asyncio.Event()
    app.view.call_after_refresh(painted.set)
    await painted.wait()
    return time.perf_counter() - began


async def _latency(data: bytes) -> tuple[list[float], int, int]:
    """Times of keys while lines arrive; lines sent and lines the store has."""
    app = LogsApp(own=True)
    lines = data.splitlines(keepends=True)
    sent = 0
    times: list[float] = []
    async with app.run_test(size=SIZE):
        app.view.focus()
        collect_quietly()

        async def feed() -> None:
            nonlocal sent
            began = time.monotonic()
            while True:
                due = int((time.monotonic() - began) * RATE)
                if due > sent:
                    app.store.append(b"".join(lines[n % len(lines)] for n in range(sent, due)))
                    sent = due
                    app.view.extended()
                await asyncio.sleep(0.01)

        feeding = asyncio.create_task(feed())
        await asyncio.sleep(0.5)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for key in KEYS:
                took = await _press(app, key)
                if took is not None:
                    times.append(took)
                await asyncio.sleep(0.05)
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        return times, sent, app.store.end


def rows() -> list[dict[str, str]]:
    """What was measured, beside its reference in the same run."""
    data = _text(50_000)
    own_rate, own_gap = _own(data, 20)
    other_rate, other_gap = _textual(data, 4)
    times, sent, kept = asyncio.run(_latency(data))
    times.sort()
    return [
        {
            "what": "log view taking in lines (CPU time; longest gap of the event loop)",
            "measured": f"{own_rate:,.0f} lines/s, {own_gap * 1000:.0f} ms",
            "reference": f"Textual's Log: {other_rate:,.0f} lines/s, {other_gap * 1000:.0f} ms",
            "reach": "500,000 lines/s, 30 ms",
        },
        {
            "what": "a key to its effect while 20,000 lines/s arrive",
            "measured": f"median {times[len(times) // 2] * 1000:.0f} ms, "
            f"p99 {times[int(len(times) * 0.99)] * 1000:.0f} ms of {len(times)}; "
            f"{sent - kept} of {sent:,} lines lost",
            "reference": "–",
            "reach": "p99 under 50 ms, none lost",
        },
    ]


if __name__ == "__main__":
    for row in rows():
        print(row)
