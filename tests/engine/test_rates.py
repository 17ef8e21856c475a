from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eagletui.engine.loads import read_loads, with_moments
from eagletui.engine.rates import RateMeter, busy_span, over, rates
from eagletui.model.readings import Histogram, RankCounters, Rates, Reading
from tests.engine.recorded import readings

# The recordings' own table (milliseconds a step, one request at a time), from the clients' replies.
TABLE = [
    # name, step, verify or decode, draft, draft extend, tok/s, accept length
    ("dense_k0_c1.prom", 4.65, 4.51, None, None, 215.0, None),
    ("dense_k1_c1.prom", 5.88, 5.33, None, 0.23, 270.6, 1.59),
    ("dense_k2_c1.prom", 6.13, 5.34, 0.19, 0.23, 319.0, 1.95),
    ("dense_k3_c1.prom", 6.31, 5.35, 0.37, 0.24, 344.2, 2.17),
    ("spec5_t1.prom", 6.76, 5.36, 0.74, 0.24, 345.3, 2.33),
    ("dense_k7_c1.prom", 7.16, 5.40, 1.11, 0.24, 342.4, 2.45),
]


@pytest.mark.parametrize(("name", "step", "gpu", "draft", "extend", "tok_s", "length"), TABLE)
def test_reproduces_the_table_of_the_recordings(
    name: str,
    step: float,
    gpu: float,
    draft: float | None,
    extend: float | None,
    tok_s: float,
    length: float | None,
) -> None:
    span = busy_span(readings(name))
    found = over(span)
    assert found.source == "device timer"
    # The table's clients also waited between requests; the scrapes' span leaves that out: 1 %.
    assert found.step_ms == pytest.approx(step, rel=0.011)
    assert found.tok_s == pytest.approx(tok_s, rel=0.011)
    if length is None:
        assert found.verify_ms is None
        assert found.accept_length is None
        assert found.accept_rate is None
        assert found.decode_ms == pytest.approx(gpu, abs=0.006)
    else:
        k = span[-1].num_steps
        assert k is not None
        assert found.verify_ms == pytest.approx(gpu, rel=0.006)
        assert found.decode_ms is None
        assert found.accept_length == pytest.approx(length, abs=0.008)
        assert found.accept_rate == pytest.approx((length - 1) / k, abs=0.008)
    assert found.draft_ms == (None if draft is None else pytest.approx(draft, abs=0.0055))
    assert found.draft_extend_ms == (None if extend is None else pytest.approx(extend, abs=0.0055))


# Tokens a second in total, eight requests at once, from the clients' replies.
EIGHT = [
    ("dense_k0_c8.prom", 1633.0),
    ("dense_k1_c8.prom", 1405.0),
    ("dense_k2_c8.prom", 1703.0),
    ("dense_k3_c8.prom", 1722.0),
    ("spec5_c8.prom", 1659.0),
    ("dense_k7_c8.prom", 1609.0),
]


@pytest.mark.parametrize(("name", "tok_s"), EIGHT)
def test_eight_at_once_lies_between_the_busy_span_and_all_that_moved(
    name: str, tok_s: float
) -> None:
    scrapes = readings(name)
    moved = [
        i for i, (before, after) in enumerate(pairwise(scrapes)) if rates(before, after).progress
    ]
    everything = over(scrapes[moved[0] : moved[-1] + 2]).tok_s
    inside = over(busy_span(scrapes)).tok_s
    assert everything is not None
    assert inside is not None
    assert everything < tok_s < inside < 1.09 * tok_s


def test_with_eight_at_once_the_gauge_tells_the_accept_length() -> None:
    found = over(busy_span(readings("dense_k3_c8.prom")))
    assert found.verify_ms == pytest.approx(6.484, abs=0.001)
    assert found.accept_length == pytest.approx(2.198, abs=0.001)


def test_the_meter_follows_a_recording_without_spikes() -> None:
    meter = RateMeter()
    found = [meter.add(reading) for reading in readings("dense_k1_c1.prom")]
    steps = [r.step_ms for r in found if r.step_ms is not None]
    assert len(steps) == 26
    assert min(steps) > 5.5
    assert max(steps) < 6.3
    verify = [r.verify_ms for r in found if r.verify_ms is not None]
    assert len(verify) == 31
    # The timer books a pass a little late, so that single seconds wobble around 5.33.
    assert min(verify) > 4.9
    assert max(verify) < 5.8
    assert [r.stale for r in found[-3:]] == [False, False, True]
    assert found[-1].tok_s == 0.0
    assert found[-1].accept_length == 1.625
    assert found[-1].step_ms is None
    assert not found[-1].progress


