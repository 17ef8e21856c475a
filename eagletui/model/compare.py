"""Runs side by side: what differs, what is faster, what is a tie, and when drafting pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from msgspec.structs import asdict

from eagletui.model.base import Data
from eagletui.model.compare_alike import Difference, Likeness, differences, likeness
from eagletui.model.figures import Figures, figures_of
from eagletui.model.gone import Gone
from eagletui.model.run import Run
from eagletui.model.statistics import BLIND_MARGIN, MARGIN, Interval, Ratio, call, ratio

Judgement = Literal["faster", "slower", "tie", "not comparable"]

BASELINE_SEED, SEED = 0, 1
ONE_REPEAT = "one repeat cannot show how repeats differ"


class Verdict(Data, frozen=True):
    """How one run's tok/s stands to the baseline's at one concurrency.

    Attributes:
        ratio: new over old; None where it is not claimed.
        low, high: its interval; None where nothing is known of the noise.
        why: what a person should know to judge it.
        unlike: what else is another than the baseline's: `release`, `GPU`, `temperature`.
    """

    run: str
    concurrency: int
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Judgement
    why: str
    unlike: tuple[str, ...] = ()


class BreakEven(Data, frozen=True):
    """What a run's drafts must bring to pay for what they cost.

    Attributes:
        needed: the accept length at which it is as fast as the baseline: its step time over the
            baseline's, times the baseline's own accept length (1 without drafts).
        has: the one it has.
        pays: whether that is enough.
        text: `needs accept length ≥ 2.65, has 2.10`.
    """

    run: str
    concurrency: int
    step_ms: float
    baseline_step_ms: float
    needed: float
    has: float
    pays: bool
    text: str


class Side(NamedTuple):
    """One run of a comparison with its figures, the lowest concurrency first."""

    run: Run
    cells: tuple[Figures, ...]

    def at(self, concurrency: int) -> Figures | None:
        """Its figures at one concurrency."""
        return next((cell for cell in self.cells if cell.concurrency == concurrency), None)


class Comparison(NamedTuple):
    """Two or more runs side by side, in the order they were named.

    Attributes:
        gone: what was to stand beside them.
    """

    baseline: str
    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    verdicts: tuple[Verdict, ...]
    break_even: tuple[BreakEven, ...]
    gone: tuple[Gone, ...] = ()

    def verdict(self, run: str, concurrency: int) -> Verdict | None:
        """What is said of a run at one concurrency; None of the baseline."""
        return next(
            (v for v in self.verdicts if v.run == run and v.concurrency == concurrency), None
        )

    @property
    def concurrencies(self) -> tuple[int, ...]:
        """Every concurrency that any run has."""
        return tuple(sorted({cell.concurrency for side in self.sides for cell in side.cells}))


def natural_baseline(runs: Sequence[Run]) -> Run:
    """The first that does not draft, or the first."""
    return next((run for run in runs if not run.surroundings.speculative.on), runs[0])


def compare(runs: Sequence[Run], baseline: str | None = None) -> Comparison:
    """Put runs side by side.

    Args:
        runs: at least one; ids must differ.
        baseline: the id of the one to measure against; `natural_baseline` without it.

    Raises:
        ValueError: there are no runs, two have one id, or none is the baseline.
    """
    if not runs or len({run.id for run in runs}) != len(runs):
        raise ValueError("a comparison is of runs with different ids")
    old = (
        natural_baseline(runs)
        if baseline is None
        else next((run for run in runs if run.id == baseline), None)
    )
    if old is None:
        raise ValueError(f"none of the runs is {baseline}")
    sides = tuple(
        Side(run, figures_of(run, seed=BASELINE_SEED if run.id == old.id else SEED)) for run in runs
    )
    base = next(side for side in sides if side.run.id == old.id)
    others = [side for side in sides if side is not base]
    verdicts = [verdict for side in others for verdict in _verdicts(side, base)]
    sound = {(one.run, one.concurrency) for one in verdicts if one.verdict != "not comparable"}
    return Comparison(
        baseline=old.id,
        sides=sides,
        differences=differences(runs),
        verdicts=tuple(verdicts),
        break_even=tuple(
            found
            for side in others
            for cell in side.cells
            if (side.run.id, cell.concurrency) in sound
            and (found := _break_even(side, cell, base)) is not None
        ),
    )


# --- verdicts -------------------------------------------------------------------------------------


def _verdicts(side: Side, base: Side) -> list[Verdict]:
    """One for each concurrency of either."""
    alike = likeness(side.run, base.run)
    at = {cell.concurrency for cell in (*side.cells, *base.cells)}
    return [_verdict(side, base, concurrency, alike) for concurrency in sorted(at)]


def _verdict(side: Side, base: Side, concurrency: int, alike: Likeness) -> Verdict:
    new, old = side.at(concurrency), base.at(concurrency)
    against = [*alike.obstacles]
    change: Ratio | None = None
    if new is None or old is None:
        against.append(
            f"the {'baseline' if old is None else 'run'} has no cell at concurrency {concurrency}"
        )
    else:
        for who, cell in (("its", new), ("the baseline's", old)):
            if cell.spoiled:
                against.append(f"{who} cell {'; '.join(cell.spoiled)}")
        if new.tok_s is not None and old.tok_s is not None:
            change = ratio(new.tok_s, old.tok_s, new.samples, old.samples, new.speeds, old.speeds)
        if change is None and not against:
            against.append("no tokens a second were measured")
    if change is not None and new is not None and old is not None:
        if not against:
            against += _hidden(change, new, old)
        elif alike.nccl_alone and against == [*alike.obstacles]:
            against += _hidden(change, new, old) or _beside(change, new, old)
    if against or change is None or new is None or old is None:
        return Verdict(
            run=side.run.id,
            concurrency=concurrency,
            ratio=None,
            low=None,
            high=None,
            verdict="not comparable",
            why="; ".join((*against, *alike.noted)),
            unlike=alike.unlike,
        )
    judged = call(change, repeats=len(new.speeds), other_repeats=len(old.speeds))
    return Verdict(
        run=side.run.id,
        concurrency=concurrency,
        ratio=change.value,
        low=change.interval.low if change.interval else None,
        high=change.interval.high if change.interval else None,
        verdict=judged,
        why="; ".join((*alike.noted, *_why(change, judged, new, old))),
        unlike=alike.unlike,
    )


def _hidden(change: Ratio, new: Figures, old: Figures) -> list[str]:
    """Why requests that failed may be what looks like a difference; [] where it stands anyway.

    A failed request took its time and brought nothing: counted so, as one like those that were
    served, the side that is faster must still be the faster one.
    """
    judged = call(change, repeats=len(new.speeds), other_repeats=len(old.speeds))
    if judged == "tie":
        return []
    who, cell = ("its", new) if judged == "faster" else ("the baseline's", old)
    share = cell.served_share
    if share:
        factor = share if judged == "faster" else 1.0 / share
        drawn = change.interval and Interval(*(factor * end for end in change.interval))
        counted = Ratio(factor * change.value, drawn)
        if call(counted, repeats=len(new.speeds), other_repeats=len(old.speeds)) == judged:
            return []
    return [f"{_failures(who, cell)}: it may be faster only without them"]


def _beside(change: Ratio, new: Figures, old: Figures) -> list[str]:
    """How two stand beside each other whose NCCL environments are what was tried."""
    judged = call(change, repeats=len(new.speeds), other_repeats=len(old.speeds))
    size = f"{change.value:.2f}×"
    if change.interval is not None:
        size += f" ({change.interval.low:.2f} to {change.interval.high:.2f})"
    stand = f"with the same speculative setting, tok/s of the two are {size}"
    return [stand, *_why(change, judged, new, old)]


def _failures(who: str, cell: Figures) -> str:
    return f"{cell.failed} of {who} {cell.requests} requests failed"


def _why(change: Ratio, judged: str, new: Figures, old: Figures) -> list[str]:
    parts: list[str] = []
    if change.interval is None:
        parts.append(
            "no requests were kept, so that its noise is not known"
            + (f"; less than {BLIND_MARGIN:.0%} is called a tie" if judged == "tie" else "")
        )
    elif change.interval.low <= 1.0 <= change.interval.high:
        parts.append("the interval holds 1")
    elif min(len(new.speeds), len(old.speeds)) < 2:
        parts.append(f"less than {MARGIN:.0%}, and {ONE_REPEAT}" if judged == "tie" else ONE_REPEAT)
    parts += [text.removesuffix(".") for text in dict.fromkeys((*new.warnings, *old.warnings))]
    parts += [
        f"a cell ended early: {text.removesuffix('.')}" for text in (*new.stopped, *old.stopped)
    ]
    for who, cell in (("its", new), ("the baseline's", old)):
        if cell.failed:
            parts.append(_failures(who, cell))
    return parts


# --- break-even -----------------------------------------------------------------------------------


def _break_even(side: Side, new: Figures, base: Side) -> BreakEven | None:
    old = base.at(new.concurrency)
    if old is None or new.accept_length is None or old.accept_length is None:
        return None
    if not side.run.surroundings.speculative.on:
        return None
    # The same quantity on both sides: a timer's step is shorter than one of the wall clock's.
    steps = (new.wall_step_ms, old.wall_step_ms)
    step, baseline_step = steps if None not in steps else (new.step_ms, old.step_ms)
    if not step or not baseline_step:
        return None
    needed = step / baseline_step * old.accept_length
    return BreakEven(
        run=side.run.id,
        concurrency=new.concurrency,
        step_ms=step,
        baseline_step_ms=baseline_step,
        needed=needed,
        has=new.accept_length,
        pays=new.accept_length >= needed,
        text=f"needs accept length ≥ {needed:.2f}, has {new.accept_length:.2f}",
    )


# --- the document ---------------------------------------------------------------------------------


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The contract of `compare --json`: plain data."""
    return {
        "baseline": comparison.baseline,
        "runs": [_run(side) for side in comparison.sides],
        "differences": list(comparison.differences),
        "verdicts": [_judged(verdict) for verdict in comparison.verdicts],
        "break_even": list(comparison.break_even),
        **({"gone": [_gone(one) for one in comparison.gone]} if comparison.gone else {}),
    }


