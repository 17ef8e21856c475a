"""Numbers from a running server, after names and labels of its release were understood."""

from __future__ import annotations

from typing import Literal

from eagletui.model.base import Data

StepSource = Literal["device timer", "decode moments", "pass counter", "decode log", "none"]


class Histogram(Data, frozen=True):
    """Cumulative buckets: `bounds[i]` is the upper bound (seconds), `counts[i]` at or below it."""

    bounds: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    total: float = 0.0
    sum: float = 0.0


class RankCounters(Data, frozen=True):
    """Counters of one DP rank, kept apart because an idle rank runs passes it does not count."""

    passes_total: float | None = None
    decode_tokens_total: float | None = None
    verify_seconds_total: float | None = None
    draft_seconds_total: float | None = None
    draft_extend_seconds_total: float | None = None
    decode_seconds_total: float | None = None


class Reading(Data, frozen=True):
    """One scrape, one engine: gauges of one tensor rank, summed over DP ranks where that is right.

    Counters are cumulative since the server started; None is what the release does not say.
    """

    at: float
    engine: str = "sglang"
    model_name: str = ""
    engine_type: str = ""
    dp_ranks: int = 1
    samples: int = 0
    accept_length: float | None = None
    accept_rate: float | None = None
    num_steps: int | None = None
    num_draft_tokens: int | None = None
    gen_throughput: float | None = None
    running: float | None = None
    queued: float | None = None
    token_usage: float | None = None
    cache_hit_rate: float | None = None
    retracted: float | None = None
    # counters
    decode_tokens_total: float | None = None
    prefill_tokens_total: float | None = None
    generation_tokens_total: float | None = None
    prompt_tokens_total: float | None = None
    cached_tokens_total: float | None = None
    requests_total: float | None = None
    passes_total: float | None = None
    verify_calls_total: float | None = None
    verify_seconds_total: float | None = None
    draft_seconds_total: float | None = None
    draft_extend_seconds_total: float | None = None
    decode_seconds_total: float | None = None
    ttft: Histogram | None = None
    itl: Histogram | None = None
    e2e: Histogram | None = None
    # `/v1/loads` decode_moments: (steps, Σ batch, Σ t µs, Σ b², Σ b·t, Σ generated), 0.5.18+
    decode_moments: tuple[float, ...] | None = None
    # the same by DP rank, for ranks decode side by side; empty where there is only one
    rank_moments: tuple[tuple[float, ...], ...] = ()
    # by DP rank, in order; empty where there is only one
    ranks: tuple[RankCounters, ...] = ()
    # the page ended in the middle of a line: what is None may only be missing
    truncated: bool = False


class Quantiles(Data, frozen=True):
    """Milliseconds over one window."""

    p50: float | None = None
    p99: float | None = None


class Rates(Data, frozen=True):
    """What happened between two readings.

    Attributes:
        seconds: length of the window.
        tok_s: generated tokens per second over all requests.
        step_ms: one draft–verify cycle (wall). Never called verify.
        verify_ms, draft_ms, draft_extend_ms: GPU time a step from the device timer only.
        decode_ms: the same for a server that does not speculate (0.5.7–0.5.10 with speculation:
            the whole step, draft included).
        accept_length: of this window where counters allow it, else the server's last gauge.
        accept_rate: computed by us, (accept length − 1)/k.
        source: where step_ms and the GPU times come from.
        progress: whether the server moved any token in the window.
        stale: whether accept_length is only the server's leftover from earlier.
        reset: whether a counter went back, so that the server restarted between the readings.
    """

    seconds: float = 0.0
    tok_s: float | None = None
    prefill_tok_s: float | None = None
    steps_s: float | None = None
    step_ms: float | None = None
    verify_ms: float | None = None
    draft_ms: float | None = None
    draft_extend_ms: float | None = None
    decode_ms: float | None = None
    accept_length: float | None = None
    accept_rate: float | None = None
    source: StepSource = "none"
    progress: bool = False
    stale: bool = False
    reset: bool = False
    ttft_ms: Quantiles = Quantiles()
    itl_ms: Quantiles = Quantiles()
