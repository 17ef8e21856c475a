"""Runs side by side: the H200's recordings against their table, and what must not be claimed."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from eagletui.engine.imported.generate import run_of_replies
from eagletui.model.compare import (
    ONE_REPEAT,
    Comparison,
    Verdict,
    compare,
    comparison_document,
    natural_baseline,
)
from eagletui.model.run import (
    Cell,
    Quantiles,
    Run,
    Sent,
    StepTimes,
    StopReason,
    Summary,
    Surroundings,
    Workload,
)
from eagletui.model.speculative import Speculative
from tests.recorded_replies import TABLE, Row, replies

PLAIN_ROW = TABLE[0]
CHAIN_2 = Speculative(algorithm="EAGLE3", num_steps=2, eagle_topk=1, num_draft_tokens=3)


def _recorded(row: Row) -> Run:
    rows = enumerate(replies(row.file), 1)
    return run_of_replies(rows, run=f"{row.file:0<12}"[:12], name=row.file, source="")


@pytest.fixture(scope="module")
def h200() -> Comparison:
    return compare([_recorded(row) for row in TABLE])


# --- the recordings -------------------------------------------------------------------------------


def test_the_plain_run_is_the_baseline(h200: Comparison) -> None:
    assert h200.baseline == h200.sides[0].run.id
    assert natural_baseline([side.run for side in reversed(h200.sides)]).name == "dense_k0_c1"


@pytest.mark.parametrize("index", range(len(TABLE)))
def test_the_figures_are_the_tables(h200: Comparison, index: int) -> None:
    row, (cell,) = TABLE[index], h200.sides[index].cells
    assert cell.concurrency == 1
    assert cell.tok_s == pytest.approx(row.tok_s, abs=0.05)
    assert cell.wall_step_ms == pytest.approx(row.step_ms, abs=0.006)
    assert cell.step_ms == cell.wall_step_ms
    assert cell.source == "requests"
    assert cell.accept_length == pytest.approx(row.accept_length, abs=0.008)
    assert len(cell.acceptance) == row.k
    assert cell.verify_ms is None
    assert cell.tok_s_interval is not None
    assert cell.tok_s_interval.low < row.tok_s < cell.tok_s_interval.high


@pytest.mark.parametrize("index", range(1, len(TABLE)))
def test_ratio_and_break_even_are_the_tables(h200: Comparison, index: int) -> None:
    row, verdict, even = TABLE[index], h200.verdicts[index - 1], h200.break_even[index - 1]
    assert verdict.run == even.run == h200.sides[index].run.id
    assert verdict.ratio == pytest.approx(row.tok_s / PLAIN_ROW.tok_s, abs=0.001)
    assert verdict.verdict == "faster"
    assert None not in (verdict.low, verdict.high, verdict.ratio)
    assert 1.0 < (verdict.low or 0) < (verdict.ratio or 0) < (verdict.high or 0)
    assert even.needed == pytest.approx(row.step_ms / PLAIN_ROW.step_ms, abs=0.003)
    assert even.has == pytest.approx(row.accept_length, abs=0.008)
    assert even.pays
    # What an accept length over what is needed says is what was measured.
    assert even.has / even.needed == pytest.approx(verdict.ratio, rel=0.005)


def test_the_break_even_line_in_words(h200: Comparison) -> None:
    assert [even.text for even in h200.break_even] == [
        "needs accept length ≥ 1.26, has 1.59",
        "needs accept length ≥ 1.32, has 1.96",
        "needs accept length ≥ 1.36, has 2.17",
        "needs accept length ≥ 1.45, has 2.34",
        "needs accept length ≥ 1.54, has 2.46",
    ]


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [(3, 2, "faster"), (4, 3, "tie"), (5, 3, "tie"), (5, 4, "tie"), (1, 2, "slower")],
)
def test_k_of_3_5_and_7_are_a_tie(new: int, old: int, expected: str) -> None:
    """344.2, 345.3 and 342.4 tok/s; 2 is 319.0 and 1 is 270.6."""
    runs = [_recorded(TABLE[old]), _recorded(TABLE[new])]
    (verdict,) = compare(runs, runs[0].id).verdicts
    assert verdict.verdict == expected


def test_eight_at_once_are_found_and_not_measured_against_one() -> None:
    plain, chain = Row("dense_k0_c8", 0, 0, 1633, 1, ()), Row("dense_k3_c8", 3, 0, 1722, 2.15, ())
    found = compare([_recorded(plain), _recorded(chain)])
    for side, row in zip(found.sides, (plain, chain), strict=True):
        assert side.cells[0].concurrency == 8
        assert side.cells[0].tok_s == pytest.approx(row.tok_s, abs=0.6)
    assert found.verdicts[0].ratio == pytest.approx(1722 / 1633, abs=0.001)
    mixed = compare([_recorded(PLAIN_ROW), _recorded(chain)])
    assert {verdict.verdict for verdict in mixed.verdicts} == {"not comparable"}
    assert [verdict.concurrency for verdict in mixed.verdicts] == [1, 8]
    assert mixed.verdicts[0].why == "the run has no cell at concurrency 1"
    assert mixed.verdicts[1].why == "the baseline has no cell at concurrency 8"
    assert mixed.break_even == ()


def test_greedy_replies_that_loop_are_called_so() -> None:
    rows = replies("dense_k3_c1")
    for row in rows:
        row["output_ids"] = [1, 2] * 256
    looping = run_of_replies(enumerate(rows, 1), run="l" * 12, name="loop", source="")
    (verdict,) = compare([_recorded(PLAIN_ROW), looping]).verdicts
    assert verdict.verdict == "not comparable"
    assert "8 of 8 outputs loop" in verdict.why


def test_few_replies_that_loop_are_only_said() -> None:
    """A quarter of them, as of a cell that was measured here."""
    rows = replies("dense_k3_c1")
    for row in rows[:2]:
        row["output_ids"] = [1, 2] * 256
    some = run_of_replies(enumerate(rows, 1), run="l" * 12, name="some", source="")
    (verdict,) = compare([_recorded(PLAIN_ROW), some]).verdicts
    assert verdict.verdict == "faster"
    assert "2 of 8 outputs loop" in verdict.why


# --- what must not be claimed ---------------------------------------------------------------------


def _cell(
    speed: float,
    *,
    concurrency: int = 1,
    repeat: int = 0,
    accepted: tuple[int, ...] = (),
    spread: float = 0.01,
    prompt: int = 100,
) -> Cell:
    """32 requests of 512 tokens, at this many tok/s in total."""
    latency = 512 * concurrency / speed
    pattern = (-1.0, 1.0, -0.5, 0.5)
    return Cell(
        concurrency=concurrency,
        repeat=repeat,
        seconds=32 * 512 / speed,
        requests=tuple(
            Sent(
                began=0.0,
                latency=latency * (1 + spread * pattern[index % 4]),
                prompt_tokens=prompt,
                output_tokens=512,
                verify_steps=sum(accepted) or None,
                accepted=accepted,
            )
            for index in range(32)
        ),
    )


def _run(name: str, *cells: Cell, **fields: object) -> Run:
    around = {
        "model": "kimi",
        "versions": {"sglang": "0.5.23"},
        "gpus": ("RTX PRO 6000",) * 8,
        "tensor_parallel": 8,
        "environment": {"NCCL_ALGO": "Ring"},
    }
    asked = {"prompts": "chat", "digest": "a" * 64, "temperature": 0.0}
    for key, value in fields.items():
        (asked if key in Workload.__struct_fields__ else around)[key] = value
    return Run(
        id=f"{name:0<12}"[:12],
        name=name,
        workload=Workload(**asked),  # type: ignore[arg-type]
        surroundings=Surroundings(**around),  # type: ignore[arg-type]
        cells=cells,
    )


def _plain(**fields: object) -> Run:
    return _run("plain", _cell(90.0), **fields)


def _chain(**fields: object) -> Run:
    cell = _cell(108.0, accepted=(100, 56, 100))
    return _run("chain", cell, **{"speculative": CHAIN_2, **fields})


def _only(found: Comparison) -> Verdict:
    (verdict,) = found.verdicts
    return verdict


def test_two_that_are_alike_are_compared() -> None:
    found = compare([_plain(), _chain()])
    verdict = _only(found)
    assert verdict.verdict == "faster"
    assert verdict.ratio == pytest.approx(1.2)
    assert verdict.why == ONE_REPEAT
    # What a plain server has no value for is no difference of its own.
    assert [(one.what, one.unlike) for one in found.differences] == [("algorithm", False)]
    (difference,) = found.differences
    assert tuple(difference.values.values()) == ("none", "EAGLE3")


def test_the_story_of_accept_length_2_65() -> None:
    """71.3 tok/s with k=5 and accept length 2.1 against 90 without: needs 2.65."""
    histogram = (109, 66, 32, 22, 10, 17)  # Σ(i+1)n / Σn = 2.25 with k = 5
    chain = Speculative(algorithm="EAGLE3", num_steps=5, eagle_topk=1, num_draft_tokens=6)
    steps = sum(histogram)
    slow = _run("slow", _cell(71.3, accepted=histogram), speculative=chain)
    slow = replace(
        slow,
        cells=(
            replace(
                slow.cells[0],
                requests=tuple(
                    replace(one, output_tokens=round(2.1 * steps), latency=2.1 * steps / 71.3)
                    for one in slow.cells[0].requests
                ),
                seconds=32 * round(2.1 * steps) / 71.3,
            ),
        ),
    )
    found = compare([_plain(), slow])
    assert _only(found).verdict == "slower"
    assert _only(found).ratio == pytest.approx(71.3 / 90, abs=1e-3)
    (even,) = found.break_even
    assert even.needed == pytest.approx(2.65, abs=0.005)
    assert not even.pays
    assert even.text.startswith("needs accept length ≥ 2.65, has 2.2")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"environment": {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}},
            "measured under another NCCL environment (NCCL_PROTO)",
        ),
        ({"environment": {"NCCL_ALGO": "Tree"}}, "NCCL environment (NCCL_ALGO)"),
        ({"environment": {}}, "NCCL environment (NCCL_ALGO)"),
        ({"versions": {"sglang": "0.5.22"}}, "another release (0.5.22, not 0.5.23)"),
        ({"gpus": ("NVIDIA H200",) * 8}, "another GPU (8 × NVIDIA H200, not 8 × RTX PRO 6000)"),
        ({"tensor_parallel": 4}, "another tensor parallel size (4, not 8)"),
        ({"digest": "b" * 64}, "another prompt set (bbbbbbbbbbbb, not aaaaaaaaaaaa)"),
        ({"temperature": 0.6}, "another temperature (0.6, not 0.0)"),
        ({"input_tokens": 2048, "x": 1}, ""),
        ({"model": "other"}, "another model (other, not kimi)"),
        ({"model": "/models/kimi/"}, ""),
        ({"prompts": "mine"}, ""),
        ({"prompts": "mine", "digest": ""}, ""),
        ({"rate": 2.0}, "another request rate (2.0, not closed loop)"),
        ({"ignore_eos": True}, "another ignore EOS (True, not False)"),
    ],
)
def test_a_speed_up_over_an_unlike_baseline_is_not_claimed(
    fields: dict[str, object], said: str
) -> None:
    fields.pop("x", None)
    found = compare([_plain(), _chain(**fields)])
    verdict = _only(found)
    if not said:  # only one side says it, or says it otherwise
        assert verdict.verdict == "faster"
        return
    assert verdict.verdict == "not comparable"
    assert said in verdict.why
    assert any(f"another {what}" in said or what in said for what in verdict.unlike)
    assert (verdict.ratio, verdict.low, verdict.high) == (None, None, None)
    assert found.break_even == ()
    assert any(one.unlike for one in found.differences)


def test_prompts_without_a_digest_are_known_by_their_name() -> None:
    plain = _plain(prompts="random", digest="")
    assert _only(compare([plain, _chain(prompts="random", digest="")])).verdict == "faster"
    verdict = _only(compare([plain, _chain(prompts="sharegpt", digest="")]))
    assert verdict.why == "another prompt set's name (sharegpt, not random)"


@pytest.mark.parametrize(
    "environment", [{"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}, {"NCCL_ALGO": "Tree"}, {}]
)
@pytest.mark.parametrize("speed", [137.0, 80.0])
def test_under_another_nccl_profile_no_speed_up_is_claimed_whatever_else_is_alike(
    environment: dict[str, str], speed: float
) -> None:
    """The same speculative setting, the same everything: the figures stand beside each other."""
    other = _chain(environment=environment)
    other = replace(other, id="b" * 12, cells=(_cell(speed, accepted=(100, 56, 100)),))
    found = compare([_chain(), other])
    verdict = _only(found)
    assert (verdict.verdict, verdict.ratio, verdict.low) == ("not comparable", None, None)
    first, beside, *also = verdict.why.split("; ")
    assert first.startswith("the baseline was measured under another NCCL environment (NCCL_")
    assert beside.startswith(
        f"with the same speculative setting, tok/s of the two are {speed / 108.0:.2f}× ("
    )
    assert also == [ONE_REPEAT]
    assert [side.cells[0].tok_s for side in found.sides] == pytest.approx([108.0, speed])
    assert found.break_even == ()
    assert all(one.unlike for one in found.differences)


def test_a_difference_inside_the_noise_is_called_so_between_nccl_profiles_too() -> None:
    other = replace(_chain(environment={}), id="b" * 12)
    why = _only(compare([_chain(), other])).why
    assert why.split("; ")[1].startswith(
        "with the same speculative setting, tok/s of the two are 1.00×"
    )
    assert why.endswith("; the interval holds 1")


@pytest.mark.parametrize("failed", [4, 16])
def test_failed_requests_are_said_between_nccl_profiles_too(failed: int) -> None:
    """And no figure is given where they may be the difference."""
    quicker = replace(
        _chain(environment={}), id="b" * 12, cells=(_cell(137.0, accepted=(100, 56, 100)),)
    )
    verdict = _only(compare([_chain(), _failing(quicker, failed)]))
    assert f"{failed} of its {32 + failed} requests failed" in verdict.why
    assert ("×" in verdict.why) == (failed == 4)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"temperature": 0.6}, "another temperature"),
        ({"digest": "b" * 64}, "another prompt set"),
        ({"speculative": Speculative()}, "another NCCL environment"),
        ({"gpus": ("NVIDIA H200",) * 8}, "another GPU"),
        ({"versions": {"sglang": "0.5.22"}}, "another release"),
    ],
)
def test_what_differs_in_more_than_nccl_gets_no_figure(
    fields: dict[str, object], said: str
) -> None:
    other = replace(_chain(environment={}, **fields), id="b" * 12)
    verdict = _only(compare([_chain(), other], _chain().id))
    assert verdict.verdict == "not comparable"
    assert "another NCCL environment" in verdict.why
    assert said in verdict.why
    assert "tok/s of the two" not in verdict.why


def test_another_variable_is_no_other_nccl_profile() -> None:
    both = {"NCCL_ALGO": "Ring", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    other = replace(_chain(environment=both), id="b" * 12, cells=(_cell(137.0),))
    assert _only(compare([_chain(), other])).verdict == "faster"


@pytest.mark.parametrize(
    ("fields", "what", "said"),
    [
        (
            {"versions": {"sglang": "0.5.22"}},
            "release",
            "another release (0.5.22, not 0.5.23)",
        ),
        (
            {"gpus": ("NVIDIA H200",) * 8},
            "GPU",
            "another GPU (8 × NVIDIA H200, not 8 × RTX PRO 6000)",
        ),
        (
            {"tensor_parallel": 4},
            "tensor parallel size",
            "another tensor parallel size (4, not 8)",
        ),
    ],
)
def test_what_is_the_only_change_may_be_compared(
    fields: dict[str, object], what: str, said: str
) -> None:
    """The same speculative setting on two releases: then that is what was tried, and the verdict
    says so."""
    faster = replace(_chain(**fields), id="b" * 12, cells=(_cell(137.0, accepted=(100, 56, 100)),))
    found = compare([_chain(), faster])
    verdict = _only(found)
    assert verdict.verdict == "faster"
    assert verdict.ratio == pytest.approx(137 / 108, abs=1e-3)
    assert verdict.unlike == (what,)
    assert verdict.why.split("; ")[0] == said
    assert comparison_document(found)["verdicts"][0]["why"] == verdict.why
    assert [one.unlike for one in found.differences] == [True]


def test_a_setting_that_is_off_in_one_run_is_listed() -> None:
    adaptive = _chain(speculative=replace(CHAIN_2, adaptive=True))
    found = compare([_chain(), replace(adaptive, id="b" * 12)])
    assert [(one.what, set(one.values.values())) for one in found.differences] == [
        ("adaptive", {False, True})
    ]


def test_another_context_is_no_comparison() -> None:
    near, far = _cell(108.0, prompt=109), _cell(108.0, prompt=112)
    assert _only(compare([_plain(), _run("near", near)])).verdict == "faster"
    verdict = _only(compare([_plain(), _run("far", far)]))
    assert verdict.verdict == "not comparable"
    assert verdict.why == "another context (112 prompt tokens, not 100)"
    verdict = _only(compare([_plain(), _run("far", far, input_tokens=112)]))
    assert verdict.why == "another context (112 prompt tokens, not 100)"


@pytest.mark.parametrize(
    ("stopped", "expected"),
    [
        ("looped", "not comparable"),
        ("restarted", "not comparable"),
        ("other-traffic", "not comparable"),
        ("kv-full", "not comparable"),
        ("throttled", "not comparable"),
        ("failed", "not comparable"),
        ("cancelled", "faster"),
    ],
)
def test_a_cell_that_ended_early_is_judged_by_why(stopped: str, expected: str) -> None:
    chain = _chain()
    cell = msgspec.convert(
        {**msgspec.to_builtins(chain.cells[0]), "stopped": stopped, "why": "this is why"}, Cell
    )
    for runs in ([_plain(), replace(chain, cells=(cell,))],):
        verdict = _only(compare(runs))
        assert verdict.verdict == expected
        assert "ended early: this is why" in verdict.why


@pytest.mark.parametrize(("doubt", "expected"), [("looped", "not comparable"), ("", "faster")])
def test_a_cell_whose_doubt_came_late_is_judged_like_one_that_ended_early(
    doubt: StopReason, expected: str
) -> None:
    chain = _chain()
    cell = replace(chain.cells[0], doubt=doubt, why="8 of 8 outputs loop.")
    verdict = _only(compare([_plain(), replace(chain, cells=(cell,))]))
    assert verdict.verdict == expected
    assert verdict.why == ("its cell is in doubt: 8 of 8 outputs loop." if doubt else ONE_REPEAT)


def test_what_a_cancelled_cell_cut_short_counts_for_its_speed() -> None:
    """Eight at once, 100 tok/s each; half of the second round's time was measured."""
    whole = tuple(
        Sent(began=0.0, latency=4.0, output_tokens=400, verify_steps=200) for _ in range(8)
    )
    cut = tuple(Sent(began=4.0, output_tokens=200, error="stopped") for _ in range(8))
    lost = Sent(began=4.0, output_tokens=50, error="the connection ended")
    cell = Cell(
        concurrency=8, seconds=6.0, requests=(*whole, *cut, lost), stopped="cancelled", why="x"
    )
    (side,) = compare([_run("cut", cell, speculative=CHAIN_2)]).sides
    (found,) = side.cells
    assert found.tok_s == pytest.approx(800.0)
    assert (found.requests, found.failed) == (17, 1)
    assert found.accept_length == pytest.approx(399 / 200)
    assert found.tok_s_each == pytest.approx(100.0)
    assert found.samples


