"""The table of what figures can be: its rows name what there is, and each of them is heeded."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.engine.imported import generate, serving
from eagletui.model import run as runs
from eagletui.model.plausible import (
    ASCENDING,
    PLAUSIBLE,
    SERVING_LATENCIES,
    Range,
    faults,
    faults_within,
)
from eagletui.model.run import Quantiles, Sent, StepTimes, Summary, Workload
from tests.store.runs.made import made_cell, made_run

RULES = [
    (kind, name, rule.range) for kind, rules in PLAUSIBLE.items() for name, rule in rules.items()
]


def _fields(kind: str) -> set[str]:
    if kind == "bench_serving":
        return {*serving._Line.__struct_fields__, *SERVING_LATENCIES}
    if kind == "/generate":
        return {*generate._Meta.__struct_fields__, "wall"}
    found: set[str] = set(getattr(runs, kind).__struct_fields__)
    return found


@pytest.mark.parametrize("kind", PLAUSIBLE)
def test_a_row_is_of_a_figure_that_there_is(kind: str) -> None:
    assert set(PLAUSIBLE[kind]) <= _fields(kind)
    assert {name for names in ASCENDING.get(kind, ()) for name in names} <= _fields(kind)


@pytest.mark.parametrize(("kind", "name", "range_"), RULES)
def test_each_row_is_heeded_at_both_its_ends(kind: str, name: str, range_: Range) -> None:
    def found(value: object) -> list[str]:
        return [fault.name for fault in faults(kind, {name: value})]

    beyond = 2 * range_.most
    assert found(range_.least) == ([name] if range_.above else [])
    assert found(range_.most) == []
    for number in (range_.least - 1, beyond, 10**400, math.nan, math.inf, -math.inf):
        assert found(number) == [name]
        assert found([[range_.most], [number, number]]) == [name]
    nothing: tuple[object, ...] = (None, "x", True, {}, [], [None])
    for value in nothing:
        assert found(value) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"began": math.nan}, "began"),
        ({"round_trip_ms": -1.0}, "round_trip_ms"),
        ({"workload": Workload(temperature=-1.0)}, "workload.temperature"),
        ({"workload": Workload(repeats=0)}, "workload.repeats"),
        ({"concurrency": 0}, "cells[1].concurrency"),
        ({"concurrency": -8}, "cells[1].concurrency"),
        ({"repeat": -1}, "cells[1].repeat"),
        ({"seconds": -2.0}, "cells[1].seconds"),
        ({"seconds": math.inf}, "cells[1].seconds"),
        ({"accept_length": -1.0}, "cells[1].accept_length"),
        ({"itl_ms": Quantiles(mean=1.0, p50=2.0, p90=1.0, p99=3.0)}, "cells[1].itl_ms.p50"),
        ({"steps": StepTimes(step=-8.0)}, "cells[1].steps.step"),
        ({"summary": Summary(completed=-1)}, "cells[1].summary.completed"),
        ({"summary": Summary(tok_s=math.nan)}, "cells[1].summary.tok_s"),
        ({"summary": Summary(ttft_ms={"p90": -1.0})}, "cells[1].summary.ttft_ms"),
        ({"summary": Summary(tpot_ms={"p50": 2.0, "p99": 1.0})}, "cells[1].summary.tpot_ms.p50"),
        ({"requests": (Sent(began=0.0, latency=-1.0),)}, "cells[1].requests[0].latency"),
        ({"requests": (Sent(began=0.0, ttft=2.0, latency=1.0),)}, "cells[1].requests[0].ttft"),
        ({"requests": (Sent(began=0.0, output_tokens=-1),)}, "cells[1].requests[0].output_tokens"),
        ({"requests": (Sent(began=0.0, accepted=(1, -1)),)}, "cells[1].requests[0].accepted"),
    ],
)
def test_where_a_run_of_ours_says_what_cannot_be(change: dict[str, Any], where: str) -> None:
    run = made_run()
    assert list(faults_within(run)) == []
    if not set(change) <= set(run.__struct_fields__):
        change = {"cells": (run.cells[0], replace(made_cell(8), **change))}
    (fault,) = faults_within(replace(run, **change))
    assert (fault.name, fault.needed) == (where, True)


def test_percentiles_that_differ_by_rounding_are_in_order() -> None:
    same = {"p50": 1.0 + 1e-12, "p90": 1.0, "p99": 1.0 - 1e-12}
    assert list(faults("", same)) == []
    assert [fault.words for fault in faults("", {"p50": 3.0, "p99": 1.5})] == [
        "p50 is 3, more than p99, 1.5"
    ]
