"""The figures of the story and of the H200 recordings come out of the simulated scheduler."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from eagletui.simulator.flags import parse_flags
from eagletui.simulator.model import expected_accept_length, step_cost
from eagletui.simulator.releases import RELEASES
from eagletui.simulator.scenarios import DENSE, KIMI, SCENARIOS
from eagletui.simulator.serving import Serving
from eagletui.simulator.traffic import Traffic, steady

FAST_NCCL = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS"}
RELEASE = RELEASES["0.5.16"]


def serve(
    scenario: str,
    steps: int,
    seconds: float,
    environment: dict[str, str] | None = None,
    traffic: Traffic | None = None,
    extra: tuple[str, ...] = (),
) -> tuple[Serving, list[str]]:
    """A server that served so long, and its log messages."""
    plan = replace(SCENARIOS[scenario].servers[0], steps=steps)
    lines: list[str] = []
    serving = Serving(
        plan.machine,
        parse_flags([*plan.arguments(RELEASE), *extra], RELEASE),
        RELEASE,
        traffic or steady(1),
        {**plan.environment, **(environment or {})},
        lambda _, line: lines.append(line),
        began=1000.0,
        capacity=plan.loading.kv_tokens,
        seed=3,
    )
    serving.advance(1000.0 + seconds)
    return serving, lines


def tok_s(serving: Serving) -> float:
    """Tokens per second of decoding."""
    return serving.counters.decode_tokens / serving.counters.step_seconds


def verify_ms(serving: Serving) -> float:
    """The device timer's verify a step."""
    return 1000 * serving.counters.verify_seconds / serving.counters.steps


@pytest.mark.parametrize(
    ("steps", "environment", "expected"),
    [(0, {}, 90.0), (5, {}, 71.3), (2, FAST_NCCL, 94.0)],
)
def test_throughput(steps: int, environment: dict[str, str], expected: float) -> None:
    serving, _ = serve("kimi-k2.5", steps, 300.0, environment)
    assert tok_s(serving) == pytest.approx(expected, rel=0.03)


def test_the_screen_sees_the_story() -> None:
    """Prefill and idle included, the decode lines still say 71.3."""
    _, lines = serve("kimi-k2.5", 5, 300.0)
    figures = [
        float(line.split("gen throughput (token/s): ")[1].split(",")[0])
        for line in lines
        if line.startswith("Decode")
    ]
    assert sum(figures) / len(figures) == pytest.approx(71.3, rel=0.03)


def test_verify_is_nearly_the_whole_cycle_and_accept_length_is_2_1() -> None:
    serving, _ = serve("kimi-k2.5", 5, 300.0)
    counters = serving.counters
    assert counters.verify_seconds / counters.gpu_seconds == pytest.approx(0.95, abs=0.01)
    assert counters.decode_tokens / counters.verifies == pytest.approx(2.1, rel=0.02)
    assert 21 <= verify_ms(serving) <= 28
    assert expected_accept_length(KIMI, 5) == pytest.approx(2.1)


@pytest.mark.parametrize("steps", [2, 5])
def test_nccl_takes_27_percent_off_verify(steps: int) -> None:
    before, _ = serve("kimi-k2.5", steps, 120.0)
    after, _ = serve("kimi-k2.5", steps, 120.0, FAST_NCCL)
    assert verify_ms(after) / verify_ms(before) == pytest.approx(0.73, abs=0.005)


def test_only_the_named_values_help() -> None:
    slow = step_cost(KIMI, 5, 6)
    assert step_cost(KIMI, 5, 6, environment={"NCCL_PROTO": "Simple"}) == slow
    assert step_cost(KIMI, 5, 6, environment={"NCCL_PROTO": "LL"}).verify < slow.verify


@pytest.mark.parametrize(
    ("steps", "wall", "accept_length"),
    [(0, 4.65, 1.0), (1, 5.88, 1.59), (2, 6.13, 1.95), (3, 6.31, 2.17), (5, 6.76, 2.33)],
)
def test_the_h200_as_recorded(steps: int, wall: float, accept_length: float) -> None:
    cost = step_cost(DENSE, steps, steps + 1)
    assert cost.total == pytest.approx(wall, rel=0.03)
    assert expected_accept_length(DENSE, steps) == pytest.approx(accept_length, rel=0.015)


