"""A benchmark in words: where it stands, its table, and what must be known of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from eagletui.bench.progress import Progress
from eagletui.model.eta import about
from eagletui.model.figures import Figures, figures_of
from eagletui.model.run import Run

EVERY = 0.2
"""Seconds between two lines of progress on a terminal."""

# Heading and width of a column, and what stands in it for the figures of all repeats.
_Column = tuple[str, int, Callable[[Figures], str]]


class Teller:
    """Says on standard error where it stands: one line that changes on a terminal, else a line a
    cell."""

    def __init__(
        self, out: TextIO, *, live: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._live = live
        self._clock = clock
        self._last = float("-inf")
        self._told: tuple[int, bool] | None = None

    def progress(self, now: Progress) -> None:
        """Where it stands."""
        if not self._live:
            if self._told != (now.cell, now.warming):
                self._told = now.cell, now.warming
                self._write(progress_line(now) + "\n")
            return
        if self._clock() - self._last < EVERY and now.done < now.requests:
            return
        self._last = self._clock()
        self._write("\r\x1b[K" + progress_line(now))

    def say(self, words: str) -> None:
        """A line of its own."""
        self._write(("\r\x1b[K" if self._live else "") + words + "\n")

    def close(self) -> None:
        """Take the line away."""
        if self._live:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def progress_line(now: Progress) -> str:
    """`cell 2/6 · c=8 · repeat 1/3 · 12/32 requests · 310 tok/s · about 4 min left`."""
    parts = [f"cell {now.cell}/{now.cells}", f"c={now.concurrency}"]
    parts.append("warm-up" if now.warming else f"repeat {now.repeat + 1}/{now.repeats}")
    parts.append(f"{now.done}/{now.requests} requests")
    if now.tok_s and not now.warming:
        parts.append(f"{now.tok_s:.0f} tok/s")
    if now.remaining is not None:
        parts.append(f"about {about(now.remaining)} left")
    return " · ".join(parts)


def table(run: Run) -> Iterator[str]:
    """One line a concurrency, over its repeats."""
    where = {"client": "through the connection", "host": "from the host"}.get(run.via, run.via)
    ended = " · partial" if run.partial else ""
    yield f"{run.name} · {run.workload.endpoint} · {run.workload.prompts} · {where}{ended}"
    yield f"{run.surroundings.model or 'model not named'} · {run.surroundings.speculative.short}"
    yield " ".join(f"{name:>{width}}" for name, width, _ in COLUMNS)
    found = figures_of(run)
    for figures in found:
        yield " ".join(f"{say(figures):>{width}}" for _, width, say in COLUMNS)
    yield "Times in ms, p50 / p99; all repeats together; tok/s with the lowest and highest repeat."
    for figures in found:
        if total := sum(figures.accepted):
            shares = "  ".join(f"{at}: {n / total:.1%}" for at, n in enumerate(figures.accepted))
            yield f"c={figures.concurrency} steps by accepted drafts  {shares}"


def notes(run: Run, said: Sequence[str]) -> Iterator[str]:
    """What ended cells, and what must be known to judge them."""
    for words in said:
        yield f"note: {words}"
    for cell in run.cells:
        name = f"c={cell.concurrency} repeat {cell.repeat + 1}"
        if cell.stopped:
            yield f"{name} ended early ({cell.stopped}): {cell.why}"
        for words in cell.warnings:
            yield f"{name}: {words}"


def _figure(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _total(found: Figures) -> str:
    if found.tok_s is None:
        return "–"
    speeds = found.speeds
    spread = f" ({min(speeds):.1f} – {max(speeds):.1f})" if len(speeds) > 1 else ""
    return f"{found.tok_s:.1f}{spread}"


def _pair(read: Callable[[Figures], dict[str, float | None]]) -> Callable[[Figures], str]:
    def say(found: Figures) -> str:
        latency = read(found)
        return f"{_figure(latency['p50'])} / {_figure(latency['p99'])}"

    return say


COLUMNS: tuple[_Column, ...] = (
    ("c", 4, lambda found: str(found.concurrency)),
    ("tok/s in all", 24, _total),
    ("each", 8, lambda found: _figure(found.tok_s_each)),
    ("TTFT", 16, _pair(lambda found: found.ttft_ms)),
    ("TPOT", 14, _pair(lambda found: found.tpot_ms)),
    ("ITL", 14, _pair(lambda found: found.itl_ms)),
    ("accept", 6, lambda found: _figure(found.accept_length, 2)),
    ("verify", 7, lambda found: _figure(found.verify_ms, 2)),
    ("step", 7, lambda found: _figure(found.step_ms, 2)),
    ("J/tok", 6, lambda found: _figure(found.joules_per_token, 2)),
    ("failed", 6, lambda found: str(found.failed)),
)
