"""Runs a plan: cell after cell under watch, what was measured kept whatever ends it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from msgspec.structs import replace

from eagletui.bench import plan as plans
from eagletui.bench.gaps import itl_quantiles
from eagletui.bench.load import Driver, Load, Moving, Reply
from eagletui.bench.plan import CellPlan, Plan
from eagletui.bench.watch import Verdict, Watch
from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.literals import Literals
from eagletui.model.readings import Reading
from eagletui.model.run import STOPPED, Cell, StopReason
from eagletui.model.server import Gpu

LOOK_EVERY = 1.0
SETTLE = 3.0
"""Seconds that the server's counters may take to show the last request's end."""

SETTLE_EVERY = 0.2
CANCELLED = "Cancelled."
_ENDS_ALL: tuple[StopReason, ...] = ("cancelled", "restarted", "other-traffic", "failed")
"""What ends the whole benchmark; the rest ends a cell and its like in later repeats."""


class Eye(Protocol):
    """Reads the server's counters (`bench.eye.Eye`)."""

    problem: str

    async def look(self) -> Reading | None: ...

    async def flush(self) -> str: ...


class Progress(Data, frozen=True):
    """Where a benchmark stands.

    Attributes:
        cell: number of the cell under way, from 1; the warm-up counts to the cell after it.
        remaining: seconds to the end, None while nothing tells.
    """

    cell: int
    cells: int
    concurrency: int
    repeat: int
    repeats: int
    done: int
    requests: int
    tokens: int
    seconds: float
    warming: bool = False
    remaining: float | None = None

    @property
    def tok_s(self) -> float | None:
        """Tokens a second of this cell so far."""
        return self.tokens / self.seconds if self.seconds > 0.5 else None