def test_repeats_that_scatter_make_a_tie() -> None:
    """A15: 12.96 to 24.57 tok/s were reported for one setting."""
    scattered = [_cell(speed, repeat=index) for index, speed in enumerate((90.0, 104.0))]
    steady = [_cell(speed, repeat=index) for index, speed in enumerate((90.0, 90.2))]
    verdict = _only(compare([_run("steady", *steady), _run("scattered", *scattered)]))
    assert verdict.verdict == "tie"
    assert verdict.why == "the interval holds 1"
    assert verdict.ratio == pytest.approx(96.49 / 90.1, abs=0.001)
    assert verdict.low is not None
    assert verdict.low < 1.0


def test_a_small_difference_of_single_repeats_is_a_tie() -> None:
    verdict = _only(compare([_plain(), _run("near", _cell(91.5, spread=0.001))]))
    assert verdict.verdict == "tie"
    assert "one repeat cannot show" in verdict.why
    twice = [_cell(91.5, spread=0.001, repeat=repeat) for repeat in (0, 1)]
    base = [_cell(90.0, spread=0.001, repeat=repeat) for repeat in (0, 1)]
    assert _only(compare([_run("base", *base), _run("new", *twice)])).verdict == "faster"


def test_repeats_are_pooled() -> None:
    cells = [_cell(90.0, repeat=0), _cell(110.0, repeat=1)]
    (side, _) = compare([_run("twice", *cells), _plain()]).sides
    (cell,) = side.cells
    assert cell.repeats == 2
    assert cell.requests == 64
    assert cell.speeds == pytest.approx((90.0, 110.0))
    # Equal tokens: the speeds' harmonic mean.
    assert cell.tok_s == pytest.approx(2 / (1 / 90 + 1 / 110))


