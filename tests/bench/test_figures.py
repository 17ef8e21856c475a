"""A cell's figures, reckoned by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.bench.figures import figures, itl_quantiles, quantiles
from eagletui.bench.load import Reply
from eagletui.model.run import Cell, Sent
from eagletui.model.statistics import distribution

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


def test_figures_of_a_cell() -> None:
    found = figures(
        Cell(concurrency=2, seconds=5.0, requests=(ONE, TWO, CUT, LOST), power_watts=440.0)
    )
    assert (found.served, found.failed) == (2, 1)
    assert (found.prompt_tokens, found.output_tokens) == (40, 202)
    assert found.tok_s == pytest.approx(220 / 5.0)
    assert found.tok_s_each == pytest.approx((101 / 2.5 + 101 / 4.7) / 2)
    assert found.accept_length == pytest.approx(2.02)
    assert (found.verify_steps, found.accepted) == (100, (40, 40, 20))
    assert found.distinct_bigrams == pytest.approx(0.7)
    assert found.joules == pytest.approx(10.0)
    assert found.tpot_ms is not None
    assert found.tpot_ms.p50 == pytest.approx(30.0)
    assert found.tpot_ms.mean == pytest.approx(30.0)
    assert found.ttft_ms is not None
    assert found.ttft_ms.p90 == pytest.approx(680.0)
    assert found.latency_ms is not None
    assert found.latency_ms.mean == pytest.approx(3600.0)


def test_what_a_failed_request_left_is_no_speed() -> None:
    broken = Sent(began=0.2, ttft=0.1, output_tokens=50, error="the connection ended")
    found = figures(Cell(concurrency=2, seconds=5.0, requests=(ONE, TWO, CUT, broken)))
    assert found.tok_s == pytest.approx(220 / 5.0)


def test_nothing_served_says_nothing() -> None:
    found = figures(Cell(concurrency=1, seconds=1.0, requests=(LOST,), accept_length=None))
    assert (found.tok_s, found.ttft_ms, found.accept_length, found.joules) == (None,) * 4


def test_where_requests_do_not_tell_the_servers_counters_do() -> None:
    plain = Sent(began=0.0, ttft=0.1, latency=1.0, output_tokens=10)
    assert figures(Cell(concurrency=1, requests=(plain,), accept_length=2.2)).accept_length == 2.2
    told = figures(Cell(concurrency=1, requests=(ONE,), accept_length=2.2)).accept_length
    assert told == pytest.approx(101 / 40)


def test_a_gap_counts_for_each_token_of_its_chunk() -> None:
    replies = [Reply(index=0, sent=ONE, gaps=((30_000, 3), (5_000, 1), (8_000, 0)))]
    found = itl_quantiles(replies)
    assert found is not None
    # 5, 8, 10, 10, 10: a chunk of unknown size counts as one.
    assert found.mean == pytest.approx(8.6)
    assert found.p50 == pytest.approx(10.0)
    assert itl_quantiles([]) is None


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 5)), min_size=1, max_size=30))
def test_weights_stand_for_as_many(pairs: list[tuple[float, int]]) -> None:
    values, weights = [v for v, _ in pairs], [w for _, w in pairs]
    spread = [value for value, weight in pairs for _ in range(weight)]
    found, plain = quantiles(values, weights), distribution(spread)
    assert found is not None
    assert plain is not None
    for name in ("mean", "p50", "p90", "p99"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name))
    spread.sort()
    place = 0.9 * (len(spread) - 1)
    low, high = spread[int(place)], spread[min(int(place) + 1, len(spread) - 1)]
    assert plain.p90 == pytest.approx(low + (high - low) * (place - int(place)))
