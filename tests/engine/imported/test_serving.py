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
from eagletui.model.plausible import faults_within
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


DETAILS: dict[str, Any] = {
    "input_lens": [100, 100, 100],
    "output_lens": [3, 3, 0],
    "ttfts": [0.5, 0.6, 0.0],
    "itls": [[0.01, 0.03], [0.02, 0.02], []],
    "errors": ["", "", "HTTP 500"],
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
    (run,) = _runs({**LINE, **DETAILS, "completed": 2})
    (cell,) = run.cells
    assert [one.output_tokens for one in cell.requests] == [3, 3, 0]
    assert cell.requests[0].latency == pytest.approx(0.54)
    assert cell.requests[0].tpot == pytest.approx(0.02)
    assert cell.requests[2].error == "HTTP 500"
    assert cell.itl_ms is not None
    assert cell.itl_ms.p50 == pytest.approx(20.0)


@pytest.mark.parametrize(
    "details",
    [
        {"output_lens": [3], "ttfts": [0.5, 0.6], "itls": [[0.1], []]},
        *({**DETAILS, name: DETAILS[name][:-1]} for name in DETAILS),
        *({**DETAILS, name: []} for name in DETAILS),
    ],
)
def test_columns_that_do_not_fit_together_leave_the_summary(details: dict[str, Any]) -> None:
    """How many were asked is not known of them: 64 completed may be right."""
    (run,) = _runs({**LINE, **details})
    (cell,) = run.cells
    assert cell.requests == ()
    assert cell.itl_ms is None
    assert cell.warnings == (
        LIFETIME, f"{', '.join(details)} are of unlike lengths: they are left out.",
    )  # fmt: skip


@pytest.mark.parametrize("name", DETAILS)
def test_a_column_that_is_missing_leaves_the_others(name: str) -> None:
    details = {other: column for other, column in DETAILS.items() if other != name}
    (cell,) = _runs({**LINE, **details, "completed": 2})[0].cells
    assert cell.warnings == (LIFETIME,)
    assert len(cell.requests) == (3 if name in {"input_lens", "errors"} else 0)


@pytest.mark.parametrize(
    ("change", "lost", "said"),
    [
        ({"accept_length": 0.5}, "accept_length",
         "accept_length is 0.5; it must be 1 or more and at most 1025 tokens a step: it is left"),
        ({"accept_length": -2.0}, "accept_length", "accept_length is -2;"),
        ({"mean_ttft_ms": -1.0}, "ttft mean", "mean_ttft_ms is -1;"),
        ({"p99_tpot_ms": -1.0}, "tpot p99", "p99_tpot_ms is -1;"),
        ({"p99_ttft_ms": 90.0}, "ttft p50",
         "p90_ttft_ms is 100, more than p99_ttft_ms, 90: its percentiles are left out."),
        ({"median_tpot_ms": 21.0}, "tpot p99", "median_tpot_ms is 21, more than p99_tpot_ms, 20:"),
        ({"verify_ms": -1.0}, "verify", "verify_ms is -1;"),
        ({"request_rate": -1.0}, "rate", "request_rate is -1;"),
        ({"random_output_len": -1}, "output_tokens", "random_output_len is -1;"),
        ({**DETAILS, "ttfts": [0.5, -0.6, 0.0]}, "requests",
         "ttfts is -0.6; it must be 0 or more and at most 10000000 seconds: "
         "the figures of each request are left out."),
        ({**DETAILS, "itls": [[0.1, math.nan], [], []]}, "requests", "itls is nan;"),
        ({**DETAILS, "output_lens": [3, -3, 0]}, "requests", "output_lens is -3;"),
    ],
)  # fmt: skip
def test_a_figure_beside_that_cannot_be_is_left_out_with_a_word(
    change: dict[str, Any], lost: str, said: str
) -> None:
    def known(line: dict[str, Any]) -> dict[str, object]:
        (run,) = _runs(line)
        (cell,) = run.cells
        summary = cell.summary
        assert summary is not None
        told = {
            "accept_length": summary.accept_length,
            "requests": cell.requests or None,
            "verify": cell.steps.verify,
            "rate": run.workload.rate,
            "output_tokens": run.workload.output_tokens,
            **{f"ttft {name}": value for name, value in summary.ttft_ms.items()},
            **{f"tpot {name}": value for name, value in summary.tpot_ms.items()},
        }
        return {name: value for name, value in told.items() if value is not None}

    line = {**LINE, **DETAILS, "completed": 2, "verify_ms": 5.0, "request_rate": 3.0}
    whole, found = known(line), known({**line, **change})
    assert lost in whole
    assert lost not in found
    assert found.items() <= whole.items()
    (run,) = _runs({**line, **change})
    assert [text for text in run.cells[0].warnings if text.startswith(said)]


def test_what_is_written_where_nothing_was_served_is_no_fault() -> None:
    """As 0.5.23 writes it: a mean of nothing is `NaN`, and no limit may be 0."""
    nothing = {
        "completed": 0, "total_output_tokens": 0, "output_throughput": 0.0, "concurrency": 0.0,
        "max_concurrency": 0, "accept_length": 0.0, "request_rate": "trace",
        **{f"{figure}_e2e_latency_ms": math.nan for figure in ("mean", "median", "p90", "p99")},
        **{f"{figure}_{one}_ms": 0.0 for figure in ("mean", "median", "p90", "p99")
           for one in ("ttft", "tpot")},
        "output_lens": [0, 0], "ttfts": [0.0, 0.0], "itls": [[], []], "errors": ["x", "x"],
    }  # fmt: skip
    (run,) = _runs({**LINE, **nothing})
    (cell,) = run.cells
    assert (cell.warnings, cell.concurrency, len(cell.requests)) == ((), 1, 2)


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
        ({"duration": -3.5}, "Line 2: duration is -3.5; it must be above 0 and at most 10000000"),
        ({"duration": math.nan}, "duration is nan"),
        ({"completed": -1}, "completed is -1; it must be 0 or more"),
        ({"total_output_tokens": -5}, "total_output_tokens is -5"),
        ({"total_output_tokens": 10**400}, "total_output_tokens is a number of hundreds of digits"),
        ({"output_throughput": -0.5}, "output_throughput is -0.5"),
        ({"output_throughput": math.inf}, "output_throughput is inf"),
        ({"output_throughput": math.nan}, "output_throughput is nan"),
        ({"max_concurrency": -8}, "max_concurrency is -8"),
        ({"max_concurrency": None, "concurrency": -8.0}, "concurrency is -8; it must be 0 or more"),
        ({"max_concurrency": 0, "concurrency": -8.0}, "concurrency is -8"),
        ({"max_concurrency": None, "concurrency": math.nan}, "concurrency is nan"),
        ({"concurrency": math.inf}, "concurrency is inf"),
        ({"completed": 4, **DETAILS}, "completed is 4, of 3 requests in input_lens"),
        ({"completed": 2, "errors": ["x"]}, "completed is 2, of 1 requests in errors"),
        ({"completed": 3, "ttfts": [0.1], "itls": [[]]}, "completed is 3, of 1 requests in ttfts"),
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
    # What is imported can be exported, and imported again.
    assert [fault for run in runs for fault in faults_within(run)] == []
