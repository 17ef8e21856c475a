"""A cell's figures as they are shown and exported.

Quantiles are those of `model.statistics`.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import accumulate

from eagletui.bench.load import Reply
from eagletui.model.base import Data
from eagletui.model.run import STOPPED, Cell, Quantiles, Sent
from eagletui.model.statistics import distribution, pooled


class Figures(Data, frozen=True):
    """What one cell says; None is what cannot be known.

    Attributes:
        served, failed: requests; those that were stopped are neither.
        tok_s: output tokens a second of all requests together, over the whole cell.
        tok_s_each: of one request, its first token's wait included: mean over requests.
        accept_length: tokens a verify step over the cell's own requests; else the server's.
        accepted: steps by how many drafts they accepted, from 0 on, over its own requests.
        distinct_bigrams: mean over requests.
        joules: a token, of all the server's GPUs together.
    """

    served: int
    failed: int
    prompt_tokens: int
    output_tokens: int
    tok_s: float | None = None
    tok_s_each: float | None = None
    ttft_ms: Quantiles | None = None
    tpot_ms: Quantiles | None = None
    itl_ms: Quantiles | None = None
    latency_ms: Quantiles | None = None
    accept_length: float | None = None
    verify_steps: int | None = None
    accepted: tuple[int, ...] = ()
    distinct_bigrams: float | None = None
    joules: float | None = None


def figures(cell: Cell) -> Figures:
    """A cell's figures from its requests."""
    served = [sent for sent in cell.requests if not sent.error]
    tokens = sum(sent.output_tokens for sent in served)
    # What was cut short was generated as well; `model.compare_figures` counts the same.
    made = sum(sent.output_tokens for sent in cell.requests if sent.error in ("", STOPPED))
    speeds = [sent.output_tokens / sent.latency for sent in served if sent.latency]
    ratios = [s.distinct_bigrams for s in served if s.distinct_bigrams is not None]
    steps = sum(sent.verify_steps for sent in served if sent.verify_steps)
    tok_s = made / cell.seconds if cell.seconds > 0.0 and made else None
    return Figures(
        served=len(served),
        failed=sum(sent.error not in ("", STOPPED) for sent in cell.requests),
        prompt_tokens=sum(sent.prompt_tokens or 0 for sent in served),
        output_tokens=tokens,
        tok_s=tok_s,
        tok_s_each=sum(speeds) / len(speeds) if speeds else None,
        ttft_ms=_of([s.ttft for s in served]),
        tpot_ms=_of([s.tpot for s in served]),
        itl_ms=cell.itl_ms,
        latency_ms=_of([s.latency for s in served]),
        accept_length=accept_length(served) or cell.accept_length,
        verify_steps=steps or None,
        accepted=pooled(sent.accepted for sent in served),
        distinct_bigrams=sum(ratios) / len(ratios) if ratios else None,
        joules=cell.power_watts / tok_s if cell.power_watts and tok_s else None,
    )


def accept_length(requests: Sequence[Sent]) -> float | None:
    """Tokens a verify step of these requests, as SGLang reckons it: with the prefill's token."""
    told = [s for s in requests if s.verify_steps]
    steps = sum(s.verify_steps or 0 for s in told)
    return sum(s.output_tokens for s in told) / steps if steps else None


def quantiles(values: Sequence[float], weights: Sequence[int]) -> Quantiles | None:
    """`statistics.distribution` of values that stand for as many as their weights say."""
    pairs = sorted(
        (value, weight) for value, weight in zip(values, weights, strict=True) if weight > 0
    )
    if not pairs:
        return None
    ends = list(accumulate(weight for _, weight in pairs))
    total = ends[-1]

    def at(position: int) -> float:
        return pairs[bisect.bisect_right(ends, position)][0]

    def quantile(q: float) -> float:
        place = q * (total - 1)
        low = int(place)
        high = min(low + 1, total - 1)
        return at(low) + (at(high) - at(low)) * (place - low)

    mean = sum(value * weight for value, weight in pairs) / total
    return Quantiles(mean=mean, p50=quantile(0.5), p90=quantile(0.9), p99=quantile(0.99))


def itl_quantiles(replies: Sequence[Reply]) -> Quantiles | None:
    """Gaps between tokens over all requests, milliseconds: a chunk of n tokens gives n of a nth.

    Where the server does not count while it streams, a chunk counts as one.
    """
    pairs = [(gap / max(n, 1) / 1e3, max(n, 1)) for reply in replies for gap, n in reply.gaps]
    return quantiles([gap for gap, _ in pairs], [n for _, n in pairs])


def _of(seconds: Sequence[float | None]) -> Quantiles | None:
    return distribution(1e3 * value for value in seconds if value is not None)
