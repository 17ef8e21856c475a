"""Which of SGLang's metrics is which field of a `Reading`, by release.

To teach it a metric, add a row here (and a field to `Reading`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

How = Literal["sum", "mean", "most", "counted", "total"]
"""How the series of one metric become one number.

`sum`, `mean` (weighted by running requests) and `most` are for a scheduler's gauge over DP ranks,
`counted` for a scheduler's counter: of each DP rank one tensor rank is taken, the smallest, since
every tensor rank counts the same work. `total` is for the tokenizer's counters: summed over
whatever labels they have (`is_streaming` from 0.5.18, `cache_source`).
"""


class Metric(NamedTuple):
    """One field of `Reading`.

    Attributes:
        name: without the engine's prefix. Rows of one field are tried in order; the first whose
            series are on the page is used.
        where: label and a regular expression for its whole value.
        since: releases it was seen in.
    """

    field: str
    name: str
    how: How
    where: tuple[str, str] | None = None
    since: str = "all"


_PASSES, _TOKENS = "cuda_graph_passes_total", "realtime_tokens_total"
_TIMER, _OLD_TIMER = "forward_execution_seconds_total", "gpu_execution_seconds_total"

METRICS: tuple[Metric, ...] = (
    # Gauges of the last decode interval (`--decode-log-interval`, 40 steps).
    # The two of speculation keep their last value when the server idles, in every release.
    Metric("accept_length", "spec_accept_length", "mean"),
    Metric("accept_rate", "spec_accept_rate", "mean", since="0.5.5; redefined in 0.5.11"),
    Metric("num_steps", "spec_num_steps", "most", since="0.5.13"),
    Metric("num_draft_tokens", "spec_num_draft_tokens", "most", since="0.5.13"),
    Metric("gen_throughput", "gen_throughput", "sum"),
    Metric("running", "num_running_reqs", "sum"),
    Metric("queued", "num_queue_reqs", "sum"),
    Metric("token_usage", "token_usage", "most"),
    Metric("cache_hit_rate", "cache_hit_rate", "mean"),
    Metric("retracted", "num_retracted_reqs", "sum"),
    # The scheduler's counters: they move with every step, on every tensor rank.
    Metric("passes_total", _PASSES, "counted", ("mode", "decode.*"), "0.5.7"),
    Metric("decode_tokens_total", _TOKENS, "counted", ("mode", "decode"), "0.5.7"),
    Metric("prefill_tokens_total", _TOKENS, "counted", ("mode", "prefill_compute"), "0.5.7"),
    # The device timer: SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 in the server's environment.
    Metric("verify_seconds_total", _TIMER, "counted", ("category", "target_verify"), "0.5.11"),
    Metric("draft_seconds_total", _TIMER, "counted", ("category", "eagle_draft"), "0.5.11"),
    Metric(
        "draft_extend_seconds_total",
        _TIMER,
        "counted",
        ("category", "eagle_draft_extend"),
        "0.5.11; multi-layer 0.5.18",
    ),
    Metric("decode_seconds_total", _TIMER, "counted", ("category", "decode"), "0.5.11"),
    Metric(
        "decode_seconds_total",
        _OLD_TIMER,
        "counted",
        ("category", "forward_decode"),
        "0.5.7 to 0.5.10; with speculation the whole step",
    ),
    # The tokenizer's counters: they move when a request finishes, so they are no live rates.
    Metric("generation_tokens_total", "generation_tokens_total", "total"),
    Metric("prompt_tokens_total", "prompt_tokens_total", "total"),
    Metric("cached_tokens_total", "cached_tokens_total", "total"),
    Metric("requests_total", "num_requests_total", "total"),
    Metric("verify_calls_total", "spec_verify_calls_total", "total", since="0.5.13"),
)

HISTOGRAMS: dict[str, str] = {
    "ttft": "time_to_first_token_seconds",
    "itl": "inter_token_latency_seconds",
    "e2e": "e2e_request_latency_seconds",
}

# Beginnings of names → the engine whose page it is. Pages of others are named, not read.
SGLANG_PREFIXES = ("sglang:", "sglang_")
ENGINES: dict[str, str] = {
    "sglang": "sglang",
    "vllm": "vllm",
    "trtllm": "tensorrt-llm",
    "tgi": "tgi",
    "lmdeploy": "lmdeploy",
    "llamacpp": "llama.cpp",
    "nv": "triton",
}
