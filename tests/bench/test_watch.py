"""What makes a cell not worth trusting: each rule just below and just above its threshold."""

from __future__ import annotations

from typing import Any

import pytest

from eagletui.bench.load import Reply
from eagletui.bench.watch import Verdict, Watch
from eagletui.model.readings import Reading
from eagletui.model.run import Sent, StepTimes
from eagletui.model.server import Gpu


def reading(at: float, **values: Any) -> Reading:
    return Reading(at=at, **{"generation_tokens_total": 100.0, "running": 0.0, **values})


def reply(index: int = 0, tokens: int = 100, **how: Any) -> Reply:
    tail, cached = how.pop("tail", None), how.pop("cached", None)
    counted = how.pop("counted", True)
    sent = Sent(**{"began": 0.0, "ttft": 0.1, "latency": 1.0, "output_tokens": tokens, **how})
    return Reply(index=index, sent=sent, tail_bigrams=tail, cached_tokens=cached, counted=counted)


def verdict(watch: Watch, *readings: Reading) -> Verdict | None:
    found = [watch.saw(item) for item in readings]
    assert all(item is None for item in found[:-1]), found
    return found[-1]


def test_a_counter_that_falls_is_a_restart() -> None:
    watch = Watch(4)
    found = verdict(watch, reading(0.0), reading(1.0, generation_tokens_total=99.0))
    assert found is not None
    assert found.stopped == "restarted"


def test_more_requests_than_ours_are_others() -> None:
    watch = Watch(4)
    readings = [reading(0.0), reading(1.0, running=4.0), reading(2.0, running=5.0)]
    assert verdict(watch, *readings) is None
    found = watch.saw(reading(3.0, running=3.0, queued=2.0))
    assert found == Verdict(
        "other-traffic", "The server has 5 requests, and 4 at the most are ours."
    )


def test_one_reading_with_more_is_not_enough() -> None:
    readings = [reading(float(at), running=(5.0 if at % 2 else 4.0)) for at in range(9)]
    assert verdict(Watch(4), *readings) is None


def test_a_gauge_of_the_cell_before_is_no_traffic() -> None:
    """It is set every 40th step: after a cell of 32 it says 32 for a while."""
    watch = Watch(1)
    assert verdict(watch, *(reading(float(at), running=32.0) for at in range(10))) is None
    watch.saw(reading(10.0, running=32.0))
    found = watch.saw(reading(11.0, running=32.0))
    assert found is not None
    assert found.stopped == "other-traffic"


@pytest.mark.parametrize(
    ("values", "full"),
    [
        ({"token_usage": 0.98}, False),
        ({"token_usage": 0.99}, True),
        ({"retracted": 0.0}, False),
        ({"retracted": 2.0, "token_usage": 0.7}, True),
    ],
)
def test_the_kv_cache_is_full(values: dict[str, float], full: bool) -> None:
    found = verdict(Watch(4), reading(0.0), reading(1.0, **values), reading(2.0, **values))
    assert (found is not None and found.stopped == "kv-full") == full
    if "retracted" in values and full:
        assert found is not None
        assert found.why == (
            "The KV cache ran full: 70% of it is used, 2 requests were taken back."
        )


def gpu(index: int = 0, **values: Any) -> Gpu:
    return Gpu(index=index, **{"power": 300.0, **values})


def test_heat_ends_a_cell_and_a_power_cap_is_only_said() -> None:
    watch = Watch(1, gpus=(1,))
    assert [watch.saw_gpus([gpu(0, throttled="thermal (hardware)")]) for _ in range(5)] == [
        None
    ] * 5
    hot = [gpu(1, throttled="thermal (hardware), power cap", temperature=91.0)]
    assert watch.saw_gpus(hot) is None
    assert watch.saw_gpus(hot) is None
    assert watch.saw_gpus(hot) == Verdict(
        "throttled", "GPU 1 slows down: thermal (hardware), power cap at 91 °C."
    )
    capped = Watch(1)
    assert [capped.saw_gpus([gpu(throttled="power cap")]) for _ in range(9)] == [None] * 9
    assert capped.warnings() == ("A GPU ran at its power cap in 9 readings.",)


def test_power_is_the_mean_of_all_gpus_of_the_server() -> None:
    watch = Watch(1, gpus=(0, 1))
    watch.saw_gpus([gpu(0, power=100.0), gpu(1, power=200.0), gpu(2, power=999.0)])
    watch.saw_gpus([gpu(0, power=300.0), gpu(1, power=200.0)])
    watch.saw_gpus([gpu(0, power=None), gpu(1, power=200.0)])
    assert watch.power_watts == 400.0
    assert Watch(1).power_watts is None