def test_a_summary_without_requests_has_no_noise_and_says_so() -> None:
    def run(name: str, speed: float) -> Run:
        summary = Summary(
            completed=64, output_tokens=6400, tok_s=speed, tpot_ms={"mean": 1000 / speed}
        )
        return _run(name, Cell(concurrency=1, seconds=60.0, summary=summary))

    verdict = _only(compare([run("a", 90.0), run("b", 94.0)]))
    assert verdict.verdict == "tie"
    assert "less than 5% is called a tie" in verdict.why
    assert verdict.low is None
    verdict = _only(compare([run("a", 90.0), run("b", 71.3)]))
    assert verdict.verdict == "slower"
    assert "its noise is not known" in verdict.why


def test_failed_requests_are_said_and_not_counted() -> None:
    chain = _chain()
    requests = (*chain.cells[0].requests, Sent(began=0.0, latency=3.0, error="HTTP 500"))
    failing = replace(chain, cells=(replace(chain.cells[0], requests=requests),))
    found = compare([_plain(), failing])
    assert found.sides[1].cells[0].failed == 1
    assert found.sides[1].cells[0].tok_s == pytest.approx(108.0)
    assert _only(found).why == f"{ONE_REPEAT}; 1 of its 33 requests failed"
    assert _only(found).verdict == "faster"


