"""Runs a plan: cell after cell under watch, what was measured kept whatever ends it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from eagletui.bench import plan as plans
from eagletui.bench.curves import Curves
from eagletui.bench.gaps import itl_quantiles
from eagletui.bench.load import Driver, Load, Moving, Reply
from eagletui.bench.observer import Eye, Gpus, Observer
from eagletui.bench.plan import CellPlan, Plan
from eagletui.bench.progress import Counting, Eta, Progress
from eagletui.bench.watch import Verdict, Watch
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.literals import Literals
from eagletui.model.run import STOPPED, Cell, StopReason

CANCELLED = "Cancelled."
_ENDS_ALL: tuple[StopReason, ...] = ("cancelled", "restarted", "other-traffic", "failed")
"""What ends the whole benchmark; the rest ends a cell and its like in later repeats."""


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
        gpus: Gpus | None = None,
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
        self.curves = Curves()
        self._observer = Observer(
            eye, gpus, ruled=self._rule, noted=self._note, seen=self.curves.saw, clock=clock
        )
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

        self.curves.begin()
        await self._observer.look(watch)
        async with self._observer.watching(watch):
            seconds = await self._drive(load, heard)
        await self._observer.settle(watch)
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

    # --- judging ------------------------------------------------------------------------------

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
    ) -> Counting:
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
        return Counting(first, self._said, self._clock, self._eta)


def _alike(stopped: str, at: int, concurrencies: tuple[int, ...]) -> set[int]:
    """Concurrencies whose later cells would end the same way."""
    if stopped == "kv-full":
        return {other for other in concurrencies if other >= at}
    return {at} if stopped else set()
