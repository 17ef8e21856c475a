from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.imported.problem import ImportProblem
from eagletui.engine.imported.serving import LIFETIME, runs_of_serving
from eagletui.model.compare import compare
from eagletui.model.run import Run

# What a run of 0.5.23 writes, fields in its order; lists only with --output-details.
LINE: dict[str, Any] = {
    "tag": None,
    "backend": "sglang-oai-chat",
    "dataset_name": "random",
    "request_rate": math.inf,
    "max_concurrency": 8,
    "random_input_len": 1024,
    "random_output_len": 256,
    "server_info": {
        "model_path": "/models/kimi",
        "version": "0.5.23",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
        "tp_size": 8,
        "api_key": "sesame-sesame",
        "internal_states": [{"avg_spec_accept_length": 2.1, "last_gen_throughput": 900.0}],
    },
    "duration": 30.0,
    "completed": 64,
    "total_output_tokens": 15000,
    "output_throughput": 500.0,
    "mean_e2e_latency_ms": 3000.0,
    "median_e2e_latency_ms": 2900.0,
    "p99_e2e_latency_ms": 5000.0,
    "mean_ttft_ms": 90.0,
    "median_ttft_ms": 80.0,
    "p90_ttft_ms": 100.0,
    "p99_ttft_ms": 300.0,
    "mean_tpot_ms": 11.0,
    "median_tpot_ms": 10.5,
    "p99_tpot_ms": 20.0,
    "concurrency": 7.6,
    "accept_length": 2.1,
}


def _runs(*lines: dict[str, Any]) -> tuple[Run, ...]:
    rows = [json.loads(json.dumps(line)) for line in lines]
    return runs_of_serving(enumerate(rows, 1), seed="s", name="bench", source="f.jsonl")


def test_a_line_is_a_cell_with_its_summary() -> None:
    (run,) = _runs(LINE)
    (cell,) = run.cells
    assert (run.name, run.source, run.via) == ("bench", "f.jsonl", "import")
    assert run.workload.rate is None
    assert run.workload.endpoint == "/v1/chat/completions"
    assert (run.workload.input_tokens, run.workload.output_tokens) == (1024, 256)
    assert run.surroundings.speculative.short == "EAGLE3 k=3 topk=1 draft=4"
    assert run.surroundings.versions == {"sglang": "0.5.23"}
    assert run.surroundings.tensor_parallel == 8
    assert "sesame" not in repr(run)
    assert (cell.concurrency, cell.seconds, cell.requests) == (8, 30.0, ())
    assert cell.warnings == (LIFETIME,)
    (side,) = compare([run]).sides
    (figures,) = side.cells
    assert (figures.tok_s, figures.accept_length, figures.requests) == (500.0, 2.1, 64)
    assert figures.ttft_ms == {"mean": 90.0, "p50": 80.0, "p90": 100.0, "p99": 300.0}
    assert figures.tpot_ms == {"mean": 11.0, "p50": 10.5, "p90": None, "p99": 20.0}
    assert figures.wall_step_ms == pytest.approx(11.0 * 2.1)


def test_lines_that_eagletui_wrote_have_their_own_accept_length_and_steps() -> None:
    ours = {
        "request_rate": "inf",
        "accept_histogram": [10, 20],
        "prompts_digest": "ab" * 32,
        "verify_ms": 5.3,
        "step_ms": 6.1,
        "step_source": "device timer",
    }
    (run,) = _runs({**LINE, **ours})
    (cell,) = run.cells
    assert cell.warnings == ()
    assert (cell.steps.verify, cell.steps.step, cell.steps.source) == (5.3, 6.1, "device timer")
    assert run.workload.digest == "ab" * 32
    assert run.workload.rate is None


def test_lines_of_one_setting_are_cells_and_repeats() -> None:
    (run,) = _runs(LINE, {**LINE, "max_concurrency": 1}, {**LINE, "output_throughput": 510.0})
    assert [(cell.concurrency, cell.repeat) for cell in run.cells] == [(8, 0), (1, 0), (8, 1)]
    assert run.workload.repeats == 2
    (side,) = compare([run]).sides
    assert side.at(8) is not None
    assert side.cells[1].speeds == (500.0, 510.0)


def test_what_drifts_while_a_server_runs_does_not_part_its_lines() -> None:
    info = {**LINE["server_info"], "internal_states": [{"last_gen_throughput": 1.0}]}
    assert len(_runs(LINE, {**LINE, "server_info": info})) == 1


def test_lines_of_other_settings_are_other_runs() -> None:
    info = {**LINE["server_info"], "speculative_num_steps": 5}
    runs = _runs(LINE, {**LINE, "server_info": info}, {**LINE, "tag": "nccl-ll"})
    assert [run.name for run in runs] == ["bench-1", "bench-2", "nccl-ll"]
    assert len({run.id for run in runs}) == 3
    assert runs == _runs(LINE, {**LINE, "server_info": info}, {**LINE, "tag": "nccl-ll"})


def test_details_make_requests() -> None:
    details = {
        "input_lens": [100, 100, 100],
        "output_lens": [3, 3, 0],
        "ttfts": [0.5, 0.6, 0.0],
        "itls": [[0.01, 0.03], [0.02, 0.02], []],
        "errors": ["", "", "HTTP 500"],
    }
    (run,) = _runs({**LINE, **details})
    (cell,) = run.cells
    assert [one.output_tokens for one in cell.requests] == [3, 3, 0]
    assert cell.requests[0].latency == pytest.approx(0.54)
    assert cell.requests[0].tpot == pytest.approx(0.02)
    assert cell.requests[2].error == "HTTP 500"
    assert cell.itl_ms is not None
    assert cell.itl_ms.p50 == pytest.approx(20.0)


def test_columns_that_do_not_fit_together_leave_the_summary() -> None:
    details = {"output_lens": [3], "ttfts": [0.5, 0.6], "itls": [[], []]}
    (run,) = _runs({**LINE, **details})
    assert run.cells[0].requests == ()


def test_a_server_without_speculation_has_accept_length_one() -> None:
    line = {**LINE, "accept_length": None, "server_info": None}
    (side,) = compare(_runs(line)).sides
    assert side.cells[0].accept_length == 1.0
    assert side.cells[0].warnings == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration": 0.0}, "duration"),
        ({"duration": math.inf}, "duration"),
        ({"duration": "long"}, "duration"),
        ({"completed": None}, "completed"),
        ({"output_lens": "x"}, "output_lens"),
    ],
)
def test_a_line_that_is_wrong_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ImportProblem, match=said) as problem:
        _runs(LINE, {**LINE, **change})
    assert problem.value.line == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*LINE, "itls", "ttfts", "output_lens", "errors"]), JSON))
def test_any_line_is_a_run_or_a_problem(change: dict[str, Any]) -> None:
    try:
        runs = runs_of_serving([(1, {**LINE, **change})], seed="s", name="n", source="")
    except ImportProblem:
        return
    assert compare(runs).sides
