from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.imported.generate import run_of_replies
from eagletui.engine.imported.problem import ImportProblem
from eagletui.model.plausible import faults_within
from eagletui.model.run import Run
from tests.recorded_replies import replies


def _run(rows: list[Any]) -> Run:
    return run_of_replies(enumerate(rows, 1), run="r" * 12, name="n", source="f")


def _reply(**meta: object) -> dict[str, Any]:
    return {"text": "", "meta_info": {"completion_tokens": 10, "e2e_latency": 1.0, **meta}}


@pytest.mark.parametrize(
    ("name", "concurrency", "requests", "short"),
    [
        ("dense_k0_c1", 1, 8, "no speculation"),
        ("dense_k0_c8", 8, 16, "no speculation"),
        ("dense_k3_c8", 8, 16, "speculation k=3 topk=1 draft=4"),
        ("spec5_t1", 1, 16, "speculation k=5 topk=1 draft=6"),
    ],
)
def test_a_recorded_file_is_one_cell(
    name: str, concurrency: int, requests: int, short: str
) -> None:
    run = _run(replies(name))
    (cell,) = run.cells
    assert (cell.concurrency, len(cell.requests)) == (concurrency, requests)
    assert run.via == "import"
    assert cell.warnings == ()
    assert all(request.output_tokens == 512 for request in cell.requests)
    assert [one.began for one in cell.requests] == sorted(one.began for one in cell.requests)
    assert cell.requests[0].began == 0.0
    assert run.surroundings.speculative.short == short


def test_k_and_width_are_read_from_the_counters() -> None:
    found = _run(replies("dense_k7_c1")).surroundings.speculative
    assert (found.num_steps, found.eagle_topk, found.num_draft_tokens) == (7, 1, 8)
    tree = [
        _reply(
            spec_verify_ct=4, spec_num_proposed_drafts=28, spec_correct_drafts_histogram=[1, 2, 1]
        )
    ]
    found = _run(tree).surroundings.speculative
    assert (found.num_steps, found.eagle_topk, found.num_draft_tokens) == (2, None, 8)


def test_the_older_name_of_the_histogram_is_known() -> None:
    (cell,) = _run([_reply(spec_verify_ct=3, spec_accept_histogram=[1, 2])]).cells
    assert cell.requests[0].accepted == (1, 2)


def test_replies_without_times_are_one_after_the_other() -> None:
    (cell,) = _run([_reply(), _reply(e2e_latency=2.0)]).cells
    assert (cell.concurrency, cell.seconds) == (1, 3.0)
    assert cell.warnings == (
        "The replies have no times; they are taken as sent one after the other.",
    )


def test_a_reply_without_times_among_others_is_said() -> None:
    timed = _reply(request_received_ts=1000.0, response_sent_to_client_ts=1001.5)
    (cell,) = _run([timed, _reply(), timed]).cells
    assert (cell.concurrency, cell.seconds) == (1, 3.0)
    assert cell.warnings == (
        "1 of 3 replies have no times or no latency; all are taken as sent one after the other.",
    )
    (cell,) = _run([timed, timed]).cells
    assert (cell.concurrency, cell.seconds, cell.warnings) == (2, 1.0, ())


def test_replies_without_a_latency_are_said() -> None:
    (cell,) = _run([_reply(), _reply(e2e_latency=None)]).cells
    said = "1 of 2 replies tell no latency: their tokens count, and no time."
    assert said in cell.warnings
    (cell,) = _run([_reply(), _reply()]).cells
    assert said[1:] not in " ".join(cell.warnings)


def test_a_refused_request_is_a_failed_one() -> None:
    (cell,) = _run([_reply(), {"error": {"message": "\x1b[31mtoo long"}}]).cells
    assert [bool(one.error) for one in cell.requests] == [False, True]
    assert "\x1b" not in cell.requests[1].error


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "x"}, "Line 2: this is no /generate reply"),
        ([], "Line 2"),
        (None, "Line 2"),
        (_reply(completion_tokens=-1), "completion_tokens"),
        (_reply(e2e_latency=-1.0), "e2e_latency"),
        (_reply(e2e_latency="fast"), "e2e_latency"),
        (_reply(spec_correct_drafts_histogram=[1, -1]), "spec_correct_drafts_histogram"),
        (_reply(e2e_latency=float("nan")), "e2e_latency is nan"),
        (_reply(e2e_latency=float("inf")), "e2e_latency is inf"),
        (_reply(e2e_latency=0.0), "e2e_latency is 0; it must be above 0 and at most 10000000 sec"),
        ({**_reply(), "wall": -0.5}, "wall is -0.5"),
        ({**_reply(), "wall": 0.0}, "wall is 0;"),
        (_reply(completion_tokens=10**30), "completion_tokens is 1e+30; it must be 0 or more"),
        (_reply(prompt_tokens=-1), "prompt_tokens is -1"),
        (_reply(spec_verify_ct=-1), "spec_verify_ct is -1"),
        (_reply(request_received_ts=-1.0), "request_received_ts is -1"),
        (
            _reply(request_received_ts=1764500000.25, response_sent_to_client_ts=1764500000.125),
            "request_received_ts is 1764500000.25, after response_sent_to_client_ts, "
            "1764500000.125.\nTake the line out of the file",
        ),
        (
            _reply(request_received_ts=2000.0, request_finished_ts=1000.0),
            "request_received_ts is 2000, after request_finished_ts, 1000.",
        ),
        (
            _reply(response_sent_to_client_ts=0.5),
            "response_sent_to_client_ts is 0.5, and it took 1 seconds until then.",
        ),
    ],
)
def test_what_is_no_reply_is_said_with_its_line(row: object, said: str) -> None:
    with pytest.raises(ImportProblem) as problem:
        _run([_reply(), row])
    assert said in str(problem.value)
    assert problem.value.line == 2


def test_replies_of_more_than_one_measurement_are_said() -> None:
    """Two years apart: exported, eagletui's own file would be refused."""
    rows = [_reply(response_sent_to_client_ts=at) for at in (1.7e9, 1.764e9)]
    with pytest.raises(ImportProblem) as problem:
        _run(rows)
    assert str(problem.value) == (
        "The replies are not of one measurement: from the first to the last, seconds is 6.4e+07; "
        "it must be 0 or more and at most 10000000 seconds.\n"
        "Import those of each measurement by themselves; nothing of the file was imported."
    )


def test_errors_alone_are_no_run() -> None:
    with pytest.raises(ImportProblem, match="served"):
        _run([{"error": "x"}])


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
META = st.sampled_from(sorted(json.loads(json.dumps(replies("dense_k3_c1")[0]["meta_info"]))))


@given(st.dictionaries(META, JSON), JSON)
def test_any_document_is_a_run_or_a_problem(meta: dict[str, Any], other: Any) -> None:
    try:
        run = _run([{"meta_info": {"completion_tokens": 1, **meta}, "wall": other}])
    except ImportProblem:
        return
    assert len(run.cells) == 1
    assert list(faults_within(run)) == []
