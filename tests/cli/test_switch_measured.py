"""What the switcher tells of earlier measurements: of this very combination, and of no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.cli.switch_measured import MeasuredRuns
from eagletui.model.profile import StartPlan
from eagletui.model.run import Cell, Run, Sent, Surroundings
from eagletui.model.speculative import Speculative
from eagletui.model.switching import Choice, Measured, Preview
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.tui.switching import measured as said

SENT = Sent(
    began=0.0, ttft=0.1, latency=2.1, output_tokens=200, verify_steps=100, accepted=(40, 40, 20, 0)
)
K3 = Speculative(algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4)
RING = {"NCCL_ALGO": "Ring", "SGLANG_X": "1"}
RUN = Run(
    id="a" * 12,
    name="k3 chat",
    began=1000.0,
    cells=(Cell(concurrency=1, seconds=2.0, requests=(SENT,)),),
    surroundings=Surroundings(
        host="gpu1", model="Kimi-K2.5", argv=("python", "-m", "sglang.launch_server",
        "--model-path", "/models/kimi"), speculative=K3, environment=RING,
    ),
)  # fmt: skip
PLAN = StartPlan(
    argv=(
        "python", "-m", "sglang.launch_server", "--model-path", "/models/kimi",
        "--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3",
    ),
    environment={"NCCL_ALGO": "Ring"},
)  # fmt: skip
FOUND = Measured(name="k3 chat", began=1000.0, concurrency=1, tok_s=100.0, accept_length=1.8)


def asked(tmp_path: Path, *runs: Run, host: str = "gpu1") -> MeasuredRuns:
    @contextmanager
    def opened() -> Iterator[tuple[Database, Runs]]:
        with Database(tmp_path / "runs.db") as database:
            yield database, Runs(database)

    with opened() as (_, kept):
        for run in runs:
            kept.add(run)
    return MeasuredRuns(host, opened)


def around(**other: Any) -> Run:
    return replace(RUN, surroundings=replace(RUN.surroundings, **other))


def test_the_run_of_this_combination_is_told(tmp_path: Path) -> None:
    assert asked(tmp_path, RUN).last(PLAN) == FOUND


@pytest.mark.parametrize(
    "run",
    [
        around(host="gpu2"),
        around(model="other", argv=()),
        around(speculative=replace(K3, num_steps=5)),
        around(speculative=Speculative()),
        around(speculative=replace(K3, adaptive=True)),
        around(environment={"NCCL_ALGO": "Tree"}),
        around(environment={}),
        around(environment={**RING, "NCCL_PROTO": "LL"}),
        replace(RUN, source="theirs.jsonl"),
        replace(RUN, cells=()),
        replace(RUN, cells=(replace(RUN.cells[0], stopped="looped"),)),
    ],
    ids=[
        "another host", "another model", "another k", "none", "adaptive", "another NCCL",
        "no NCCL", "more NCCL", "imported", "nothing measured", "looped",
    ],
)  # fmt: skip
def test_a_run_of_another_is_not(tmp_path: Path, run: Run) -> None:
    assert asked(tmp_path, run).last(PLAN) is None


def test_what_only_says_where_nccl_is_changes_nothing(tmp_path: Path) -> None:
    run = around(environment={**RING, "NCCL_VERSION": "2.27.7"})
    assert asked(tmp_path, run).last(PLAN) == FOUND


def test_the_newest_is_told_that_says_anything(tmp_path: Path) -> None:
    faster = (Cell(concurrency=1, seconds=1.0, requests=(SENT,)),)
    newer = replace(RUN, id="b" * 12, name="again", began=2000.0, cells=faster)
    looped = replace(
        RUN, id="c" * 12, began=3000.0, cells=(replace(faster[0], stopped="looped", seconds=0.9),)
    )
    found = asked(tmp_path, RUN, newer, looped).last(PLAN)
    assert found == Measured(
        name="again", began=2000.0, concurrency=1, tok_s=200.0, accept_length=1.8
    )


FAST = (Cell(concurrency=1, seconds=1.0, requests=(SENT,)),)
SLOW = (Cell(concurrency=1, seconds=4.0, requests=(SENT,)),)
WHOLE = replace(RUN, id="w" * 12, name="whole", began=1500.0, cells=FAST)
PARTIAL = replace(RUN, id="p" * 12, name="partial", began=2000.0, partial=True)
LATER = replace(PARTIAL, id="q" * 12, name="later", began=3000.0, cells=SLOW)
OLDER = replace(RUN, cells=(*FAST, *SLOW))


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ((WHOLE, PARTIAL), ("whole", False)),
        ((WHOLE, PARTIAL, LATER), ("whole", False)),
        ((PARTIAL, replace(WHOLE, began=9000.0)), ("whole", False)),
        ((OLDER, WHOLE, LATER), ("whole", False)),
        ((PARTIAL, LATER), ("later", True)),
        ((PARTIAL, replace(WHOLE, cells=())), ("partial", True)),
        ((PARTIAL, replace(WHOLE, cells=(replace(FAST[0], stopped="looped"),))),
         ("partial", True)),
    ],
    ids=["a newer partial one", "two of them", "an older one", "two whole ones", "none is whole",
         "the whole one is empty", "the whole one looped"],
)  # fmt: skip
def test_a_whole_run_is_told_before_a_partial_one(
    tmp_path: Path, runs: tuple[Run, ...], told: tuple[str, bool]
) -> None:
    found = asked(tmp_path, *runs).last(PLAN)
    assert found is not None
    assert (found.name, found.partial) == told


def test_without_speculation_there_is_no_accept_length(tmp_path: Path) -> None:
    off = replace(PLAN, argv=PLAN.argv[:5])
    found = asked(tmp_path, around(speculative=Speculative())).last(off)
    assert found is not None
    assert found.accept_length is None


def test_runs_are_read_once_until_they_are_to_be_read_again(tmp_path: Path) -> None:
    measured = asked(tmp_path)
    assert measured.last(PLAN) is None
    asked(tmp_path, RUN)
    assert measured.last(PLAN) is None
    measured.forget()
    assert measured.last(PLAN) == FOUND


def test_a_damaged_database_tells_nothing(tmp_path: Path) -> None:
    measured = asked(tmp_path, RUN)
    (tmp_path / "runs.db").write_bytes(b"no database at all" * 1000)
    assert measured.last(PLAN) is None


def test_how_it_is_said() -> None:
    preview = Preview(choice=Choice(), measured=FOUND)
    assert said(preview, 8200.0) == (
        "last measured 2 h ago: 100 tok/s at 1, accept length 1.80 (k3 chat)"
    )
    assert said(replace(preview, measured=replace(FOUND, accept_length=None)), 1060.0) == (
        "last measured 60 s ago: 100 tok/s at 1 (k3 chat)"
    )
    partial = replace(FOUND, accept_length=None, partial=True)
    assert said(replace(preview, measured=partial), 1060.0) == (
        "last measured 60 s ago: 100 tok/s at 1 (k3 chat, a partial run)"
    )
    assert said(Preview(choice=Choice()), 0.0) == ""


def test_the_runs_are_opened_once_a_question_and_only_where_they_are_read(tmp_path: Path) -> None:
    openings: list[Path] = []
    asked(tmp_path, RUN, replace(RUN, id="b" * 12, cells=()))

    @contextmanager
    def opened() -> Iterator[tuple[Database, Runs]]:
        openings.append(tmp_path)
        with Database(tmp_path / "runs.db") as database:
            yield database, Runs(database)

    runs = MeasuredRuns("gpu1", opened)
    assert runs.last(PLAN) == FOUND
    assert len(openings) == 1
    assert runs.last(PLAN) == FOUND
    assert len(openings) == 1
