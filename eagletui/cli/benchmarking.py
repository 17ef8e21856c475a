"""Measuring for the screen: the benchmark of `eagletui bench` on the monitor's connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from eagletui.host.base import Host
from eagletui.model.benchmarking import CellLine, Moment, Subject, Under, Wish
from eagletui.model.errors import EagletuiError
from eagletui.model.figures import cell_figures
from eagletui.model.run import Cell, Run
from eagletui.model.text import visible

if TYPE_CHECKING:
    from eagletui.bench.measure import Measuring
    from eagletui.bench.progress import Progress

EVERY = 0.2
"""Seconds between two moments of one cell."""

LAST_WAIT = 5.0
"""Seconds that a benchmark has to end and keep what it has when eagletui is left."""


class HostBenchmarker:
    """A `model.benchmarking.Benchmarker` over a host that somebody else keeps connected.

    Args:
        target: the host as the person named it; None is this machine.
        api_key: given by the person; without one that of the server's command line is used.
        called: what the names of runs begin with, where nobody names them: a simulated host's.
        clock: the user's, seconds since the epoch.
    """

    def __init__(
        self,
        host: Host,
        *,
        target: str | None,
        api_key: str | None = None,
        called: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._target = target
        self._api_key = api_key
        self._called = called
        self._clock = clock
        self._one: _Benchmark | None = None

    async def begin(self, wish: Wish, subject: Subject) -> AsyncGenerator[Moment, None]:
        """Measure, and say where it stands."""
        self._one = one = _Benchmark(wish, subject, self._clock)
        task = asyncio.create_task(self._measure(one), name="benchmark")
        try:
            while True:
                moment = await one.next()
                yield moment
                if moment.over:
                    return
        finally:
            one.cancel()
            done, _ = await asyncio.wait([task], timeout=LAST_WAIT)
            if not done:
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def cancel(self) -> None:
        """End it; what was measured is kept."""
        if self._one is not None:
            self._one.cancel()

    def _name(self, wish: Wish, subject: Subject) -> str:
        """What was tried first: of a long name a narrow column shows the beginning."""
        now = time.strftime("%m-%d %H:%M", time.localtime(self._clock()))
        prompts = wish.prompts.rsplit("/", 1)[-1]
        return " ".join(part for part in (self._called, subject.setting, prompts, now) if part)

    async def _measure(self, one: _Benchmark) -> None:
        # asyncssh and aiohttp are there by now; what is loaded here is small.
        from eagletui.cli.benching import Asked, measure_on, prompts_for

        wish, subject = one.wish, one.subject
        asked = Asked(
            target=self._target,
            url="" if subject.pid is not None else subject.url,
            pid=subject.pid,
            api_key=self._api_key,
            concurrencies=wish.concurrencies,
            prompts=wish.prompts,
            output_tokens=wish.output_tokens,
            requests=wish.requests,
            repeats=wish.repeats,
            temperature=wish.temperature,
            name=wish.name or self._name(wish, subject),
        )
        try:
            outcome = await measure_on(
                self._host,
                asked,
                await prompts_for(asked),
                told=one.progress,
                said=one.say,
                started=one.start,
                so_far=one.so_far,
            )
        except EagletuiError as error:
            one.fail(error)
        except asyncio.CancelledError:
            one.end(partial=True)
            raise
        except Exception as error:  # the screen, and a restart on it, go on
            one.fail(
                EagletuiError(
                    f"The benchmark ended by a fault of eagletui: {type(error).__name__}.",
                    advice="Please report it; `eagletui bench` shows where it was.",
                )
            )
        else:
            for words in outcome.notes:
                one.say(words)
            run = outcome.run
            one.end(partial=run.partial, run=run.id if outcome.kept else "")


class _Benchmark:
    """Where one benchmark stands; whoever watches is told at most every `EVERY` seconds."""

    def __init__(self, wish: Wish, subject: Subject, clock: Callable[[], float]) -> None:
        self.wish, self.subject = wish, subject
        self._clock = clock
        now = clock()
        self._moment = Moment(wish=wish, subject=subject, began=now, at=now)
        self._changed = asyncio.Event()
        self._changed.set()
        self._told = float("-inf")
        self._measuring: Measuring | None = None

    async def next(self) -> Moment:
        """The newest moment, once there is one that was not seen."""
        await self._changed.wait()
        wait = self._told + EVERY - time.monotonic()
        if wait > 0 and not self._moment.over:
            await asyncio.sleep(wait)
        self._changed.clear()
        self._told = time.monotonic()
        return self._moment

    def start(self, measuring: Measuring) -> None:
        """From now on there is something to cancel."""
        self._measuring = measuring
        if self._moment.cancelling:
            measuring.cancel()

    def cancel(self) -> None:
        """End with what there is; before there is anything, as soon as it begins."""
        if self._moment.over or self._moment.cancelling:
            return
        self._set(cancelling=True)
        if self._measuring is not None:
            self._measuring.cancel()

    def progress(self, now: Progress) -> None:
        """How far it is."""
        under = Under(
            number=now.cell,
            concurrency=now.concurrency,
            repeat=now.repeat,
            done=now.done,
            requests=now.requests,
            tok_s=None if now.warming else now.tok_s,
            warming=now.warming,
            remaining=now.remaining,
        )
        self._set(under=under)

    def say(self, words: str) -> None:
        """A line for the person."""
        if (line := visible(words)) not in self._moment.said:
            self._set(said=(*self._moment.said, line))

    async def so_far(self, run: Run) -> None:
        """One more was measured."""
        measured = self._moment.measured
        new = (cell_line(run, cell) for cell in run.cells[len(measured) :])
        self._set(measured=(*measured, *new))

    def fail(self, error: EagletuiError) -> None:
        """It could not be measured, or not to its end."""
        advice = " ".join(part for part in (error.meaning, error.advice) if part)
        self._set(
            over=True,
            partial=True,
            under=None,
            problem=visible(error.what),
            advice=visible(advice),
        )

    def end(self, *, partial: bool, run: str = "") -> None:
        """Nothing more comes."""
        self._set(over=True, partial=partial, under=None, run=run)

    def _set(self, **changes: object) -> None:
        self._moment = replace(self._moment, at=self._clock(), **changes)
        self._changed.set()


def cell_line(run: Run, cell: Cell) -> CellLine:
    """A cell's figures for a screen."""
    found = cell_figures(run, cell)
    return CellLine(
        concurrency=cell.concurrency,
        repeat=cell.repeat,
        tok_s=found.tok_s,
        tok_s_each=found.tok_s_each,
        accept_length=found.accept_length,
        ttft_p50=found.ttft_ms["p50"],
        ttft_p99=found.ttft_ms["p99"],
        tpot_p50=found.tpot_ms["p50"],
        tpot_p99=found.tpot_ms["p99"],
        verify_ms=found.verify_ms,
        step_ms=found.step_ms,
        joules=found.joules_per_token,
        failed=found.failed,
        stopped=cell.stopped,
        doubt=cell.doubt,
        why=visible(cell.why),
        warnings=tuple(map(visible, cell.warnings)),
    )