def _failing(run: Run, failed: int) -> Run:
    """The same with so many requests more that failed at once."""
    lost = (Sent(began=0.0, error="HTTP 500: out of memory"),) * failed
    cell = run.cells[0]
    return replace(run, cells=(replace(cell, requests=(*cell.requests, *lost)),))


@pytest.mark.parametrize(
    ("failed", "verdict"),
    # 108 tok/s over 90: with 32 of 38 served it is 91 over 90, with 32 of 36 it is 96.
    [(0, "faster"), (4, "faster"), (6, "not comparable"), (16, "not comparable")],
)
def test_dropping_requests_that_failed_makes_nothing_faster(failed: int, verdict: str) -> None:
    found = _only(compare([_plain(), _failing(_chain(), failed)]))
    assert found.verdict == verdict
    assert (f"{failed} of its {32 + failed} requests failed" in found.why) == (failed > 0)
    assert (found.ratio is None) == (verdict == "not comparable")
    # The same of a baseline that is the faster one only without them.
    slower = _only(compare([_failing(_chain(), failed), _plain()], _chain().id))
    assert slower.verdict == verdict.replace("faster", "slower")
    assert ("of the baseline's" in slower.why) == (failed > 0)


def test_a_side_that_is_slower_in_spite_of_its_failures_is_slower() -> None:
    found = _only(compare([_chain(), _failing(_plain(), 16)], _chain().id))
    assert found.verdict == "slower"
    assert "16 of its 48 requests failed" in found.why