class Measuring:
    """One benchmark.

    Args:
        driver: sends the requests.
        eye: reads counters; None where there are none.
        gpus: readings of the host's GPUs, one iteration a cell; None where there are none.
        gpu_indices: those of the server; () for all.
        launch: what is true of this launch of the server alone (its pid), asked before and
            after each cell; None where it cannot be known.
        said: hears how far it is.
        kept: gets each cell as soon as it is measured.
        secrets: what is covered in whatever the server answered, before it is kept or said.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        driver: Driver,
        url: str,
        headers: dict[str, str] | None = None,
        eye: Eye | None = None,
        gpus: Callable[[], AsyncIterator[tuple[Gpu, ...]]] | None = None,
        gpu_indices: tuple[int, ...] = (),
        launch: Callable[[], Awaitable[str]] | None = None,
        said: Callable[[Progress], None] = lambda _: None,
        kept: Callable[[Cell], Awaitable[None]] | None = None,
        secrets: Literals | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._driver = driver
        self._url = url
        self._headers = headers or {}
        self._eye = eye
        self._gpus = gpus
        self._gpu_indices = gpu_indices
        self._launch = launch
        self._said = said
        self._kept = kept
        self._secrets = secrets or Literals()
        self._clock = clock
        self._stop = asyncio.Event()
        self._verdict: Verdict | None = None
        self._doubts: list[str] = []
        self.cancelled = False
        self._eta = Eta(plans.cells(plan))
        self.cells: list[Cell] = []
        self.notes: list[str] = []
        """What is to be known of the whole, in words."""

    @property
    def partial(self) -> bool:
        """Whether cells are missing or ended early."""
        whole = len(plans.cells(self._plan))
        return len(self.cells) < whole or any(cell.stopped for cell in self.cells)

    def cancel(self) -> None:
        """End it; what was measured is kept."""
        # A verdict may be there already, and would hide this one.
        self.cancelled = True
        self._note(CANCELLED)
        self._rule(Verdict("cancelled", CANCELLED))

    async def run(self) -> tuple[Cell, ...]:
        """Every cell that was measured, the last one perhaps in part."""
        launch = await self._which_launch()
        if self._eye is not None and await self._eye.look() is None:
            self._note(f"The server's counters are not read: {self._eye.problem}")
        warmed: set[int] = set()
        given_up: set[int] = set()
        for number, cell in enumerate(plans.cells(self._plan)):
            if cell.concurrency in given_up:
                self._eta.skip(number)
                continue
            self._eta.begin(number)
            if cell.concurrency not in warmed and self._plan.warmup and not self._stop.is_set():
                warmed.add(cell.concurrency)
                await self._warm(number, cell)
            if self._stop.is_set():
                break
            found = await self._measure(number, cell, launch)
            self.cells.append(found)
            if self._kept is not None:
                await self._kept(found)
            self._eta.end(found.seconds)
            stopped = self._verdict.stopped if self._verdict is not None else ""
            if self.cancelled or stopped in _ENDS_ALL:
                break
            given_up |= _alike(stopped, cell.concurrency, self._plan.concurrencies)
            self._stop.clear()
            self._verdict = None
        return tuple(self.cells)

    # --- one cell -----------------------------------------------------------------------------

    async def _warm(self, number: int, cell: CellPlan) -> None:
        """What comes first after a start or a change of concurrency is slower: thrown away."""
        load = plans.load(self._plan, cell, url=self._url, headers=self._headers, warm=True)
        errors: list[str] = []
        progress = self._progress(number, cell, load, warming=True)

        def heard(item: Reply | Moving) -> None:
            progress.heard(item)
            if isinstance(item, Reply) and item.sent.error:
                errors.append(self._secrets.hide_text(item.sent.error))

        await self._drive(load, heard)
        if len(errors) == len(load.bodies) and not self._stop.is_set():
            what = f"Every request of the warm-up failed: {errors[0]}"
            if self.cells:
                # What was measured is worth keeping.
                self._note(f"c={cell.concurrency}: {what}")
                self._rule(Verdict("failed", what))
                return
            raise EagletuiError(
                what,
                advice="Check the endpoint, the model's context (a prompt may be too long for "
                "it), and the API key.",
            )

    async def _measure(self, number: int, cell: CellPlan, launch: str) -> Cell:
        if self._plan.flush and self._eye is not None and (why := await self._eye.flush()):
            self._note(f"The prefix cache was not emptied: {why}.")
        load = plans.load(self._plan, cell, url=self._url, headers=self._headers)
        self._doubts = []
        watch = Watch(cell.concurrency, gpus=self._gpu_indices)
        replies: list[Reply] = []
        progress = self._progress(number, cell, load)

        def heard(item: Reply | Moving) -> None:
            progress.heard(item)
            if isinstance(item, Reply):
                reply = self._covered(item)
                replies.append(reply)
                self._rule(watch.heard(reply))

        await self._look(watch)
        async with self._watching(watch):
            seconds = await self._drive(load, heard)
        await self._settle(watch)
        await self._same_launch(launch)
        return self._cell(cell, load, watch, replies, seconds)

    def _covered(self, reply: Reply) -> Reply:
        if not reply.sent.error:
            return reply
        error = self._secrets.hide_text(reply.sent.error)
        return replace(reply, sent=replace(reply.sent, error=error))

    async def _drive(self, load: Load, heard: Callable[[Reply | Moving], None]) -> float:
        began = self._clock()
        try:
            return await self._driver.drive(load, heard, self._stop)
        except HostError as error:
            self._rule(Verdict("failed", error.what))
            return self._clock() - began

    def _cell(
        self, cell: CellPlan, load: Load, watch: Watch, replies: list[Reply], seconds: float
    ) -> Cell:
        replies.sort(key=lambda reply: reply.index)
        failed = [r.sent.error for r in replies if r.sent.error not in ("", STOPPED)]
        warnings = [*watch.warnings(failed=len(failed), reasons=failed), *self._doubts]
        stopped, why = self._verdict or Verdict("", "")
        doubt: StopReason = ""
        if len(replies) == len(load.bodies) and not any(r.sent.error for r in replies):
            # It came too late to end the cell, and is true of it all the same.
            late = stopped not in ("", "cancelled")
            warnings[:0] = [why] if late else []
            stopped, doubt, why = "", stopped if late else "", why if late else ""
        return Cell(
            concurrency=cell.concurrency,
            repeat=cell.repeat,
            seconds=seconds,
            requests=tuple(reply.sent for reply in replies),
            itl_ms=itl_quantiles(replies),
            steps=watch.steps,
            server_tokens=None if stopped else watch.server_tokens,
            accept_length=watch.accept_length,
            power_watts=watch.power_watts,
            stopped=stopped,
            doubt=doubt,
            why=why,
            warnings=tuple(warnings),
        )

    # --- watching -----------------------------------------------------------------------------

    def _rule(self, verdict: Verdict | None) -> None:
        if verdict is None or self._verdict is not None:
            return
        if self._plan.keep_going and verdict.stopped not in ("cancelled", "failed"):
            self._note(verdict.why)
            # The watch warns of loops itself, with the numbers of the whole cell.
            if verdict.stopped != "looped" and verdict.why not in self._doubts:
                self._doubts.append(verdict.why)
            return
        self._verdict = verdict
        self._stop.set()

    def _note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)

    async def _look(self, watch: Watch) -> Reading | None:
        if self._eye is None:
            return None
        reading = await self._eye.look()
        if reading is not None:
            self._rule(watch.saw(reading))
        return reading

    @contextlib.asynccontextmanager
    async def _watching(self, watch: Watch) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._look_on(watch))]
        if self._gpus is not None:
            tasks.append(asyncio.create_task(self._look_at_gpus(self._gpus(), watch)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_on(self, watch: Watch) -> None:
        while self._eye is not None:
            await asyncio.sleep(LOOK_EVERY)
            await self._look(watch)

    async def _look_at_gpus(self, readings: AsyncIterator[tuple[Gpu, ...]], watch: Watch) -> None:
        try:
            async for gpus in readings:
                self._rule(watch.saw_gpus(gpus))
        except HostError as error:
            self._note(f"GPUs were not read: {error.what}")

    async def _settle(self, watch: Watch) -> None:
        """Look until the counter of generated tokens holds all of ours, or moves no more."""
        if self._eye is None:
            return
        end = self._clock() + SETTLE
        while await self._look(watch) is not None:
            counted = watch.server_tokens
            if counted is None or counted >= watch.tokens or self._clock() >= end:
                return
            await asyncio.sleep(SETTLE_EVERY)

    async def _which_launch(self) -> str:
        if self._launch is None:
            return ""
        with contextlib.suppress(HostError):
            return await self._launch()
        return ""

    async def _same_launch(self, before: str) -> None:
        if before and (after := await self._which_launch()) and after != before:
            self._verdict = Verdict(
                "restarted", f"The server restarted: it was {before} and is {after}."
            )

    def _progress(
        self, number: int, cell: CellPlan, load: Load, *, warming: bool = False
    ) -> _Counting:
        first = Progress(
            cell=number + 1,
            cells=len(plans.cells(self._plan)),
            concurrency=cell.concurrency,
            repeat=cell.repeat,
            repeats=self._plan.repeats,
            done=0,
            requests=len(load.bodies),
            tokens=0,
            seconds=0.0,
            warming=warming,
        )
        return _Counting(first, self._said, self._clock, self._eta)


class _Counting:
    """Counts one cell's requests for whoever watches."""

    def __init__(
        self,
        first: Progress,
        said: Callable[[Progress], None],
        clock: Callable[[], float],
        eta: Eta,
    ) -> None:
        self._now = first
        self._said = said
        self._clock = clock
        self._eta = eta
        self._began = clock()
        self._tell()

    def heard(self, item: Reply | Moving) -> None:
        if isinstance(item, Reply):
            self._now = replace(self._now, done=self._now.done + 1)
        else:
            self._now = replace(self._now, tokens=item.tokens)
        self._tell()

    def _tell(self) -> None:
        seconds = self._clock() - self._began
        share = 0.0 if self._now.warming else self._now.done / max(self._now.requests, 1)
        self._now = replace(
            self._now, seconds=seconds, remaining=self._eta.remaining(share, seconds)
        )
        self._said(self._now)


