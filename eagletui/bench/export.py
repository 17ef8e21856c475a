"""A run as JSON lines with the field names of SGLang's `bench_serving`, one line a cell.

The figures are `model.figures`'s, as everywhere. What SGLang writes and a benchmark over HTTP
cannot know (retokenised counts) is left out; what only we know has names of its own. Fields as of
0.5.23.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from eagletui.model.figures import cell_figures
from eagletui.model.run import Cell, Run, Sent

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
    workload, found = run.workload, cell_figures(run, cell)
    served = [sent for sent in cell.requests if not sent.error]
    seconds = cell.seconds or float("nan")
    busy = sum(sent.latency or 0.0 for sent in served)
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
        "output_throughput": found.tok_s or 0.0,
        "total_throughput": (found.prompt_tokens + found.output_tokens) / seconds,
        **_latency("e2e_latency", found.latency_ms, served, lambda sent: sent.latency),
        **_latency("ttft", found.ttft_ms, served, lambda sent: sent.ttft),
        **_latency("tpot", found.tpot_ms, served, lambda sent: sent.tpot),
        **_latency("itl", found.itl_ms),
        "concurrency": busy / seconds,
        "accept_length": found.accept_length,
        # Ours.
        "repeat": cell.repeat,
        "failed": found.failed,
        "accept_histogram": list(found.accepted),
        "verify_steps": found.verify_steps,
        "verify_ms": found.verify_ms,
        "draft_ms": found.draft_ms,
        "draft_extend_ms": found.draft_extend_ms,
        "step_ms": found.step_ms,
        "step_source": found.source,
        "server_output_tokens": found.server_tokens,
        "distinct_bigrams": found.distinct_bigrams,
        "power_watts": found.power_watts,
        "joules_per_token": found.joules_per_token,
        "stopped": cell.stopped,
        "why": cell.why,
        "warnings": list(cell.warnings),
        "prompts_digest": workload.digest,
    }


def _latency(
    name: str,
    found: Mapping[str, float | None],
    served: Sequence[Sent] = (),
    read: Callable[[Sent], float | None] = lambda _: None,
) -> dict[str, float | None]:
    seconds = [value for sent in served if (value := read(sent)) is not None]
    spread = {f"std_{name}_ms": 1e3 * statistics.pstdev(seconds)} if seconds else {}
    return {
        f"mean_{name}_ms": found["mean"],
        f"median_{name}_ms": found["p50"],
        **spread,
        f"p90_{name}_ms": found["p90"],
        f"p99_{name}_ms": found["p99"],
    }
