"""The figures of a run, reckoned by hand; and that whoever shows one shows the same."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from eagletui.model.figures import (
    LATENCY_FIGURES,
    Figures,
    cell_figures,
    figures_document,
    figures_of,
    glances_of,
)
from eagletui.model.run import Cell, Quantiles, Run, Sent, StepTimes, Summary, Surroundings
from eagletui.model.speculative import Speculative

ONE = Sent(
    began=0.0, ttft=0.5, latency=2.5, prompt_tokens=10, output_tokens=101, verify_steps=40,
    accepted=(10, 10, 20), distinct_bigrams=0.8,
)  # fmt: skip
TWO = Sent(
    began=0.1, ttft=0.7, latency=4.7, prompt_tokens=30, output_tokens=101, verify_steps=60,
    accepted=(30, 30), distinct_bigrams=0.6,
)  # fmt: skip
CUT = Sent(began=0.2, ttft=0.1, output_tokens=18, error="stopped")
LOST = Sent(began=0.2, error="HTTP 500: x")
BROKEN = Sent(began=0.2, ttft=0.1, output_tokens=50, error="the connection ended")
SPEC = Surroundings(speculative=Speculative(algorithm="EAGLE3", num_steps=2, eagle_topk=1))


def run(*cells: Cell, surroundings: Surroundings = SPEC) -> Run:
    return Run(id="a" * 12, cells=cells, surroundings=surroundings)


def only(cell: Cell) -> Figures:
    return cell_figures(run(), cell)


def test_figures_of_a_cell() -> None:
    found = only(
        Cell(
            concurrency=2, seconds=5.0, requests=(ONE, TWO, CUT, LOST), power_watts=440.0,
            server_tokens=220,
        )
    )  # fmt: skip
    assert (found.requests, found.served, found.failed) == (4, 2, 1)
    assert (found.prompt_tokens, found.output_tokens, found.server_tokens) == (40, 220, 220)
    assert found.tok_s == pytest.approx(220 / 5.0)
    assert found.tok_s_each == pytest.approx(202 / (2.5 + 4.7))
    # Of 100 steps 40 accepted nothing, 40 one draft, 20 two.
    assert found.accept_length == pytest.approx((40 * 1 + 40 * 2 + 20 * 3) / 100)
    assert found.acceptance == pytest.approx((0.6, 20 / 60))
    assert (found.verify_steps, found.accepted) == (100, (40, 40, 20))
    assert found.distinct_bigrams == pytest.approx(0.7)
    assert found.joules_per_token == pytest.approx(10.0)
    assert found.tpot_ms == pytest.approx({"mean": 30.0, "p50": 30.0, "p90": 38.0, "p99": 39.8})
    assert found.ttft_ms == pytest.approx({"mean": 600.0, "p50": 600.0, "p90": 680.0, "p99": 698.0})
    assert found.latency_ms["mean"] == pytest.approx(3600.0)
    assert found.wall_step_ms == pytest.approx((2000.0 + 4000.0) / 100)


def test_what_a_failed_request_left_is_no_speed() -> None:
    found = only(Cell(concurrency=2, seconds=5.0, requests=(ONE, TWO, CUT, BROKEN)))
    assert found.tok_s == pytest.approx(220 / 5.0)
    assert found.served_share == pytest.approx(2 / 3)


def test_nothing_served_says_nothing() -> None:
    found = only(Cell(concurrency=1, seconds=1.0, requests=(LOST,)))
    assert (found.tok_s, found.accept_length, found.joules_per_token) == (None,) * 3
    assert found.ttft_ms == dict.fromkeys(LATENCY_FIGURES)
    assert found.served_share == 0.0


@pytest.mark.parametrize(
    ("request_", "counter", "expected"),
    [
        # The histogram goes first; steps alone leave out the prefill's token; then the counters.
        (ONE, 2.2, (10 * 1 + 10 * 2 + 20 * 3) / 40),
        (replace(ONE, accepted=()), 2.2, 100 / 40),
        (replace(ONE, accepted=(), verify_steps=None), 2.2, 2.2),
        (replace(ONE, accepted=(), verify_steps=None), None, None),
    ],
)
def test_where_an_accept_length_is_from(
    request_: Sent, counter: float | None, expected: float | None
) -> None:
    found = only(Cell(concurrency=1, seconds=2.5, requests=(request_,), accept_length=counter))
    assert found.accept_length == pytest.approx(expected)


def test_an_accept_length_is_never_above_k_and_one() -> None:
    """33 tokens in 8 steps of which each accepted all three drafts: SGLang's own is 4.125."""
    whole = Sent(began=0.0, ttft=0.1, latency=1.0, output_tokens=33, verify_steps=8)
    for accepted in ((), (0, 0, 0, 8)):
        cell = Cell(concurrency=1, seconds=1.0, requests=(replace(whole, accepted=accepted),))
        assert only(cell).accept_length == pytest.approx(4.0)


