"""One scrape of 4,700 samples to numbers, against prometheus_client in the same run.

Run alone with `python -m tests.benchmarks.bench_metrics`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from eagletui.engine.metrics import MetricsReader

TENSOR_RANKS = 4
SAMPLES = 4700
_SCHEDULER_GAUGES = (
    "num_running_reqs",
    "num_queue_reqs",
    "num_grammar_queue_reqs",
    "gen_throughput",
    "cache_hit_rate",
    "token_usage",
    "full_token_usage",
    "swa_token_usage",
    "num_used_tokens",
    "spec_accept_length",
    "spec_accept_rate",
    "spec_num_steps",
    "spec_num_draft_tokens",
    "num_retracted_reqs",
    "utilization",
    "new_token_ratio",
)
_COUNTERS = {
    "cuda_graph_passes_total": ("mode", ("decode_cuda_graph", "decode_none", "prefill_none")),
    "realtime_tokens_total": ("mode", ("decode", "prefill_compute", "prefill_cache")),
    "forward_execution_seconds_total": (
        "category",
        ("target_verify", "eagle_draft", "eagle_draft_extend", "extend"),
    ),
}
_TOKENIZER = (
    "time_to_first_token_seconds",
    "inter_token_latency_seconds",
    "e2e_request_latency_seconds",
)
_MODEL = "meta-llama/Llama-3.3-70B-Instruct"


def page(seed: int = 0, samples: int = SAMPLES) -> bytes:
    """A page in the shape of SGLang 0.5.23 with four tensor ranks: about 860 kB."""
    random_ = random.Random(seed)
    lines: list[str] = []
    count = 0

    def family(name: str, kind: str) -> None:
        lines.append(
            f"# HELP sglang:{name} The {name.replace('_', ' ')} of the server, as it says."
        )
        lines.append(f"# TYPE sglang:{name} {kind}")

    def sample(name: str, labels: dict[str, str], value: float) -> None:
        nonlocal count
        count += 1
        text = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
        lines.append(f"sglang:{name}{{{text}}} {value!r}")

    def rank(index: int) -> dict[str, str]:
        return {
            "engine_type": "unified",
            "model_name": _MODEL,
            "moe_ep_rank": str(index),
            "pp_rank": "0",
            "tp_rank": str(index),
        }

    def histogram(name: str, labels: dict[str, str], buckets: int) -> None:
        total = 0.0
        for bucket in range(buckets):
            total += random_.randrange(50)
            bound = "+Inf" if bucket == buckets - 1 else repr(0.002 * 1.4**bucket)
            sample(f"{name}_bucket", {**labels, "le": bound}, total)
        sample(f"{name}_sum", labels, random_.random() * 1e4)
        sample(f"{name}_count", labels, total)

    for name in _SCHEDULER_GAUGES:
        family(name, "gauge")
        for index in range(TENSOR_RANKS):
            sample(name, rank(index), random_.random() * 1000)
    for name, (label, values) in _COUNTERS.items():
        family(name, "counter")
        for index in range(TENSOR_RANKS):
            for value in values:
                sample(name, {**rank(index), label: value}, random_.random() * 1e7)
    for name in _TOKENIZER:
        family(name, "histogram")
        for streaming in ("true", "false"):
            labels = {"engine_type": "unified", "model_name": _MODEL, "is_streaming": streaming}
            histogram(name, labels, 31)
    stage = 0
    while count < samples:
        name = f"per_stage_{stage}_latency_seconds"
        family(name, "histogram")
        for index in range(TENSOR_RANKS):
            histogram(name, {**rank(index), "stage": f"stage_{stage}"}, 31)
        stage += 1
    return "\n".join(lines).encode() + b"\n"


def rows() -> list[dict[str, str]]:
    """Rows of the table of benchmarks."""
    from prometheus_client.parser import text_string_to_metric_families

    pages = [page(seed) for seed in range(4)]
    reader = MetricsReader()
    first = reader.read(pages[0], at=0.0)
    ours = _best([lambda body=body: reader.read(body, at=0.0) for body in pages], rounds=10)  # type: ignore[misc]
    text = pages[0].decode()

    def reference() -> None:
        for family in text_string_to_metric_families(text):
            for _ in family.samples:
                pass

    theirs = _best([reference], rounds=3)
    cold = _best([lambda: MetricsReader().read(pages[0], at=0.0)], rounds=3)
    speed = f"{theirs / ours:.0f}× faster; first scrape {cold * 1e3:.0f} ms"
    size = f"{first.samples} samples ({len(pages[0]) / 1e3:.0f} kB)"
    return [
        {
            "what": f"one scrape, {size}, to numbers",
            "measured": f"{ours * 1e3:.2f} ms ({speed})",
            "reference": f"prometheus_client.parser {theirs * 1e3:.0f} ms",
            "reach": "< 3 ms and 50× faster",
        }
    ]


def _best(calls: list[Callable[[], object]], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        for call in calls:
            begun = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - begun)
    return best


if __name__ == "__main__":
    for row in rows():
        print(row)