def test_a_repeat_in_which_all_failed_weighs_as_well() -> None:
    chain = _chain()
    lost = Cell(
        concurrency=1, repeat=1, seconds=0.1,
        requests=(Sent(began=0.0, error="HTTP 500"),) * 32,
    )  # fmt: skip
    found = _only(compare([_plain(), replace(chain, cells=(*chain.cells, lost))]))
    assert found.verdict == "not comparable"
    assert found.why == "32 of its 64 requests failed: it may be faster only without them"


def test_nothing_measured_is_no_comparison() -> None:
    empty = Cell(concurrency=1, requests=(Sent(began=0.0, error="refused"),))
    verdict = _only(compare([_plain(), _run("empty", empty)]))
    assert verdict.verdict == "not comparable"
    assert verdict.why == "no tokens a second were measured"


# --- figures --------------------------------------------------------------------------------------


def test_a_step_has_its_parts_and_the_rest() -> None:
    steps = StepTimes(source="device timer", step=8.0, verify=6.0, draft=0.5, draft_extend=0.4)
    (side,) = compare([_run("one", replace(_cell(90.0), steps=steps))]).sides
    (cell,) = side.cells
    parts = (cell.step_ms, cell.verify_ms, cell.draft_ms, cell.draft_extend_ms)
    assert parts == pytest.approx((8.0, 6.0, 0.5, 0.4))
    assert cell.other_ms == pytest.approx(1.1)
    assert cell.source == "device timer"
    assert cell.wall_step_ms == pytest.approx(1000 / 90.0)


