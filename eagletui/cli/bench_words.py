"""A benchmark in words: where it stands, its table, and what must be known of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from eagletui.bench.figures import Figures, figures
from eagletui.bench.measure import Progress
from eagletui.model.eta import about
from eagletui.model.run import Cell, Quantiles, Run
from eagletui.model.statistics import pooled

EVERY = 0.2
"""Seconds between two lines of progress on a terminal."""

# Heading and width of a column, and what stands in it for the figures of all repeats.
_Column = tuple[str, int, Callable[[Sequence[Figures], Sequence[Cell]], str]]


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
    for concurrency in dict.fromkeys(cell.concurrency for cell in run.cells):
        cells = [cell for cell in run.cells if cell.concurrency == concurrency]
        found = [figures(cell) for cell in cells]
        yield " ".join(f"{say(found, cells):>{width}}" for _, width, say in COLUMNS)
    yield "Times in ms, p50 / p99; tok/s in all: mean of the repeats (lowest – highest)."
    yield from _histograms(run)


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


def _histograms(run: Run) -> Iterator[str]:
    for concurrency in dict.fromkeys(cell.concurrency for cell in run.cells):
        sums = pooled(
            figures(cell).accepted for cell in run.cells if cell.concurrency == concurrency
        )
        if total := sum(sums):
            shares = "  ".join(f"{at}: {count / total:.1%}" for at, count in enumerate(sums))
            yield f"c={concurrency} steps by accepted drafts  {shares}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _figure(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _total(found: Sequence[Figures], cells: Sequence[Cell]) -> str:  # noqa: ARG001
    known = [f.tok_s for f in found if f.tok_s is not None]
    if not known:
        return "–"
    spread = f" ({min(known):.1f} – {max(known):.1f})" if len(known) > 1 else ""
    return f"{sum(known) / len(known):.1f}{spread}"


def _pair(name: str) -> Callable[[Sequence[Figures], Sequence[Cell]], str]:
    def say(found: Sequence[Figures], cells: Sequence[Cell]) -> str:  # noqa: ARG001
        known: list[Quantiles | None] = [getattr(f, name) for f in found]
        p50 = _mean([q.p50 if q else None for q in known])
        p99 = _mean([q.p99 if q else None for q in known])
        return f"{_figure(p50)} / {_figure(p99)}"

    return say


def _one(name: str, digits: int) -> Callable[[Sequence[Figures], Sequence[Cell]], str]:
    def say(found: Sequence[Figures], cells: Sequence[Cell]) -> str:  # noqa: ARG001
        return _figure(_mean([getattr(f, name) for f in found]), digits)

    return say


def _step(name: str) -> Callable[[Sequence[Figures], Sequence[Cell]], str]:
    def say(found: Sequence[Figures], cells: Sequence[Cell]) -> str:  # noqa: ARG001
        return _figure(_mean([getattr(cell.steps, name) for cell in cells]), 2)

    return say


COLUMNS: tuple[_Column, ...] = (
    ("c", 4, lambda _, cells: str(cells[0].concurrency)),
    ("tok/s in all", 24, _total),
    ("each", 8, _one("tok_s_each", 1)),
    ("TTFT", 16, _pair("ttft_ms")),
    ("TPOT", 14, _pair("tpot_ms")),
    ("ITL", 14, _pair("itl_ms")),
    ("accept", 6, _one("accept_length", 2)),
    ("verify", 7, _step("verify")),
    ("step", 7, _step("step")),
    ("J/tok", 6, _one("joules", 2)),
    ("failed", 6, lambda found, _: str(sum(f.failed for f in found))),
)
