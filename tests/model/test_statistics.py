from __future__ import annotations

import math
import statistics as stdlib
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.model.statistics import (
    BLIND_MARGIN,
    MARGIN,
    RESAMPLES,
    Interval,
    Ratio,
    Stratum,
    accept_length,
    acceptance_by_position,
    call,
    distribution,
    hull,
    interval,
    interval_of_repeats,
    pooled,
    quantile,
    ratio,
    ratio_of_sums,
    resampled,
)
from tests.recorded_replies import TABLE, Row, replies

FINITE = st.floats(-1e9, 1e9)
COUNTS = st.lists(st.integers(0, 10_000), max_size=12)


# --- quantiles ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "expected"), [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0)]
)
def test_a_quantile_is_interpolated_between_order_statistics(q: float, expected: float) -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], q) == pytest.approx(expected)


@given(st.lists(FINITE, min_size=2, max_size=60))
def test_quartiles_are_those_of_the_standard_library(values: list[float]) -> None:
    expected = stdlib.quantiles(values, n=4, method="inclusive")
    for q, value in zip((0.25, 0.5, 0.75), expected, strict=True):
        assert quantile(values, q) == pytest.approx(value, abs=1e-6)


@given(st.lists(FINITE, min_size=1, max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_quantiles_lie_within_the_values_and_in_order(
    values: list[float], q: float, p: float
) -> None:
    low, high = sorted((q, p))
    assert min(values) <= quantile(values, low) <= quantile(values, high) <= max(values)


@pytest.mark.parametrize(("values", "q"), [([], 0.5), ([1.0], -0.1), ([1.0], 1.1)])
def test_a_quantile_of_nothing_is_refused(values: list[float], q: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        quantile(values, q)


def test_a_distribution_has_its_mean_and_quantiles() -> None:
    found = distribution(float(value) for value in range(101))
    assert found is not None
    assert (found.mean, found.p50, found.p90, found.p99) == (50.0, 50.0, 90.0, 99.0)
    assert distribution([]) is None


# --- acceptance -----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in TABLE if row.k], ids=lambda row: row.file)
def test_the_recordings_histograms_give_the_tables_accept_length(row: Row) -> None:
    found = replies(row.file)
    histogram = pooled(r["meta_info"]["spec_correct_drafts_histogram"] for r in found)
    assert histogram == row.histogram
    assert sum(histogram) == sum(r["meta_info"]["spec_verify_ct"] for r in found)
    length = accept_length(histogram)
    # The table divides tokens by verify steps: drafts past a reply's last token don't count there.
    assert length == pytest.approx(row.accept_length, abs=0.008)


def test_the_published_sample_of_a_histogram() -> None:
    """sglang#33518: 106 tokens, 43 verify steps, accept length 2.4651."""
    histogram = (11, 14, 11, 4, 0, 3)
    assert accept_length(histogram) == pytest.approx(2.4651, abs=5e-5)
    shares = acceptance_by_position(histogram)
    marginals = [math.prod(share or 0.0 for share in shares[: i + 1]) for i in range(5)]
    assert marginals == pytest.approx([0.744, 0.419, 0.163, 0.070, 0.070], abs=5e-4)


def test_acceptance_by_position_is_conditional() -> None:
    # 1500 steps reached position 1, of which 1000 passed; of those 600 passed position 2.
    assert acceptance_by_position((500, 400, 600)) == (1000 / 1500, 600 / 1000)


def test_a_position_that_was_never_reached_has_no_share() -> None:
    assert acceptance_by_position((7, 0, 0)) == (0.0, None)
    assert acceptance_by_position((3, 1), num_steps=3) == (0.25, 0.0, None)
    assert acceptance_by_position(()) == ()
    assert accept_length(()) is None
    assert accept_length((0, 0)) is None


@given(COUNTS)
def test_accept_length_is_one_and_the_products_of_acceptance(histogram: list[int]) -> None:
    """E(k) = 1 + Σᵢ Πⱼ≤ᵢ aⱼ, whatever the histogram."""
    length, total, product = accept_length(histogram), 1.0, 1.0
    for share in acceptance_by_position(histogram):
        product *= share or 0.0
        total += product
    if length is not None:
        assert 1.0 <= length <= len(histogram)
        assert length == pytest.approx(total)


@given(st.lists(COUNTS, max_size=5))
def test_pooling_loses_no_step(histograms: list[list[int]]) -> None:
    assert sum(pooled(histograms)) == sum(map(sum, histograms))
    assert len(pooled(histograms)) == max(map(len, histograms), default=0)


# --- intervals ------------------------------------------------------------------------------------


def _drawn(random: Random, size: int, spread: float = 0.1) -> Stratum:
    return Stratum(
        over=(512.0,) * size, under=tuple(random.gauss(2.0, 2.0 * spread) for _ in range(size))
    )


def test_resamples_are_the_same_for_a_seed_and_others_for_another() -> None:
    strata = [_drawn(Random(7), 32), _drawn(Random(8), 32)]
    assert resampled(strata, seed=1) == resampled(strata, seed=1)
    assert resampled(strata, seed=1) != resampled(strata, seed=2)
    assert len(resampled(strata)) == RESAMPLES


def test_sums_of_resamples_are_those_of_the_units_drawn() -> None:
    """One by one, as a bootstrap is taught: the long numbers must say the same."""
    random = Random(5)
    strata = [_drawn(random, 7), Stratum((3.0,), (0.5,)), _drawn(random, 12)]
    strata[2] = Stratum(tuple(random.uniform(1, 900) for _ in range(12)), strata[2].under)
    found = resampled(strata, seed=4)
    sums = [[0.0, 0.0] for _ in range(RESAMPLES)]
    for index, stratum in enumerate(strata):
        size = len(stratum.over)
        draw = Random(size)
        drawn = [
            [number * size >> 32 for number in memoryview(draw.randbytes(4 * size)).cast("I")]
            for _ in range(RESAMPLES)
        ]
        for at, total in enumerate(sums):
            for unit in drawn[(at + 4 + 2 * index) % RESAMPLES] if size > 1 else [0]:
                total[0] += stratum.over[unit]
                total[1] += stratum.under[unit]
    assert found == pytest.approx([over / under for over, under in sums], rel=1e-6)


def test_repeats_are_drawn_apart() -> None:
    """Same sizes, same values: a draw that served both repeats would double their spread."""
    one = _drawn(Random(3), 24)
    alone, twice = interval(resampled([one])), interval(resampled([one, one]))
    assert alone is not None
    assert twice is not None
    narrower = (twice.high - twice.low) / (alone.high - alone.low)
    assert narrower == pytest.approx(1 / math.sqrt(2), abs=0.08)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    random, covered, tried = Random(42), 0, 200
    for _ in range(tried):
        found = interval(resampled([_drawn(random, 32)]))
        assert found is not None
        covered += found.low <= 256.0 <= found.high
    assert 0.89 <= covered / tried <= 0.99


@given(
    st.lists(st.lists(st.tuples(st.floats(1, 1e3), st.floats(0.01, 10)), max_size=20), max_size=4),
    st.integers(0, 3),
)
@settings(max_examples=25)
def test_resamples_lie_within_what_requests_say(
    repeats: list[list[tuple[float, float]]], seed: int
) -> None:
    strata = [Stratum(tuple(a for a, _ in one), tuple(b for _, b in one)) for one in repeats]
    samples = resampled(strata, seed=seed)
    if not any(len(one) > 1 for one in repeats):
        assert samples == ()
        return
    each = [a / b for one in repeats for a, b in one]
    assert min(samples) >= min(each) * (1 - 1e-5)
    assert max(samples) <= max(each) * (1 + 1e-5)


def test_a_request_alone_has_no_noise_to_speak_of() -> None:
    assert resampled([Stratum((512.0,), (2.0,))]) == ()
    assert interval(()) is None
    mixed = resampled([Stratum((512.0,), (2.0,)), Stratum((512.0, 512.0), (2.0, 3.0))])
    assert min(mixed) == pytest.approx(1536 / 8)
    assert max(mixed) == pytest.approx(1536 / 6)


def test_many_requests_cost_no_more_than_they_may() -> None:
    many = _drawn(Random(1), 40_000)
    samples = resampled([many])
    assert len(samples) == RESAMPLES
    found, middle = interval(samples), ratio_of_sums([many])
    assert found is not None
    assert middle is not None
    # As wide as the requests' own spread says: 1.96 · 10 % / √40000.
    assert (found.high - found.low) / middle == pytest.approx(2 * 1.96 * 0.1 / 200, rel=0.25)


def test_a_ratio_of_sums_without_anything_below_the_line() -> None:
    assert ratio_of_sums([]) is None
    assert ratio_of_sums([Stratum((1.0,), (0.0,))]) is None
    assert ratio_of_sums([Stratum((1e15,), (1e-300,))]) is None  # no infinite speed
    assert resampled([Stratum((1.0, 1.0), (0.0, 0.0))]) == ()
    assert resampled([Stratum((1.0, 1.0), (0.0, 5e-324))]) == ()
    assert set(resampled([Stratum((0.0, 0.0), (1.0, 2.0))])) == {0.0}


def test_the_interval_of_repeats_is_students() -> None:
    found = interval_of_repeats([100.0, 104.0], [100.0, 100.0])
    reach = 4.303 * math.sqrt(2 * (math.log(1.04) / 2) ** 2 / 1 / 2)
    assert found == pytest.approx(
        (math.sqrt(1.04) * math.exp(-reach), math.sqrt(1.04) * math.exp(reach))
    )
    assert interval_of_repeats([100.0], [100.0, 101.0]) is None
    assert interval_of_repeats([100.0, 0.0]) is None
    alone = interval_of_repeats([100.0, 104.0])
    assert alone is not None
    assert alone.low < 100.0 < 104.0 < alone.high


def test_the_wider_of_both_is_shown() -> None:
    assert hull(Interval(1, 2), None, Interval(0.5, 1.5)) == (0.5, 2)
    assert hull(None) is None


def test_repeats_that_disagree_make_a_tie_of_what_requests_call_certain() -> None:
    fast = [Stratum((512.0,) * 32, (seconds,) * 31 + (seconds + 0.01,)) for seconds in (1.9, 2.1)]
    slow = [Stratum((512.0,) * 32, (seconds,) * 31 + (seconds + 0.01,)) for seconds in (2.0, 2.2)]
    speeds = [[ratio_of_sums([one]) or 0.0 for one in side] for side in (fast, slow)]
    value, other = ratio_of_sums(fast) or 0.0, ratio_of_sums(slow) or 0.0
    samples, others = resampled(fast, seed=1), resampled(slow, seed=2)
    blind = ratio(value, other, samples, others)
    seeing = ratio(value, other, samples, others, *speeds)
    assert blind is not None
    assert seeing is not None
    assert call(blind, repeats=2, other_repeats=2) == "faster"
    assert call(seeing, repeats=2, other_repeats=2) == "tie"


def _judged(random: Random, faster: float) -> str:
    """Three repeats a side, 32 requests each: 6 % within a repeat, 1 % from one to the next."""
    sides = []
    for speed in (faster, 1.0):
        middles = [2.0 / speed * (1 + random.gauss(0, 0.01)) for _ in range(3)]
        sides.append(
            [
                Stratum((512.0,) * 32, tuple(m * (1 + random.gauss(0, 0.06)) for _ in range(32)))
                for m in middles
            ]
        )
    new, old = sides
    change = ratio(
        ratio_of_sums(new) or 0.0,
        ratio_of_sums(old) or 0.0,
        resampled(new, seed=1),
        resampled(old, seed=0),
        [ratio_of_sums([one]) or 0.0 for one in new],
        [ratio_of_sums([one]) or 0.0 for one in old],
    )
    assert change is not None
    return call(change, repeats=3, other_repeats=3)


def test_equals_are_called_a_tie_and_a_tenth_is_seen() -> None:
    random = Random(3)
    assert [_judged(random, 1.0) for _ in range(100)].count("tie") >= 93
    assert [_judged(random, 1.1) for _ in range(50)].count("faster") >= 49


@pytest.mark.parametrize(
    ("value", "bounds", "repeats", "expected"),
    [
        (1.10, (1.05, 1.15), 2, "faster"),
        (0.90, (0.85, 0.95), 2, "slower"),
        (1.10, (0.99, 1.21), 2, "tie"),
        (1.10, (1.00, 1.21), 2, "tie"),
        (1.015, (1.01, 1.02), 2, "faster"),
        (1.015, (1.01, 1.02), 1, "tie"),
        (1 + MARGIN, (1.01, 1.03), 1, "faster"),
        (1 - MARGIN, (0.97, 0.99), 1, "slower"),
        (1.04, None, 1, "tie"),
        (1.04, None, 2, "tie"),
        (1 + BLIND_MARGIN, None, 1, "faster"),
        (1.0, (1.0, 1.0), 2, "tie"),
    ],
)
def test_a_difference_inside_the_noise_is_a_tie(
    value: float, bounds: Sequence[float] | None, repeats: int, expected: str
) -> None:
    change = Ratio(value, Interval(*bounds) if bounds else None)
    assert call(change, repeats=repeats, other_repeats=3) == expected
    assert call(change, repeats=3, other_repeats=repeats) == expected


def test_a_ratio_over_nothing_is_none() -> None:
    assert ratio(1.0, 0.0) is None
    assert ratio(2.0, 1.0) == Ratio(2.0, None)
