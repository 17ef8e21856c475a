"""The page's lines are lines of the recorded pages, and its numbers are the scheduler's."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from eagletui.simulator.families import FAMILIES, Source
from eagletui.simulator.flags import parse_flags
from eagletui.simulator.metricspage import render
from eagletui.simulator.releases import RELEASES
from eagletui.simulator.scenarios import SCENARIOS
from eagletui.simulator.serving import Serving
from eagletui.simulator.traffic import steady
from tests.simulator.recorded import text

STARTUP = {
    "load_weight": 1.5,
    "kv_cache_allocation": 0.5,
    "scheduler_e2e": 4.0,
    "tokenizer_e2e": 9.0,
    **{
        f"graph {phase}": 0.0
        for phase in ("prefill", "decode", "target_verify", "draft_decode", "draft_extend")
    },
}


def page(
    version: str,
    model: str,
    *,
    tp: int = 1,
    steps: int = 5,
    device: str = "cuda",
    seconds: float = 60,
) -> tuple[str, Serving]:
    """The metrics of a server after a while."""
    release = RELEASES[version]
    plan = replace(SCENARIOS["h200-dense"].servers[0], model=model, steps=steps, flags=())
    flags = parse_flags(
        [*plan.arguments(release), "--tp-size", str(tp), "--device", device], release
    )
    environment = plan.environment if device == "cuda" else {}
    serving = Serving(
        plan.machine,
        flags,
        release,
        steady(2),
        environment,
        lambda *_: None,
        began=0.0,
        capacity=500_000,
    )
    serving.advance(seconds)
    source = Source(serving, 49.0, 13.0, 67.0, 0.1, 32768, STARTUP)
    return render(source), serving


def samples(body: str) -> dict[str, float]:
    """Plain parsing: `name{labels}` → value."""
    found: dict[str, float] = {}
    for line in body.splitlines():
        if not line.startswith("#"):
            key, _, value = line.rpartition(" ")
            assert key not in found, f"{key} is there twice"
            found[key] = float(value)
    return found


def family(name: str) -> str:
    return re.sub(r"_(bucket|sum|count)$", "", name.partition("{")[0])


@pytest.mark.parametrize(
    ("version", "recording", "model", "tp", "steps", "device"),
    [
        ("0.5.16", "h200-0.5.16-eagle3-k5.prom", "/models/dense", 1, 5, "cuda"),
        ("0.5.23", "cpu-0.5.23-eagle.prom", "models/tiny-llama", 1, 3, "cpu"),
        ("0.5.23", "cpu-0.5.23-tp2.prom", "models/tiny-llama", 2, 0, "cpu"),
    ],
)
def test_every_line_has_the_recorded_form(
    version: str, recording: str, model: str, tp: int, steps: int, device: str
) -> None:
    body, _ = page(version, model, tp=tp, steps=steps, device=device)
    recorded = text(recording)
    heads = {line for line in recorded.splitlines() if line.startswith("#")}
    ours = [line for line in body.splitlines() if line.startswith("#")]
    assert len(ours) > 60
    assert [line for line in ours if line not in heads] == []
    assert sorted(set(samples(body)) - set(samples(recorded))) == []
    # Of the families we write, not one recorded series of a rank is missing.
    known = {family(key) for key in samples(body)}
    missing = {key for key in samples(recorded) if family(key) in known} - set(samples(body))
    allowed = ('is_streaming="true"', "queue_time", 'phase="draft_prefill"')
    assert sorted(key for key in missing if not any(part in key for part in allowed)) == []


def test_values_are_written_as_recorded() -> None:
    for line in text("h200-0.5.16-eagle3-k5.prom").splitlines():
        if line and not line.startswith("#"):
            value = line.rpartition(" ")[2]
            assert value == ("NaN" if value == "NaN" else repr(float(value)))
    body, _ = page("0.5.16", "m")
    assert all(
        re.fullmatch(r"\S+\{\S*\} (NaN|-?\d+\.\d+(e[+-]\d+)?|-?\d+e[+-]\d+)", line)
        for line in body.splitlines()
        if not line.startswith("#")
    )


def test_numbers_are_the_schedulers() -> None:
    body, serving = page("0.5.16", "m", tp=8)
    found, counters = samples(body), serving.counters
    ranks = 'engine_type="unified",{}model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="{}"'

    def read(name: str, label: str = "", rank: int = 0) -> float:
        before = f"{label}," if label > "engine_type" else ""
        first = f"{label}," if label and label < "engine_type" else ""
        return found[f"sglang:{name}{{{first}{ranks.format(before, rank)}}}"]

    passes = read("cuda_graph_passes_total", 'mode="decode_cuda_graph"')
    assert passes == counters.steps > 1000
    assert {read("cuda_graph_passes_total", 'mode="decode_cuda_graph"', r) for r in range(8)} == {
        passes
    }
    decoded = read("realtime_tokens_total", 'mode="decode"')
    accepted = sum(index * count for index, count in counters.accepted_histogram.items())
    assert decoded == accepted + counters.verifies
    verify = read("forward_execution_seconds_total", 'category="target_verify"', 7)
    assert 1000 * verify / passes == pytest.approx(5.4, rel=0.02)
    assert (
        found['sglang:inter_token_latency_seconds_count{engine_type="unified",model_name="m"}']
        == decoded
    )
    buckets = [
        value
        for key, value in found.items()
        if key.startswith("sglang:time_to_first_token_seconds_b")
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == counters.ttft.total
    assert read("spec_accept_length") == counters.gauges.accept_length
    assert sum(key.startswith("sglang:num_running_reqs") for key in found) == 1


@pytest.mark.parametrize("version", RELEASES)
def test_each_release_has_its_own_families(version: str) -> None:
    body, _ = page(version, "m", seconds=20)
    names = {family(key).removeprefix("sglang:") for key in samples(body)}
    number = RELEASES[version].number
    assert {"spec_accept_length", "gen_throughput", "num_running_reqs"} <= names
    assert ("spec_accept_rate" in names) == (number >= (0, 5, 5))
    assert ("cuda_graph_passes_total" in names) == (number >= (0, 5, 7))
    assert ("forward_execution_seconds_total" in names) == (number >= (0, 5, 11))
    assert ("gpu_execution_seconds_total" in names) == ((0, 5, 7) <= number <= (0, 5, 10))
    assert ("spec_num_steps" in names) == (number >= (0, 5, 13))
    assert ('is_streaming="false"' in body) == (number >= (0, 5, 18))
    assert ('tp_rank="0"' in body) == (number >= (0, 4, 10))


def test_the_table_has_no_row_twice() -> None:
    rows = [(row.name, row.since, row.scope) for row in FAMILIES]
    assert len(rows) == len(set(rows))
