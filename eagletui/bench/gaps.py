"""The gaps between tokens of a cell, before they are thrown away: only their quantiles are kept."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import accumulate

from eagletui.bench.load import Reply
from eagletui.model.run import Quantiles


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
