"""Gaps between tokens, reckoned by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.bench.gaps import itl_quantiles, quantiles
from eagletui.bench.load import Reply
from eagletui.model.run import Sent
from eagletui.model.statistics import distribution

ONE = Sent(began=0.0, ttft=0.5, latency=2.5, output_tokens=101)


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
