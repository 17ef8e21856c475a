"""A run as JSON lines with the field names of SGLang's `bench_serving`, one line a cell.

What SGLang writes and a benchmark over HTTP cannot know (retokenised counts) is left out; what only
we know has names of its own. Fields as of 0.5.23.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from eagletui.bench.figures import figures
from eagletui.model.run import Cell, Run
from eagletui.model.statistics import distribution

BACKENDS = {
    "/generate": "sglang",
    "/v1/completions": "sglang-oai",
    "/v1/chat/completions": "sglang-oai-chat",
}


def rows(run: Run) -> Iterator[dict[str, Any]]:
    """One dictionary a cell."""
    for cell in run.cells:
        yield row(run, cell)


def row(run: Run, cell: Cell) -> dict[str, Any]:
    """A cell as `bench_serving` would have written it."""
    workload, found = run.workload, figures(cell)
    served = [sent for sent in cell.requests if not sent.error]
    seconds = cell.seconds or float("nan")
    latencies = [1e3 * s.latency for s in served if s.latency is not None]
    return {
        "tag": run.name or run.id,
        "backend": BACKENDS.get(workload.endpoint, ""),
        "dataset_name": workload.prompts,
        "request_rate": workload.rate if workload.rate is not None else "inf",
        "max_concurrency": cell.concurrency,
        "server_info": run.surroundings.arguments,
        "duration": cell.seconds,
        "completed": found.served,
        "total_input_tokens": found.prompt_tokens,
        "total_output_tokens": found.output_tokens,
        "request_throughput": found.served / seconds,
        "input_throughput": found.prompt_tokens / seconds,
        "output_throughput": found.output_tokens / seconds,
        "total_throughput": (found.prompt_tokens + found.output_tokens) / seconds,
        **_latency("e2e_latency", latencies),
        **_latency("ttft", [1e3 * s.ttft for s in served if s.ttft is not None]),
        **_latency("tpot", [1e3 * s.tpot for s in served if s.tpot is not None]),
        **_itl(cell),
        "concurrency": sum(latencies) / 1e3 / seconds,
        "accept_length": found.accept_length,
        # Ours.
        "repeat": cell.repeat,
        "failed": found.failed,
        "accept_histogram": list(found.accepted),
        "verify_steps": found.verify_steps,
        "verify_ms": cell.steps.verify,
        "draft_ms": cell.steps.draft,
        "draft_extend_ms": cell.steps.draft_extend,
        "step_ms": cell.steps.step,
        "step_source": cell.steps.source,
        "server_output_tokens": cell.server_tokens,
        "distinct_bigrams": found.distinct_bigrams,
        "power_watts": cell.power_watts,
        "joules_per_token": found.joules,
        "stopped": cell.stopped,
        "why": cell.why,
        "warnings": list(cell.warnings),
        "prompts_digest": workload.digest,
    }


def _latency(name: str, values: Sequence[float]) -> dict[str, float | None]:
    found = distribution(values)
    return {
        f"mean_{name}_ms": found.mean if found else None,
        f"median_{name}_ms": found.p50 if found else None,
        f"std_{name}_ms": statistics.pstdev(values) if values else None,
        f"p90_{name}_ms": found.p90 if found else None,
        f"p99_{name}_ms": found.p99 if found else None,
    }


def _itl(cell: Cell) -> dict[str, float | None]:
    found = cell.itl_ms
    return {
        "mean_itl_ms": found.mean if found else None,
        "median_itl_ms": found.p50 if found else None,
        "p90_itl_ms": found.p90 if found else None,
        "p99_itl_ms": found.p99 if found else None,
    }