def busy(at: float, **fields: float | tuple[float, ...] | None) -> Reading:
    return Reading(
        at=at,
        **{"running": 2.0, "num_steps": 3, "accept_length": 2.5, **fields},  # type: ignore[arg-type]
    )


def test_one_reading_tells_only_what_gauges_tell() -> None:
    found = rates(None, busy(1.0, gen_throughput=100.0))
    assert (found.tok_s, found.step_ms, found.accept_length) == (None, None, 2.5)
    assert (found.accept_rate, found.source, found.stale) == (0.5, "none", False)
    assert rates(None, busy(1.0, running=0.0)).stale


def test_decode_moments_give_step_throughput_and_accept_length() -> None:
    before = busy(0.0, decode_moments=(100.0, 200.0, 1e6, 0.0, 0.0, 500.0))
    after = busy(1.0, decode_moments=(150.0, 300.0, 2e6, 0.0, 0.0, 740.0))
    found = rates(before, after)
    assert found.step_ms == 20.0
    assert found.tok_s == 240.0
    assert found.accept_length == 2.4
    assert found.source == "decode moments"
    assert found.progress


def loads(at: float, *ranks: tuple[float, float, float], running: float = 1.0) -> Reading:
    """A reply of `/v1/loads`, a rank each with (steps, microseconds, generated)."""
    found = read_loads(
        json.dumps(
            {
                "loads": [
                    {
                        "num_running_reqs": running,
                        "gen_throughput": 77.0,
                        "decode_moments": [steps, steps, us, steps, us, tokens],
                    }
                    for steps, us, tokens in ranks
                ]
            }
        ).encode(),
        at=at,
    )
    assert found is not None
    return found


def test_dp_ranks_decode_side_by_side() -> None:
    """Four ranks of 100 tok/s are 400; one that is idle counts nothing."""
    four = rates(loads(0.0, *[(10, 0, 0)] * 4), loads(1.0, *[(60, 1e6, 100)] * 4))
    assert four.tok_s == 400.0
    assert four.step_ms == 20.0
    two = rates(loads(0.0, *[(10, 0, 0)] * 4), loads(1.0, *[(60, 1e6, 100)] * 2, *[(10, 0, 0)] * 2))
    assert two.tok_s == 200.0
    merged = [
        replace(loads(at, *[(steps, us, n)] * 4), rank_moments=())
        for at, steps, us, n in ((0.0, 10, 0, 0), (1.0, 60, 1e6, 100))
    ]
    assert rates(*merged).tok_s == 400.0
    page = with_moments(busy(1.0), loads(1.0, *[(60, 1e6, 100)] * 4))
    assert (page.dp_ranks, len(page.rank_moments)) == (4, 4)


def test_moments_of_before_are_no_progress_of_now() -> None:
    meter = RateMeter()
    meter.add(loads(0.0, (10, 0, 0)))
    assert meter.add(loads(1.0, (60, 1e6, 100))).progress
    resting = meter.add(loads(2.0, (60, 1e6, 100)))
    assert (resting.tok_s, resting.progress) == (100.0, False)
    idle = meter.add(loads(3.0, (60, 1e6, 100), running=0.0))
    assert (idle.tok_s, idle.step_ms, idle.progress) == (0.0, None, False)


def test_moments_that_rest_between_their_updates_stay_valid_while_passes_go_on() -> None:
    meter = RateMeter()
    moments = [(15.0, 15.0, 3e6, 0.0, 0.0, 30.0), (30.0, 30.0, 6e6, 0.0, 0.0, 60.0)]
    found = Rates()
    for second in range(6):
        found = meter.add(
            busy(float(second), decode_moments=moments[second >= 3], passes_total=5.0 * second)
        )
    assert found.step_ms == 200.0
    assert found.source == "decode moments"
    idle = meter.add(busy(6.0, decode_moments=moments[1], passes_total=25.0, running=0.0))
    assert idle.step_ms is None
    assert idle.stale