def _gone(one: Gone) -> dict[str, Any]:
    return {"id": one.id, "name": one.name or None, "baseline": one.baseline}


def _judged(verdict: Verdict) -> dict[str, Any]:
    """What is unlike stands in `why`."""
    found = asdict(verdict)
    del found["unlike"]
    return found


def _run(side: Side) -> dict[str, Any]:
    run, around = side.run, side.run.surroundings
    return {
        "id": run.id,
        "name": run.name,
        "speculative": around.speculative,
        "environment": {
            "host": around.host or None,
            "model": around.model or None,
            "profile": around.profile or None,
            "variables": around.environment,
            "versions": around.versions,
            "gpus": around.gpus,
            "topology": around.topology or None,
            "tensor_parallel": around.tensor_parallel,
            "memory_bytes": around.memory_bytes,
            "load_seconds": around.load_seconds,
        },
        "cells": [_cell(cell) for cell in side.cells],
    }


def _cell(cell: Figures) -> dict[str, Any]:
    return {
        "concurrency": cell.concurrency,
        "tok_s": cell.tok_s,
        "tok_s_low": cell.tok_s_interval.low if cell.tok_s_interval else None,
        "tok_s_high": cell.tok_s_interval.high if cell.tok_s_interval else None,
        "accept_length": cell.accept_length,
        "acceptance_by_position": cell.acceptance,
        "verify_ms": cell.verify_ms,
        "draft_ms": cell.draft_ms,
        "draft_extend_ms": cell.draft_extend_ms,
        "step_ms": cell.step_ms,
        "ttft_ms": cell.ttft_ms,
        "tpot_ms": cell.tpot_ms,
    }
