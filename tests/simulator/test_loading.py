"""The script of a load, for every release: order, counts, lengths, and what goes wrong."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from eagletui.simulator.flags import Flags, parse_flags
from eagletui.simulator.loading import (
    Act,
    Crash,
    Line,
    Loader,
    Memory,
    Raw,
    Stall,
    Wait,
    Workers,
    capture_sizes,
)
from eagletui.simulator.releases import RELEASES, parse_version
from eagletui.simulator.scenarios import SCENARIOS, ServerPlan


def plan_of(scenario: str = "kimi-k2.5", **changes: object) -> ServerPlan:
    return replace(SCENARIOS[scenario].servers[0], **changes)


def script(version: str, plan: ServerPlan, speed: float = 30.0) -> tuple[list[Act], Loader]:
    """All of a load, as if nothing took time."""
    release = RELEASES[version]
    loader = Loader(
        plan, parse_flags(plan.arguments(release), release), release, gpu_gb=95.6, speed=speed
    )
    acts: list[Act] = []
    for act in loader.script():
        acts.append(act)
        if isinstance(act, (Crash, Stall)):
            break
    return acts, loader


def messages(acts: list[Act], rank: str = "TP0") -> list[str]:
    return [act.message for act in acts if isinstance(act, Line) and act.rank == rank]


def written(acts: list[Act]) -> str:
    return "".join(act.text for act in acts if isinstance(act, Raw))


def first(lines: list[str], part: str) -> int:
    return next(number for number, line in enumerate(lines) if part in line)


def test_the_default_takes_a_quarter_of_an_hour() -> None:
    acts, _ = script("0.5.16", plan_of())
    waited = sum(act.seconds for act in acts if isinstance(act, Wait))
    loading = plan_of().loading
    assert waited == pytest.approx(loading.seconds - loading.warm_up, rel=0.02)
    assert loading.seconds == pytest.approx(900, abs=15)


@pytest.mark.parametrize("version", RELEASES)
def test_the_order_of_each_release(version: str) -> None:
    acts, _ = script(version, plan_of())
    lines = messages(acts)
    begins = [n for n, line in enumerate(lines) if line.startswith("Load weight begin")]
    assert len(begins) == 2
    graphs = first(lines, "Capture ")
    # ≤0.5.13 the target captures its graphs before the draft is loaded.
    assert (graphs < begins[1]) == (parse_version(version) < (0, 5, 14))
    assert sum("KV Cache is allocated" in line for line in lines) == 2
    assert first(lines, "max_total_num_tokens=196608") > graphs
    kinds = sum(isinstance(act, Workers) for act in acts)
    assert kinds == 1
    assert len(messages(acts, "TP7")) >= len(lines) - 1


@pytest.mark.parametrize("version", RELEASES)
def test_shard_bars_of_each_release(version: str) -> None:
    acts, _ = script(version, plan_of())
    old = parse_version(version) < (0, 5, 10)
    label = "Loading safetensors checkpoint shards" if old else "Multi-thread loading shards"
    text = written(acts)
    last = re.escape(f"\r{label}: 100% Completed | 64/64 [00:16<00:00,  3.95it/s]")
    assert re.search(last + ("\n\n" if old else "\n"), text)
    assert text.count(f"\r{label}: ") == 65 + 2
    assert (f"0/64 [00:00<?, ?it/s]{chr(10) if old else chr(13)}" in text) is True


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.4.6.post5", ["Capture cuda graph begin.", "Capture draft cuda graph begin."]),
        (
            "0.5.9",
            [
                "Capture cuda graph begin.",
                "Capture draft cuda graph begin.",
                "Capture draft extend cuda graph begin.",
            ],
        ),
        (
            "0.5.23",
            [
                "Capture target verify CUDA graph begin.",
                "Capture draft decode CUDA graph begin.",
                "Capture draft extend CUDA graph begin.",
            ],
        ),
    ],
)
def test_the_graphs_of_a_release(version: str, expected: list[str]) -> None:
    lines = messages(script(version, plan_of())[0])
    begun = [line for line in lines if line.startswith("Capture") and " begin." in line]
    assert [line[: line.index(" begin.") + 7] for line in begun] == expected
    ended = [line for line in lines if line.startswith("Capture") and " end." in line]
    assert len(ended) == len(expected)


def test_one_step_needs_no_draft_graph() -> None:
    lines = messages(script("0.5.16", plan_of(steps=1))[0])
    assert not any("draft decode" in line for line in lines)
    assert any(
        "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=2" in line
        for line in lines
    )


def test_without_speculation_there_is_no_draft() -> None:
    lines = messages(script("0.5.16", plan_of(steps=0))[0])
    assert sum("Load weight begin" in line for line in lines) == 1
    assert any(line.startswith("Capture target decode CUDA graph begin.") for line in lines)


def test_elapsed_is_what_really_passes() -> None:
    lines = messages(script("0.5.16", plan_of(), speed=30.0)[0])
    assert "Load weight end. elapsed=16.20 s, type=KimiK25ForConditionalGeneration" in "\n".join(
        lines
    )


def test_memory_only_grows_and_fits() -> None:
    acts, loader = script("0.5.16", plan_of())
    used = [act.used for act in acts if isinstance(act, Memory)]
    assert used == sorted(used)
    assert 85 < used[-1] < loader.total


def test_fates() -> None:
    acts, _ = script("0.5.16", plan_of("stalled"))
    assert isinstance(acts[-1], Stall)
    assert written(acts).endswith("62% Completed | 40/64 [00:10<00:06,  3.91it/s]")
    acts, _ = script("0.5.16", plan_of("crash-oom"))
    crash = acts[-1]
    assert isinstance(crash, Crash)
    assert crash.rank == "TP7"
    assert "set --cuda-graph-max-bs-decode to a smaller value" in crash.message
    older = script("0.5.9", plan_of("crash-oom"))[0][-1]
    assert isinstance(older, Crash)
    assert "2. set --cuda-graph-max-bs to a smaller value" in older.message


def test_the_batches_that_are_captured() -> None:
    assert capture_sizes(8, 36) == (1, 2, 3, 4, 5, 6, 7, 8)
    assert capture_sizes(None, 10) == (1, 2, 3, 4, 5, 6, 7, 8, 16, 24)
    assert len(capture_sizes(None, 36)) == 36


def flags_of(version: str, *argv: str) -> Flags:
    return parse_flags(["--model-path", "m", *argv], RELEASES[version])


def test_flags_are_resolved_as_sglang_does() -> None:
    spec = ("--speculative-algorithm", "eagle3")
    assert flags_of("0.5.16", *spec).steps == 3
    assert (flags_of("0.5.3", *spec).steps, flags_of("0.5.3", *spec).draft_tokens) == (5, 8)
    odd = flags_of(
        "0.5.16",
        *spec,
        *("--speculative-num-steps", "4", "--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", "24"),
    )
    assert (odd.draft_tokens, odd.adjusted, odd.algorithm) == (5, True, "EAGLE3")
    assert flags_of("0.5.16", *spec).running_limit == 48
    assert flags_of("0.5.16", "--speculative-num-steps", "4").steps == 0
    assert flags_of("0.5.16", "--tp", "4").tp_size == 4


def test_a_plan_speaks_the_flags_of_its_release() -> None:
    dense, adaptive = plan_of("h200-dense"), plan_of("adaptive")
    assert "--cuda-graph-max-bs" in dense.arguments(RELEASES["0.5.9"])
    assert "--cuda-graph-max-bs-decode" in dense.arguments(RELEASES["0.5.16"])
    assert "--speculative-adaptive" not in adaptive.arguments(RELEASES["0.5.9"])
    assert flags_of("0.5.16", *adaptive.arguments(RELEASES["0.5.16"])).adaptive


def test_a_flag_that_is_gone_ends_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert flags_of("0.5.16", "--cuda-graph-max-bs", "8").cuda_graph_max_bs == 8
    with pytest.raises(SystemExit) as ended:
        flags_of("0.5.23", "--cuda-graph-max-bs", "8")
    assert ended.value.code == 2
    assert (
        "error: ambiguous option: --cuda-graph-max-bs could match "
        "--cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill" in capsys.readouterr().err
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("version", RELEASES)
def test_every_scenario_can_be_told_by_every_release(scenario: str, version: str) -> None:
    for plan in SCENARIOS[scenario].servers:
        acts, _ = script(version, plan)
        text = written(acts) + "\n".join(act.message for act in acts if isinstance(act, Line))
        assert not re.search(r"\{\w+[:}]", text.replace("cuda_graph={", ""))