def test_a_restart_begins_anew() -> None:
    meter = RateMeter()
    meter.add(busy(0.0, passes_total=500.0))
    meter.add(busy(1.0, passes_total=600.0))
    found = meter.add(busy(2.0, passes_total=10.0))
    assert found.reset
    assert found.step_ms is None
    found = meter.add(busy(3.0, passes_total=60.0))
    assert not found.reset
    assert found.step_ms == 20.0
    assert rates(busy(0.0, passes_total=5.0), busy(1.0)).reset


def test_time_that_does_not_pass_gives_no_rates() -> None:
    found = rates(busy(5.0, passes_total=1.0), busy(5.0, passes_total=9.0))
    assert found.seconds == 0.0
    assert found.step_ms is None


def test_a_cut_page_is_no_end_of_a_window() -> None:
    meter = RateMeter()
    meter.add(busy(0.0, passes_total=100.0))
    assert not meter.add(replace(busy(1.0), truncated=True)).reset
    assert meter.add(busy(2.0, passes_total=200.0)).step_ms == 20.0


def test_short_intervals_are_joined() -> None:
    meter = RateMeter()
    found = [meter.add(busy(i / 5, passes_total=10.0 * i)) for i in range(20)]
    assert found[-1].seconds == pytest.approx(1.0)
    assert found[-1].step_ms == pytest.approx(20.0)


def test_an_idle_rank_of_dp_attention_does_not_slow_verify() -> None:
    before = replace(
        busy(0.0, passes_total=0.0, verify_seconds_total=0.0),
        ranks=(RankCounters(passes_total=0.0, verify_seconds_total=0.0),) * 2,
    )
    after = replace(
        busy(1.0, passes_total=50.0, verify_seconds_total=1.0),
        ranks=(
            RankCounters(passes_total=50.0, verify_seconds_total=0.5),
            RankCounters(passes_total=0.0, verify_seconds_total=0.5),
        ),
    )
    assert rates(before, after).verify_ms == 10.0


def test_quantiles_are_those_of_the_window() -> None:
    bounds = (0.1, 0.2, float("inf"))
    before = replace(busy(0.0), ttft=Histogram(bounds=bounds, counts=(90.0, 90.0, 90.0)))
    after = replace(busy(1.0), ttft=Histogram(bounds=bounds, counts=(90.0, 94.0, 100.0)))
    found = rates(before, after)
    assert found.ttft_ms.p50 == 200.0
    assert found.ttft_ms.p99 == 200.0
    assert found.itl_ms.p50 is None


SPEEDS = (
    "tok_s",
    "prefill_tok_s",
    "steps_s",
    "step_ms",
    "verify_ms",
    "draft_ms",
    "draft_extend_ms",
    "decode_ms",
    "accept_length",
)

number = st.one_of(st.none(), st.floats(min_value=0, max_value=1e12))


@given(
    st.lists(
        st.builds(
            Reading,
            at=st.integers(0, 10**7).map(lambda ms: ms / 1000),
            running=number,
            queued=number,
            num_steps=st.one_of(st.none(), st.integers(0, 9)),
            accept_length=number,
            gen_throughput=number,
            passes_total=number,
            decode_tokens_total=number,
            verify_seconds_total=number,
            decode_moments=st.one_of(st.none(), st.lists(st.floats(0, 1e9), max_size=7).map(tuple)),
            truncated=st.booleans(),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_readings_give_rates(sequence: list[Reading]) -> None:
    meter = RateMeter()
    for reading in sequence:
        sane(meter.add(reading))
    sane(over(busy_span(sequence) or sequence[-1:]))


def test_counters_that_hardly_moved_give_no_rate() -> None:
    """A page may say anything: what can't be divided by is not a divisor."""
    tiny = 2.0**-1070
    before = Reading(at=0.0, running=1.0, passes_total=0.0, verify_seconds_total=0.0)
    after = replace(before, at=1.0, passes_total=tiny, verify_seconds_total=1e9)
    for running in (0.0, 1.0, 4.0):
        sane(rates(replace(before, running=running), replace(after, running=running)))
    moments = replace(before, decode_moments=(0.0,) * 6)
    moved = replace(after, decode_moments=(tiny, tiny, tiny, 1e9, 1e9, 1e9))
    sane(rates(moments, moved))


def sane(found: Rates) -> None:
    """Every number is one a person can read: none negative, none without an end."""
    for name in ("seconds", *SPEEDS):
        value = getattr(found, name)
        assert value is None or 0.0 <= value < float("inf"), name