def test_streamed_requests_are_measured_from_their_first_token() -> None:
    request = Sent(began=0.0, ttft=0.5, latency=2.5, output_tokens=201, verify_steps=100)
    cell = Cell(concurrency=1, seconds=5.0, requests=(request, request))
    (side,) = compare([_run("one", cell, speculative=CHAIN_2)]).sides
    (found,) = side.cells
    assert found.wall_step_ms == pytest.approx(20.0)
    assert found.tpot_ms == pytest.approx({"mean": 10.0, "p50": 10.0, "p90": 10.0, "p99": 10.0})
    assert found.ttft_ms["p99"] == pytest.approx(500.0)
    # Accept length times TPOT is the step: the first token is in neither.
    assert found.accept_length == pytest.approx(2.0)
    plain = replace(request, verify_steps=None)
    (side,) = compare([_run("one", replace(cell, requests=(plain, plain)))]).sides
    assert side.cells[0].wall_step_ms == pytest.approx(10.0)
    assert side.cells[0].accept_length == 1.0


def test_a_chat_whose_replies_tell_no_steps_has_the_servers_accept_length() -> None:
    request = Sent(began=0.0, ttft=0.5, latency=2.5, output_tokens=201)
    cell = Cell(concurrency=1, seconds=5.0, requests=(request, request))
    chat = _run("chat", replace(cell, accept_length=2.0), speculative=CHAIN_2)
    slow = replace(request, latency=3.5)
    plain = _run("plain", replace(cell, seconds=7.0, requests=(slow, slow)))
    found = compare([plain, chat])
    (figures,) = found.sides[1].cells
    assert (figures.accept_length, figures.acceptance) == (2.0, ())
    assert figures.wall_step_ms == pytest.approx(20.0)  # 10 ms a token, two tokens a step
    (even,) = found.break_even
    assert even.needed == pytest.approx(20.0 / 15.0)
    assert (even.has, even.pays) == (2.0, True)


