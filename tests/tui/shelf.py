"""A shelf without a disk: runs made for the tests, and what was asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from eagletui.model.compare import Comparison, compare
from eagletui.model.errors import EagletuiError
from eagletui.model.gone import Gone
from eagletui.model.keeping import (
    Kept,
    KeptCell,
    KeptComparison,
    KeptRun,
    KeptSession,
    ReportForm,
)
from eagletui.model.run import Cell, Run, StepTimes, Surroundings, Workload
from eagletui.model.series import Window
from eagletui.model.speculative import Speculative
from tests.store.runs.made import made_cell
from tests.tui.scenes import NOW

# k → (seconds a request of 512 tokens takes, steps by accepted drafts, step, verify, draft, extend)
_MADE: dict[int, tuple[float, tuple[int, ...], StepTimes]] = {
    0: (5.6, (), StepTimes(source="device timer", step=10.9)),
    2: (
        5.3,
        (100, 56, 100),
        StepTimes(source="device timer", step=22.1, verify=19.87, draft=0.9, draft_extend=0.6),
    ),
    5: (
        7.2,
        (100, 56, 60, 20, 12, 8),
        StepTimes(source="device timer", step=31.0, verify=27.1, draft=2.2, draft_extend=0.7),
    ),
}


def _speculative(k: int) -> Speculative:
    if not k:
        return Speculative()
    return Speculative(algorithm="EAGLE3", num_steps=k, eagle_topk=1, num_draft_tokens=k + 1)


def _cell(k: int, repeat: int) -> Cell:
    seconds, accepted, steps = _MADE[k]
    cell = made_cell(1, repeat, seconds=seconds)
    return replace(
        cell,
        steps=steps,
        requests=tuple(
            replace(sent, accepted=accepted, verify_steps=sum(accepted) or None)
            for sent in cell.requests
        ),
    )


def made(k: int, name: str, **changes: object) -> Run:
    """A run of three repeats at concurrency 1."""
    fields: dict[str, object] = {
        "began": NOW - 7200 - k,
        "ended": NOW - 7000,
        "workload": Workload(prompts="chat", digest="ab" * 32, temperature=0.0, repeats=3),
        "surroundings": Surroundings(
            host="gpu1",
            model="/models/Kimi-K2.5",
            speculative=_speculative(k),
            environment={"NCCL_ALGO": "Ring"},
            versions={"sglang": "0.5.16"},
            gpus=("NVIDIA RTX PRO 6000",) * 8,
        ),
        "cells": tuple(_cell(k, repeat) for repeat in range(3)),
        **changes,
    }
    return Run(id=f"{name:a<12}"[:12].replace("-", "x"), name=name, **fields)  # type: ignore[arg-type]


RUNS = (
    made(2, "chain-2", notes="LL and Ring", tags=("pcie",)),
    made(0, "off"),
    made(5, "chain-5", partial=True),
)
SESSION = KeptSession(
    id="s1",
    host="gpu1",
    server=":30000",
    began=NOW - 86400,
    ended=NOW - 82800,
    model="/models/Kimi-K2.5",
    speculative="EAGLE3 k=3 topk=1 draft=4",
    version="0.5.16",
    tok_s=71.34,
    accept_length=2.104,
)


def line_of(run: Run, **changes: object) -> KeptRun:
    """A run in the list."""
    around = run.surroundings
    speeds = {"chain-2": 96.6, "off": 91.4, "chain-5": 71.1}
    return KeptRun(
        id=run.id,
        name=run.name,
        began=run.began,
        host=around.host,
        model=around.model,
        speculative=around.speculative.short,
        cells=(
            KeptCell(
                concurrency=1,
                tok_s=speeds[run.name],
                accept_length=2.0 if around.speculative.on else None,
            ),
        ),
        partial=run.partial,
        doubts=("looped",) if run.partial else (),
        notes=run.notes,
        tags=run.tags,
        **changes,  # type: ignore[arg-type]
    )


class FakeShelf:
    """Answers from `RUNS`; what changes is remembered in `wishes`."""

    def __init__(
        self,
        *,
        fails: EagletuiError | None = None,
        empty: bool = False,
        more: Sequence[KeptSession] = (),
    ) -> None:
        self.fails = fails
        self.refuses: EagletuiError | None = None
        """What it says to whoever wants to change something."""
        self.lines = [] if empty else [line_of(run) for run in RUNS]
        self.saved: list[KeptComparison] = []
        self.removed: dict[str, str] = {}
        """Ids of runs that are gone, with the names that are known of them."""
        self.wishes: list[tuple[str, object]] = []
        self.annotated: list[tuple[str, dict[str, object]]] = []
        self.sessions = () if empty else (SESSION, *more)

    async def kept(self) -> Kept:
        """As it is now."""
        if self.fails is not None:
            raise self.fails
        return Kept(runs=tuple(self.lines), comparisons=tuple(self.saved), sessions=self.sessions)

    async def compare(self, runs: Sequence[str], baseline: str | None) -> Comparison:
        """The real one."""
        self.wishes.append(("compare", (tuple(runs), baseline)))
        if self.fails is not None:
            raise self.fails
        by_id = {run.id: run for run in RUNS if run.id not in self.removed}
        gone = tuple(
            Gone(run, self.removed.get(run, ""), run == baseline)
            for run in runs
            if run not in by_id
        )
        left = [by_id[run] for run in runs if run in by_id]
        return compare(left, baseline if baseline in by_id else None)._replace(gone=gone)

    async def series(
        self, runs: Sequence[str], sessions: Sequence[str] = ()
    ) -> Mapping[str, Mapping[str, Window]]:
        """Of sessions `session`'s; of the first two runs a point each five seconds, with a gap
        between two cells of the one."""
        times = [NOW - 7200 + 5.0 * n for n in range(37)]
        joined = [int(n % 19 > 0) for n in range(37)]
        first = {
            "tok_s": Window(times, [96.0 + n % 5 for n in range(37)], joined),
            "accept_length": Window(times, [2.0 + n % 5 / 20 for n in range(37)], joined),
        }
        later = [time + 9000.0 for time in times[:25]]
        second = {"tok_s": Window(later, [91.0 - n % 3 for n in range(25)], [1] * 25)}
        known = {RUNS[0].id: first, RUNS[1].id: second}
        return {
            **{run: known[run] for run in runs if run in known},
            **{session: await self.session(session) for session in sessions},
        }

    async def save(self, name: str, runs: Sequence[str], baseline: str) -> None:
        """Remember."""
        self.wishes.append(("save", (name, tuple(runs), baseline)))
        self.saved.append(KeptComparison(name=name, runs=tuple(runs), baseline=baseline))

    async def report(self, comparison: Comparison, form: ReportForm) -> str:
        """Remember."""
        self.wishes.append(("report", (len(comparison.sides), form)))
        if self.fails is not None:
            raise self.fails
        return f"/home/me/report.{form}"

    async def annotate(
        self,
        run: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Remember, and answer so from now on."""
        if self.refuses is not None:
            raise self.refuses
        said = {"name": name, "notes": notes, "tags": None if tags is None else tuple(tags)}
        known: dict[str, object] = {
            what: value for what, value in said.items() if value is not None
        }
        self.annotated.append((run, known))
        self.lines = [replace(line, **known) if line.id == run else line for line in self.lines]

    async def session(self, session: str) -> Mapping[str, Window]:
        """A minute of it a point."""
        times = [SESSION.began + 60.0 * n for n in range(61)]
        joined = [0, *([1] * 60)]
        return {
            "accept_length": Window(times, [2.0 + n % 5 / 20 for n in range(61)], joined),
            "step_ms": Window(times, [24.0 + n % 7 / 4 for n in range(61)], joined),
            "tok_s": Window(times, [70.0 + n % 9 for n in range(61)], joined),
        }