def test_counters_agree_with_each_other() -> None:
    serving, _ = serve("kimi-k2.5", 5, 200.0, traffic=SCENARIOS["kimi-k2.5"].servers[0].traffic)
    counters = serving.counters
    assert sum(counters.accepted_histogram.values()) == counters.verifies
    accepted = sum(index * count for index, count in counters.accepted_histogram.items())
    assert counters.decode_tokens == accepted + counters.verifies
    assert counters.itl.total == counters.decode_tokens
    begun = counters.requests + len(serving.running)
    assert counters.ttft.total == counters.queue_time.total == begun
    unfinished = sum(request.generated for request in serving.running)
    assert counters.generation_tokens + unfinished == counters.decode_tokens + begun
    assert counters.e2e.total == counters.requests > 10
    steps, batches, *_, produced = counters.moments
    assert counters.steps - counters.prefills - 20 < steps < counters.steps
    assert produced / batches == pytest.approx(counters.decode_tokens / counters.verifies, rel=0.02)


def test_users_stay_away_while_a_guest_is_served() -> None:
    serving, _ = serve("kimi-k2.5", 5, 50.0, traffic=steady(4))
    assert len(serving.running) + len(serving.waiting) == 4
    asked = serving.submit(10, 400)
    with serving.guest(asked):
        serving.advance(serving.clock + 2.0)
        assert serving.running == [asked]
        assert serving.waiting == []
        while asked.finished is None:
            serving.advance(serving.clock + 0.5)
        assert asked.generated == 400
    serving.advance(serving.clock + 5.0)
    assert serving.running == []
    serving.advance(serving.clock + 10.0)
    assert len(serving.running) == 4


def test_a_guest_who_hangs_up_is_served_no_longer() -> None:
    serving, _ = serve("kimi-k2.5", 5, 50.0, traffic=steady(0))
    asked = serving.submit(10, 100_000)
    with serving.guest(asked):
        serving.advance(serving.clock + 2.0)
        assert asked.finished is None
    serving.advance(serving.clock + 1.0)
    assert asked.finished is not None
    assert serving.running == []


def test_traffic_rises_and_rests() -> None:
    serving, lines = serve("kimi-k2.5", 5, 200.0, traffic=SCENARIOS["kimi-k2.5"].servers[0].traffic)
    running = {line.split("#running-req: ")[1].split(",")[0] for line in lines if "Decode" in line}
    assert {"1", "4", "8"} <= running
    assert serving.active < 190


def test_adaptive_changes_k_with_the_load() -> None:
    serving, lines = serve("adaptive", 5, 150.0, traffic=SCENARIOS["adaptive"].servers[0].traffic)
    switches = [line for line in lines if line.startswith("Switch adaptive")]
    assert switches[:2] == [
        "Switch adaptive runtime state: steps 5 -> 3, draft_tokens 6 -> 4",
        "Switch adaptive runtime state: steps 3 -> 5, draft_tokens 4 -> 6",
    ]
    assert any("steps 5 -> 1, draft_tokens 6 -> 2" in line for line in switches)
    assert serving.draft_tokens == serving.steps + 1


def test_a_useless_draft_accepts_nearly_nothing() -> None:
    serving, _ = serve("useless-draft", 3, 30.0)
    assert serving.counters.gauges.accept_length < 1.1


def test_without_graphs_it_is_slow() -> None:
    fast, _ = serve("h200-dense", 3, 10.0)
    slow, lines = serve("h200-dense", 3, 10.0, extra=("--disable-cuda-graph",))
    assert tok_s(slow) < tok_s(fast) / 2
    assert "cuda graph: False" in next(line for line in lines if "Decode" in line)


def test_draining_lets_no_one_in() -> None:
    serving, _ = serve("kimi-k2.5", 5, 5.0)
    serving.draining = True
    serving.advance(1060.0)
    assert (serving.running, serving.waiting) == ([], [])
    done = serving.counters.requests
    serving.advance(1080.0)
    assert serving.counters.requests == done


def test_abort_all() -> None:
    serving, _ = serve("kimi-k2.5", 5, 5.0)
    assert serving.abort_all() == 1
    assert serving.counters.aborted == 1


def test_the_same_seed_serves_the_same() -> None:
    assert serve("kimi-k2.5", 5, 20.0)[1] == serve("kimi-k2.5", 5, 20.0)[1]