def test_outputs_that_loop_end_a_cell_when_they_are_more_than_a_quarter() -> None:
    watch = Watch(1)
    for number in range(9):
        assert watch.heard(reply(number, tail=0.2)) is None
    for number in range(9, 12):
        assert watch.heard(reply(number, tail=0.19)) is None
    found = watch.heard(reply(12, tail=0.02))
    assert found is not None
    assert found.stopped == "looped"
    assert found.why.startswith(
        "4 of 13 outputs loop: at their end 0.02 to 0.19 of the pairs of words are distinct"
    )


def test_two_that_loop_are_only_said() -> None:
    watch = Watch(1)
    assert watch.heard(reply(0, tail=0.0)) is None
    assert watch.heard(reply(1, tail=0.0)) is None
    (said,) = watch.warnings()
    assert said.startswith("2 of 2 outputs loop")


def test_a_server_that_is_gone_ends_it_and_one_that_fails_now_and_then_does_not() -> None:
    watch = Watch(4)
    gone = reply(error="no connection: Connection refused")
    assert [watch.heard(gone) for _ in range(3)] == [None] * 3
    watch.heard(reply())
    assert [watch.heard(gone) for _ in range(3)] == [None] * 3
    found = watch.heard(gone)
    assert found is not None
    assert found.stopped == "failed"
    other = Watch(1)
    assert [other.heard(reply(error="HTTP 500: x")) for _ in range(20)] == [None] * 20
    assert other.warnings(failed=20, reasons=["HTTP 500: x"] * 20) == (
        "20 requests failed: HTTP 500: x",
    )


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        (10_000, ""),
        (10_100, ""),
        (10_101, "Other traffic: the server counted 10101 generated tokens, our requests hold"),
        (9_900, ""),
        (9_899, "Tokens differ: the server counted 9899"),
    ],
)
def test_the_servers_count_beside_ours(counted: int, words: str) -> None:
    watch = Watch(1)
    watch.saw(reading(0.0))
    for number in range(100):
        watch.heard(reply(number))
    watch.saw(reading(1.0, generation_tokens_total=100.0 + counted))
    assert watch.server_tokens == counted
    said = watch.warnings()
    assert [line.startswith(words) for line in said] == ([True] if words else [])


def test_without_counters_nothing_is_claimed() -> None:
    watch = Watch(1)
    watch.heard(reply())
    assert (watch.server_tokens, watch.accept_length, watch.warnings()) == (None, None, ())
    assert watch.steps == StepTimes()


def test_a_warm_cache_and_uncounted_chunks_are_said() -> None:
    watch = Watch(1)
    watch.heard(reply(prompt_tokens=10, cached=5))
    assert watch.warnings() == ()
    watch.heard(reply(prompt_tokens=10, cached=6, counted=False))
    said = watch.warnings()
    assert said[0].startswith("The server does not count tokens while it streams")
    assert said[1].startswith("11 of 20 prompt tokens came from the prefix cache")


def test_a_counted_accept_length_leaves_out_what_no_step_verified() -> None:
    """4 requests of 33 tokens in 8 steps each: 32 of 33 were verified, k + 1 = 4 at a time."""
    watch = Watch(4)
    watch.saw(reading(0.0, verify_calls_total=7.0))
    for number in range(4):
        watch.heard(reply(number, tokens=33))
    watch.heard(reply(4, tokens=0, error="HTTP 500: x"))
    watch.saw(reading(1.0, generation_tokens_total=100.0 + 4 * 33, verify_calls_total=7.0 + 4 * 8))
    assert watch.accept_length == pytest.approx(4.0)


def test_steps_and_accept_length_are_of_the_window() -> None:
    """Counters before it count for nothing."""
    watch = Watch(1)
    common = {"num_steps": 3, "num_draft_tokens": 4, "accept_length": 9.9, "running": 1.0}
    for at in range(4):
        watch.saw(
            reading(
                10.0 + at,
                passes_total=1000.0 + 100 * at,
                verify_calls_total=500.0 + 100 * at,
                generation_tokens_total=7.0 + 250 * at,
                verify_seconds_total=5.0 + 0.6 * at,
                draft_seconds_total=1.0 + 0.2 * at,
                decode_tokens_total=9.0 + 250 * at,
                **common,
            )
        )
    assert watch.accept_length == pytest.approx(2.5)
    assert watch.steps.source == "device timer"
    assert watch.steps.verify == pytest.approx(6.0)
    assert watch.steps.draft == pytest.approx(2.0)
    assert watch.steps.draft_extend is None