class Eta:
    """How long the rest takes: cells of a known concurrency take what they took, others what a
    request of the nearest known one took for each of their rounds."""

    def __init__(self, cells: tuple[CellPlan, ...]) -> None:
        self._left = dict(enumerate(cells))
        self._now: CellPlan | None = None
        self._took: dict[int, float] = {}

    def begin(self, number: int) -> None:
        """This cell is under way."""
        self._now = self._left.pop(number)

    def skip(self, number: int) -> None:
        """This cell is left out."""
        self._left.pop(number)

    def end(self, seconds: float) -> None:
        """The cell under way is over."""
        assert self._now is not None
        self._took[self._now.concurrency] = seconds / self._rounds(self._now)

    def remaining(self, share: float, seconds: float) -> float | None:
        """Seconds to the end.

        Args:
            share: of the cell's requests that are over.
            seconds: since the cell began.
        """
        assert self._now is not None
        took = dict(self._took)
        if share > 0.0 and self._now.concurrency not in took:
            took[self._now.concurrency] = seconds / share / self._rounds(self._now)
        if not took:
            return None
        whole = self._seconds(self._now, took)
        rest = max(whole - seconds, 0.0) if share == 0.0 else seconds / share - seconds
        return rest + sum(self._seconds(cell, took) for cell in self._left.values())

    def _seconds(self, cell: CellPlan, took: dict[int, float]) -> float:
        nearest = min(took, key=lambda known: abs(known - cell.concurrency))
        return took[nearest] * self._rounds(cell)

    @staticmethod
    def _rounds(cell: CellPlan) -> float:
        return cell.requests / cell.concurrency


def _alike(stopped: str, at: int, concurrencies: tuple[int, ...]) -> set[int]:
    """Concurrencies whose later cells would end the same way."""
    if stopped == "kv-full":
        return {other for other in concurrencies if other >= at}
    return {at} if stopped else set()