def test_without_drafts_a_step_is_a_token() -> None:
    plain = Sent(began=0.0, ttft=0.5, latency=2.5, output_tokens=101)
    cell = Cell(concurrency=1, seconds=2.5, requests=(plain,))
    (found,) = figures_of(run(cell, surroundings=Surroundings()))
    assert found.accept_length == 1.0
    assert found.wall_step_ms == pytest.approx(20.0)


def test_repeats_are_pooled_and_never_averaged() -> None:
    """One repeat of 1 request, one of 3: the mean of the repeats' own figures is another thing."""
    first = Cell(
        concurrency=2, repeat=0, seconds=2.5, requests=(ONE,), power_watts=100.0, server_tokens=101,
        itl_ms=Quantiles(mean=10.0, p50=10.0, p90=10.0, p99=10.0),
        steps=StepTimes(source="device timer", step=8.0, verify=6.0),
    )  # fmt: skip
    second = Cell(
        concurrency=2, repeat=1, seconds=7.5, requests=(TWO, TWO, TWO), power_watts=200.0,
        itl_ms=Quantiles(mean=20.0, p50=20.0, p90=20.0, p99=20.0),
        steps=StepTimes(source="device timer", step=12.0, verify=10.0),
    )  # fmt: skip
    (found,) = figures_of(run(first, second))
    assert found.tok_s == pytest.approx(404 / 10.0)
    assert list(found.speeds) == pytest.approx([101 / 2.5, 303 / 7.5])
    assert found.accept_length == pytest.approx((10 + 20 + 60 + 3 * (30 + 60)) / (40 + 180))
    assert found.ttft_ms["p50"] == pytest.approx(700.0)
    assert found.ttft_ms["mean"] == pytest.approx(650.0)
    assert found.itl_ms["mean"] == pytest.approx((10.0 * 101 + 20.0 * 303) / 404)
    assert found.step_ms == pytest.approx(11.0)
    assert found.power_watts == pytest.approx(175.0)
    assert found.joules_per_token == pytest.approx(175.0 / 40.4)
    # Not every cell knows it.
    assert found.server_tokens is None


def test_a_cell_alone_has_the_figures_of_a_run_of_it() -> None:
    cell = Cell(concurrency=2, seconds=5.0, requests=(ONE, TWO))
    whole = run(cell)
    assert figures_of(whole) == (cell_figures(whole, cell),)


def test_the_document_has_the_figures_and_no_resamples() -> None:
    found = only(Cell(concurrency=2, seconds=5.0, requests=(ONE, TWO, CUT), stopped="cancelled"))
    document = figures_document(found)
    assert (document["tok_s"], document["accept_length"]) == (found.tok_s, found.accept_length)
    assert document["tok_s_low"] < document["tok_s"] < document["tok_s_high"]
    assert document["step_source"] == "requests"
    assert document["ended_early"] == ("cancelled",)
    assert "samples" not in document


@pytest.mark.parametrize(
    "cells",
    [
        (),
        (Cell(concurrency=2, seconds=5.0, requests=(ONE, TWO, CUT, LOST)),),
        (Cell(concurrency=8, seconds=5.0, requests=(LOST,)), Cell(concurrency=1)),
        (
            Cell(concurrency=1, seconds=5.0, requests=(ONE, BROKEN)),
            Cell(concurrency=4, seconds=2.0, requests=(ONE, TWO), accept_length=1.5),
            Cell(concurrency=1, repeat=1, seconds=3.0, requests=(TWO,)),
        ),
        (Cell(concurrency=1, seconds=4.0, summary=Summary(tok_s=80.0, accept_length=2.0)),),
        (Cell(concurrency=1, seconds=4.0, accept_length=1.7),),
    ],
)
def test_a_list_shows_the_same_figures(cells: tuple[Cell, ...]) -> None:
    made = run(*cells)
    assert [tuple(glance) for glance in glances_of(made)] == [
        (found.concurrency, found.tok_s, found.accept_length) for found in figures_of(made)
    ]