def test_energy_is_power_over_speed() -> None:
    (side,) = compare([_run("one", replace(_cell(90.0), power_watts=450.0))]).sides
    assert side.cells[0].joules_per_token == pytest.approx(5.0)


def test_many_runs_are_measured_against_the_one_that_was_named() -> None:
    runs = [_plain(), _chain(), _run("third", _cell(95.0))]
    found = compare(runs, runs[1].id)
    assert [verdict.run for verdict in found.verdicts] == [runs[0].id, runs[2].id]
    assert [verdict.verdict for verdict in found.verdicts] == ["slower", "slower"]
    assert found.verdict(runs[0].id, 1) is found.verdicts[0]
    assert found.verdict(runs[1].id, 1) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: compare([]),
        lambda: compare([_plain(), _plain()]),
        lambda: compare([_plain()], "nobody"),
    ],
)
def test_what_is_no_comparison_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"comparison|nobody"):
        wrong()


# --- differences ----------------------------------------------------------------------------------


def test_only_what_differs_is_listed_with_every_runs_value() -> None:
    around = {"arguments": {"page_size": 1, "attention_backend": "fa3", "random_seed": 4}}
    other = {
        "arguments": {"page_size": 64, "attention_backend": "fa3", "random_seed": 5},
        "versions": {"sglang": "0.5.23", "torch": "2.9"},
        "environment": {"NCCL_ALGO": "Ring", "CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    }
    a, b = _run("a", _cell(90.0), **around), _run("b", _cell(90.0), **other)
    found = {
        one.what: (one.unlike, tuple(one.values.values())) for one in compare([a, b]).differences
    }
    assert found == {
        "page_size": (False, (1, 64)),
        "CUDA_DEVICE_MAX_CONNECTIONS": (False, ("not set", "1")),
    }


# --- the contract ---------------------------------------------------------------------------------


def test_the_document_has_exactly_the_keys_of_the_contract(h200: Comparison) -> None:
    document = json.loads(msgspec.json.encode(comparison_document(h200)))
    assert list(document) == ["baseline", "runs", "differences", "verdicts", "break_even"]
    run = document["runs"][3]
    assert list(run) == ["id", "name", "speculative", "environment", "cells"]
    cell = run["cells"][0]
    assert list(cell) == [
        "concurrency", "tok_s", "tok_s_low", "tok_s_high", "accept_length",
        "acceptance_by_position", "verify_ms", "draft_ms", "draft_extend_ms", "step_ms",
        "ttft_ms", "tpot_ms",
    ]  # fmt: skip
    assert list(document["verdicts"][0]) == [
        "run", "concurrency", "ratio", "low", "high", "verdict", "why"
    ]  # fmt: skip
    assert cell["acceptance_by_position"] == pytest.approx([1137 / 1887, 684 / 1137, 390 / 684])
    assert cell["ttft_ms"] == {"mean": None, "p50": None, "p90": None, "p99": None}
    assert cell["tok_s_low"] < cell["tok_s"] < cell["tok_s_high"]
    assert document["baseline"] == document["runs"][0]["id"]


def test_quantiles_and_latencies_have_the_same_names(h200: Comparison) -> None:
    assert tuple(h200.sides[0].cells[0].latency_ms) == Quantiles.__struct_fields__


def test_the_same_runs_give_the_same_document(h200: Comparison) -> None:
    again = compare([_recorded(row) for row in TABLE])
    assert msgspec.json.encode(comparison_document(again)) == msgspec.json.encode(
        comparison_document(h200)
    )


def test_an_argument_that_one_run_alone_has_is_found() -> None:
    """Nearly all arguments are alike and are passed over in one look; these must not be."""
    common = {f"argument_{index}": index for index in range(300)}
    runs = [
        _run(name, _cell(90.0), arguments={**common, **own})
        for name, own in (("a", {}), ("b", {}), ("c", {"page_size": 64}), ("d", {"argument_7": 8}))
    ]
    found = {one.what: tuple(one.values.values()) for one in compare(runs).differences}
    assert found == {
        "argument_7": (7, 7, 7, 8),
        "page_size": ("not set", "not set", 64, "not set"),
    }
