"""Quantiles from Prometheus histograms, as `histogram_quantile` computes them."""

from __future__ import annotations

import math

from eagletui.model.readings import Histogram, Quantiles


def between(before: Histogram | None, after: Histogram | None) -> Histogram | None:
    """What was observed between two readings, or None where that can't be said.

    A histogram that was not there before had no observation: its series begin with the first.
    """
    if after is None or before is None:
        return after
    if before.bounds != after.bounds:
        return None
    counts: list[float] = []
    highest = 0.0
    for old, new in zip(before.counts, after.counts, strict=True):
        if new < old:
            return None
        # Buckets are written one by one while the server runs: keep them cumulative.
        highest = max(highest, new - old)
        counts.append(highest)
    return Histogram(
        bounds=after.bounds, counts=tuple(counts), total=highest, sum=after.sum - before.sum
    )


def quantile(histogram: Histogram, q: float) -> float | None:
    """The q-quantile in the histogram's unit, linear within its bucket.

    None without observations. Above the last finite bound that bound is returned: the truth is
    "at least this".
    """
    total = histogram.counts[-1] if histogram.counts else 0.0
    if total <= 0.0:
        return None
    rank = q * total
    lower, below = 0.0, 0.0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=True):
        if count >= rank and count > below:
            if math.isinf(bound):
                return lower
            if bound <= 0.0:
                return bound
            return lower + (bound - lower) * (rank - below) / (count - below)
        if math.isfinite(bound):
            lower = max(lower, bound)
        below = max(below, count)
    return lower


def milliseconds(histogram: Histogram | None) -> Quantiles:
    """p50 and p99 of a histogram of seconds."""
    if histogram is None:
        return Quantiles()
    p50, p99 = quantile(histogram, 0.5), quantile(histogram, 0.99)
    return Quantiles(
        p50=None if p50 is None else 1000.0 * p50, p99=None if p99 is None else 1000.0 * p99
    )
