"""The metric families of a simulated server: one row a family, with the releases that have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from eagletui.simulator.counters import Counters, Gauges, Histo
from eagletui.simulator.releases import Version
from eagletui.simulator.serving import Serving

Kind = Literal["gauge", "counter", "histogram"]
Scope = Literal["rank 0", "all ranks", "tokenizer", "streaming"]
"""Who publishes it: a scheduler of one rank or of all, or the tokenizer process."""

Values = Mapping[tuple[tuple[str, str], ...], float]


class Source(NamedTuple):
    """Where the values come from."""

    serving: Serving
    available_gb: float
    weights_gb: float
    kv_gb: float
    graphs_gb: float
    context: int
    startup: Mapping[str, float]

    @property
    def counters(self) -> Counters:
        """Everything cumulative."""
        return self.serving.counters

    @property
    def gauges(self) -> Gauges:
        """What the server last said."""
        return self.serving.counters.gauges


Value = Callable[[Source], "float | Values | Histo | None"]
"""A number, numbers by further labels, a histogram, or None while there is nothing yet."""


class Family(NamedTuple):
    """One metric family. `since` and `until` are the first and last release that have it."""

    name: str
    kind: Kind
    help: str
    scope: Scope
    value: Value
    since: Version = (0, 0, 0)
    until: Version = (9, 9, 9)
    old_help: str = ""
    """Up to 0.5.10."""


def _label(name: str, **values: float) -> Values:
    return {((name, key),): value for key, value in values.items() if value is not None}


def _speculating(value: Callable[[Serving], float]) -> Value:
    return lambda s: value(s.serving) if s.serving.flags.speculates else 0.0


def _timer(source: Source) -> Values | None:
    serving, counters = source.serving, source.serving.counters
    if not counters.timer:
        return None
    rows = {"extend": counters.prefill_seconds}
    if serving.flags.speculates:
        if serving.flags.steps > 1 or serving.flags.adaptive:
            rows["eagle_draft"] = counters.draft_seconds
        rows["target_verify"] = counters.verify_seconds
        rows["eagle_draft_extend"] = counters.extend_seconds
    else:
        rows["decode"] = counters.decode_seconds
    return _label("category", **rows)


def _old_timer(source: Source) -> Values | None:
    counters = source.serving.counters
    if not counters.timer:
        return None
    return _label(
        "category",
        forward_extend=counters.prefill_seconds,
        forward_decode=counters.gpu_seconds,
    )


def _passes(source: Source) -> Values:
    mode = "decode_cuda_graph" if source.serving.graph else "decode_none"
    return _label("mode", **{mode: float(source.serving.counters.steps)})


def _prefill_passes(source: Source) -> Values:
    return _label("mode", prefill_none=float(source.serving.counters.prefills))


def _realtime(source: Source) -> Values:
    counters = source.serving.counters
    return _label(
        "mode",
        prefill_compute=float(counters.prefill_tokens),
        decode=float(counters.decode_tokens),
        prefill_cache=float(counters.prefill_cached),
    )


def _cached(source: Source) -> Values:
    return _label("cache_source", device=float(source.serving.counters.cached_tokens))


def _startup(source: Source) -> Values:
    phases = {k: v for k, v in source.startup.items() if not k.startswith("graph ")}
    return _label("phase", **phases)


def _graph_startup(source: Source) -> Values:
    return _label(
        "phase",
        **{
            name.removeprefix("graph "): seconds
            for name, seconds in source.startup.items()
            if name.startswith("graph ")
        },
    )


def _verify_calls(source: Source) -> float | None:
    serving = source.serving
    return float(serving.counters.finished_verifies) if serving.flags.speculates else None


def _occupancy(source: Source) -> float:
    value = source.serving.counters.gauges.occupancy
    return value if value is not None and source.serving.counters.timer else float("nan")


_NUM_TOKENS = "Maximum total number of tokens in the KV cache pool."
_ACCEPT = (
    "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward)."
)
_RATE = "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch)."
_OLD_RATE = (
    "The average acceptance rate of speculative decoding "
    "(`accepted tokens / total draft tokens` in batch)."
)
_TIMER = (
    "Total time that GPU is busy executing model forward passes. Refer to ForwardMode for "
    "category labels."
)
_REALTIME = (
    "Total number of tokens processed (updated on each log interval). mode: prefill_compute, "
    "prefill_cache, decode."
)
_WIDTH = "Currently active speculative_num_draft_tokens (decouples from steps under topk>1)."

FAMILIES: tuple[Family, ...] = (
    Family(
        "max_total_num_tokens",
        "gauge",
        _NUM_TOKENS,
        "all ranks",
        lambda s: float(s.serving.capacity),
        since=(0, 5, 6),
    ),
    Family(
        "engine_startup_time",
        "gauge",
        "The time taken for the engine to start up.",
        "rank 0",
        lambda _: 0.0,
        since=(0, 5, 3),
        until=(0, 5, 16),
    ),
    Family(
        "engine_load_weights_time",
        "gauge",
        "The time taken for the engine to load weights.",
        "rank 0",
        lambda _: 0.0,
        since=(0, 5, 3),
        until=(0, 5, 16),
    ),
    Family(
        "weight_memory_usage_gb",
        "gauge",
        "Memory used by model weights in GB.",
        "all ranks",
        lambda s: s.weights_gb,
        since=(0, 5, 18),
    ),
    Family(
        "kv_cache_memory_usage_gb",
        "gauge",
        "Memory used by the KV cache pools in GB.",
        "all ranks",
        lambda s: s.kv_gb,
        since=(0, 5, 18),
    ),
    Family(
        "page_size",
        "gauge",
        "KV cache page size in tokens.",
        "all ranks",
        lambda _: 1.0,
        since=(0, 5, 11),
    ),
    Family(
        "num_pages",
        "gauge",
        "Number of KV cache pages.",
        "all ranks",
        lambda s: float(s.serving.capacity),
        since=(0, 5, 11),
    ),
    Family(
        "context_len",
        "gauge",
        "Maximum context length.",
        "all ranks",
        lambda s: float(s.context),
        since=(0, 5, 11),
    ),
    Family(
        "startup_available_gpu_memory_gb",
        "gauge",
        "Available GPU memory in GB at startup.",
        "all ranks",
        lambda s: s.available_gb,
        since=(0, 5, 11),
    ),
    Family(
        "num_running_reqs",
        "gauge",
        "The number of running requests.",
        "rank 0",
        lambda s: float(s.gauges.running),
    ),
    Family(
        "num_queue_reqs",
        "gauge",
        "The number of requests in the waiting queue.",
        "rank 0",
        lambda s: float(s.gauges.queued),
    ),
    Family(
        "num_grammar_queue_reqs",
        "gauge",
        "The number of requests in the grammar waiting queue.",
        "rank 0",
        lambda _: 0.0,
    ),
    Family(
        "gen_throughput",
        "gauge",
        "The generation throughput (token/s).",
        "rank 0",
        lambda s: s.gauges.gen_throughput,
    ),
    Family(
        "cache_hit_rate",
        "gauge",
        "The prefix cache hit rate.",
        "rank 0",
        lambda s: s.gauges.cache_hit_rate,
    ),
    Family(
        "token_usage",
        "gauge",
        "The token usage.",
        "rank 0",
        lambda s: round(s.gauges.token_usage, 2),
    ),
    Family(
        "full_token_usage",
        "gauge",
        "The token usage for full attention layers.",
        "rank 0",
        lambda s: s.gauges.token_usage,
        since=(0, 5, 10),
    ),
    Family(
        "num_used_tokens",
        "gauge",
        "The number of used tokens.",
        "rank 0",
        lambda s: float(s.gauges.used_tokens),
    ),
    Family(
        "kv_available_tokens",
        "gauge",
        "Number of free token slots in the KV cache pool.",
        "rank 0",
        lambda s: float(s.serving.capacity - s.serving.held),
        since=(0, 5, 11),
    ),
    Family(
        "kv_evictable_tokens",
        "gauge",
        "Number of evictable (radix-cached) token slots in the KV cache pool.",
        "rank 0",
        lambda _: 0.0,
        since=(0, 5, 11),
    ),
    Family(
        "kv_used_tokens",
        "gauge",
        "Number of actively used token slots in the KV cache pool.",
        "rank 0",
        lambda s: float(s.serving.held),
        since=(0, 5, 11),
    ),
    Family(
        "spec_accept_length",
        "gauge",
        _ACCEPT,
        "rank 0",
        lambda s: s.gauges.accept_length,
        old_help="The average acceptance length of speculative decoding.",
    ),
    Family(
        "spec_accept_rate",
        "gauge",
        _RATE,
        "rank 0",
        lambda s: s.gauges.accept_rate,
        since=(0, 5, 5),
        old_help=_OLD_RATE,
    ),
    Family(
        "spec_num_steps",
        "gauge",
        "Currently active speculative_num_steps.",
        "rank 0",
        _speculating(lambda s: float(s.steps)),
        since=(0, 5, 13),
    ),
    Family(
        "spec_num_draft_tokens",
        "gauge",
        _WIDTH,
        "rank 0",
        _speculating(lambda s: float(s.draft_tokens)),
        since=(0, 5, 13),
    ),
    Family(
        "fwd_occupancy",
        "gauge",
        "Forward pass GPU occupancy percentage.",
        "rank 0",
        _occupancy,
        since=(0, 5, 12),
    ),
    Family(
        "is_cuda_graph",
        "gauge",
        "Whether the batch is using CUDA graph.",
        "rank 0",
        lambda s: float(s.serving.graph and s.gauges.running > 0),
        since=(0, 5, 5),
    ),
    Family(
        "startup_time_seconds",
        "gauge",
        "Engine startup duration by phase in seconds.",
        "tokenizer",
        _startup,
        since=(0, 5, 18),
    ),
    Family(
        "startup_cuda_graph_time_seconds",
        "gauge",
        "CUDA graph capture duration by phase in seconds.",
        "tokenizer",
        _graph_startup,
        since=(0, 5, 18),
    ),
    Family(
        "time_to_first_token_seconds",
        "histogram",
        "Histogram of time to first token in seconds.",
        "streaming",
        lambda s: s.counters.ttft,
    ),
    Family(
        "e2e_request_latency_seconds",
        "histogram",
        "Histogram of End-to-end request latency in seconds",
        "streaming",
        lambda s: s.counters.e2e,
    ),
    Family(
        "inter_token_latency_seconds",
        "histogram",
        "Histogram of inter-token latency in seconds.",
        "tokenizer",
        lambda s: s.counters.itl,
    ),
    Family(
        "queue_time_seconds",
        "histogram",
        "Histogram of queueing time in seconds.",
        "rank 0",
        lambda s: s.counters.queue_time,
        since=(0, 5, 3),
    ),
    Family(
        "prompt_tokens_total",
        "counter",
        "Number of prefill tokens processed.",
        "streaming",
        lambda s: float(s.counters.prompt_tokens),
    ),
    Family(
        "generation_tokens_total",
        "counter",
        "Number of generation tokens processed.",
        "streaming",
        lambda s: float(s.counters.generation_tokens),
    ),
    Family(
        "spec_verify_calls_total",
        "counter",
        "Number of speculative decoding verification calls.",
        "tokenizer",
        _verify_calls,
        since=(0, 5, 13),
    ),
    Family(
        "num_requests_total",
        "counter",
        "Number of requests processed.",
        "streaming",
        lambda s: float(s.counters.requests),
    ),
    Family(
        "cached_tokens_total",
        "counter",
        "Number of cached prompt tokens by source (device/host/storage).",
        "tokenizer",
        _cached,
        since=(0, 5, 9),
    ),
    Family(
        "num_aborted_requests_total",
        "counter",
        "Number of requests aborted.",
        "tokenizer",
        lambda s: float(s.counters.aborted) or None,
        since=(0, 4, 10),
    ),
    Family(
        "forward_execution_seconds_total", "counter", _TIMER, "all ranks", _timer, since=(0, 5, 11)
    ),
    Family(
        "gpu_execution_seconds_total",
        "counter",
        "Total time that GPU is busy executing a workload.",
        "all ranks",
        _old_timer,
        since=(0, 5, 7),
        until=(0, 5, 10),
    ),
    Family(
        "cuda_graph_passes_total",
        "counter",
        "Total number of forward passes categorized by CUDA graph.",
        "rank 0",
        _prefill_passes,
        since=(0, 5, 11),
    ),
    Family(
        "cuda_graph_passes_total",
        "counter",
        "Total number of forward passes categorized by CUDA graph.",
        "all ranks",
        _passes,
        since=(0, 5, 7),
    ),
    Family("realtime_tokens_total", "counter", _REALTIME, "rank 0", _realtime, since=(0, 5, 7)),
)
