"""The few statistics that a comparison stands on: pure, and the same whenever they are asked.

- A *quantile* is the linear interpolation between order statistics: the value at position
  (n − 1)·q of the sorted values, counted from 0 (type 7 of Hyndman and Fan, NumPy's default).
- An *interval* is that of 95 %: the middle of `RESAMPLES` bootstrap resamples, percentile method.
  A request is the unit; each repeat is resampled by itself (stratified) and keeps its size.
- What changes from one repeat to the next, requests of one repeat don't show. Where there are two
  repeats or more on both sides, a ratio's interval is therefore at the least Student's interval of
  the repeats' own logarithms.
- A *tie* is a ratio whose interval holds 1, or which is nearer to 1 than `call`'s margin.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from operator import truediv
from random import Random
from typing import Literal, NamedTuple

from eagletui.model.run import Quantiles

RESAMPLES = 500
UNITS = 500
"""Units of one repeat at the most: above it neighbours in time are one unit together."""

LEVEL = 0.95

MARGIN = 0.02
"""A difference smaller than this is a tie where a side has one repeat only: how far it would
move from one repeat to the next was not seen."""

BLIND_MARGIN = 0.05
"""The same where a side kept no requests either, so that nothing is known of its noise."""

# Student's t, two-sided 95 %, for 1, 2, … degrees of freedom; beyond them the normal's 1.96.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
_NORMAL = 1.96

Call = Literal["faster", "slower", "tie"]


class Interval(NamedTuple):
    """Where a figure lies with 95 % confidence."""

    low: float
    high: float


class Stratum(NamedTuple):
    """One repeat of a ratio of sums: what stands above and below the line, by request."""

    over: tuple[float, ...]
    under: tuple[float, ...]


class Ratio(NamedTuple):
    """How one figure stands to another; without an interval nothing is known of the noise."""

    value: float
    interval: Interval | None


# --- distributions --------------------------------------------------------------------------------


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile, 0 ≤ q ≤ 1, as the module defines it.

    Raises:
        ValueError: there are no values, or q is no share.
    """
    if not values or not 0.0 <= q <= 1.0:
        raise ValueError("a quantile needs values, and 0 ≤ q ≤ 1")
    return _at(sorted(values), q)


def _at(ordered: Sequence[float], q: float) -> float:
    position = (len(ordered) - 1) * q
    below = math.floor(position)
    share = position - below
    if not share:
        return ordered[below]
    low, high = ordered[below], ordered[below + 1]
    # Never outside of its neighbours, whatever rounding does.
    return min(high, max(low, low + (high - low) * share))


def distribution(values: Iterable[float]) -> Quantiles | None:
    """Mean and quantiles, in the values' own unit; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Quantiles(
        mean=math.fsum(ordered) / len(ordered),
        p50=_at(ordered, 0.5),
        p90=_at(ordered, 0.9),
        p99=_at(ordered, 0.99),
    )


# --- acceptance -----------------------------------------------------------------------------------


def pooled(histograms: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Histograms of accepted drafts added up; a shorter one ends in zeros that were left out."""
    return tuple(map(sum, zip_longest(*histograms, fillvalue=0)))


def accept_length(histogram: Sequence[int]) -> float | None:
    """Tokens per verify step, the bonus token included: Σ(i+1)·nᵢ / Σnᵢ; None without steps."""
    steps = sum(histogram)
    if steps <= 0:
        return None
    return sum((index + 1) * count for index, count in enumerate(histogram)) / steps


def acceptance_by_position(
    histogram: Sequence[int], num_steps: int | None = None
) -> tuple[float | None, ...]:
    """P(draft position i is accepted | it was reached) for i = 1 … k; None where none was reached.

    Args:
        histogram: steps by how many drafts they accepted, from 0; zeros at its end may be missing.
        num_steps: k; without it the histogram's own length says it.
    """
    k = max(len(histogram) - 1, num_steps or 0)
    reached = sum(histogram)
    shares: list[float | None] = []
    for position in range(1, k + 1):
        accepted = sum(histogram[position:])
        shares.append(accepted / reached if reached else None)
        reached = accepted
    return tuple(shares)


# --- intervals ------------------------------------------------------------------------------------


def ratio_of_sums(strata: Sequence[Stratum]) -> float | None:
    """Σ over / Σ under of all repeats together; None where nothing is below the line."""
    under = math.fsum(value for stratum in strata for value in stratum.under)
    if under <= _LEAST:
        return None
    return math.fsum(value for stratum in strata for value in stratum.over) / under


def resampled(strata: Sequence[Stratum], *, seed: int = 0) -> tuple[float, ...]:
    """`ratio_of_sums` of `RESAMPLES` resamples, in the order they were drawn; () where none can be.

    One request says nothing of its own noise: a repeat of fewer than two counts as it is, and
    there are no resamples where every repeat is so. The same seed gives the same resamples; two
    figures that are compared need different ones. Values must not be negative.
    """
    strata = [_in_units(stratum) for stratum in strata if stratum.over]
    if not any(len(stratum.over) > 1 for stratum in strata):
        return ()
    draws = [_shifted(len(stratum.over), seed + 2 * i) for i, stratum in enumerate(strata)]
    over, by_over = _sums([stratum.over for stratum in strata], draws)
    under, by_under = _sums([stratum.under for stratum in strata], draws)
    if min(under) == 0:
        return ()
    factor = by_under / by_over
    return tuple([factor * (one / other) for one, other in zip(over, under, strict=True)])


# How often each unit was drawn, all resamples in one long number: field b of `_FIELD` bits belongs
# to resample b. A value times that number is its part of every resample's sum at once, so that a
# sum costs one multiplication a unit instead of one look-up a unit and resample.
_FIELD = 32
_HIGHEST = (1 << _FIELD) - 1
"""Values become integers of which as many as there are units stay below this together."""


_CODE = "I" if array("I").itemsize * 8 == _FIELD else "L"

_LEAST = 1e-9
"""Tokens and seconds that are smaller are none."""


@lru_cache(maxsize=64)
def _shifted(size: int, by: int) -> tuple[int, ...]:
    """`_draws` whose resamples are numbered from another one on.

    Resample b of one stratum then is another draw than resample b of the next, and as independent
    of it, without being drawn again.
    """
    low = by % RESAMPLES * _FIELD
    if size == 1 or not low:
        return _draws(size)
    rest = RESAMPLES * _FIELD - low
    mask = (1 << low) - 1
    return tuple([drawn >> low | (drawn & mask) << rest for drawn in _draws(size)])


@lru_cache(maxsize=16)
def _draws(size: int) -> tuple[int, ...]:
    """Of each unit, how often every resample drew it; kept, because many cells are of one size."""
    if size == 1:
        return (_ONES,)
    random = Random(size)
    drawn = [array(_CODE, bytes(RESAMPLES * _FIELD // 8)) for _ in range(size)]
    for resample in range(RESAMPLES):
        # The high half of a product is a unit: 2³² is so much more that none is preferred.
        for number in array(_CODE, random.randbytes(size * _FIELD // 8)):
            drawn[number * size >> _FIELD][resample] += 1
    return tuple(map(_number, drawn))


def _number(fields: array[int]) -> int:
    return int.from_bytes(fields.tobytes(), sys.byteorder)


def _sums(
    columns: Sequence[tuple[float, ...]], draws: Sequence[tuple[int, ...]]
) -> tuple[array[int], float]:
    """Each resample's sum over all columns, times the second number.

    Of 1000 units each is exact to a four-millionth of the largest, far below what is measured.
    """
    most = _HIGHEST // sum(map(len, columns))
    scale, total = most / max(_LEAST, *map(max, columns)), 0
    for column, drawn in zip(columns, draws, strict=True):
        if min(column) == max(column):
            # Every resample has as many units, and here all are alike.
            total += _ONES * (len(column) * round(column[0] * scale))
            continue
        for value, times in zip(column, drawn, strict=True):
            total += times * round(value * scale)
    sums = array(_CODE)
    sums.frombytes(total.to_bytes(RESAMPLES * _FIELD // 8, sys.byteorder))
    return sums, scale


_ONES = _number(array(_CODE, [1] * RESAMPLES))


def _in_units(stratum: Stratum) -> Stratum:
    size = len(stratum.over)
    if size <= UNITS:
        return stratum
    edges = [size * index // UNITS for index in range(UNITS + 1)]
    spans = list(pairwise(edges))
    return Stratum(
        over=tuple(math.fsum(stratum.over[begin:end]) for begin, end in spans),
        under=tuple(math.fsum(stratum.under[begin:end]) for begin, end in spans),
    )


def interval(samples: Sequence[float], level: float = LEVEL) -> Interval | None:
    """The middle `level` of the resamples; None without any."""
    if not samples:
        return None
    ordered, tail = sorted(samples), (1.0 - level) / 2.0
    return Interval(_at(ordered, tail), _at(ordered, 1.0 - tail))


def interval_of_repeats(a: Sequence[float], b: Sequence[float] = ()) -> Interval | None:
    """Student's interval of the mean of `a`, or of a's over b's, from their repeats' logarithms.

    None where a side that was given has fewer than two repeats, or one that is not above 0.
    """
    sides = [a, b] if b else [a]
    if any(len(side) < 2 or min(side) <= 0.0 for side in sides):
        return None
    middle, variance, freedom = 0.0, 0.0, 0
    for sign, side in zip((1.0, -1.0), sides, strict=False):
        logs = [math.log(value) for value in side]
        mean = math.fsum(logs) / len(logs)
        squares = math.fsum((value - mean) ** 2 for value in logs)
        middle += sign * mean
        variance += squares / (len(logs) - 1) / len(logs)
        freedom += len(logs) - 1
    reach = (_STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL) * math.sqrt(variance)
    return Interval(math.exp(middle - reach), math.exp(middle + reach))


def hull(*intervals: Interval | None) -> Interval | None:
    """From the lowest to the highest of those that are known."""
    known = [one for one in intervals if one is not None]
    if not known:
        return None
    return Interval(min(one.low for one in known), max(one.high for one in known))


def ratio(
    value: float,
    other: float,
    samples: Sequence[float] = (),
    other_samples: Sequence[float] = (),
    repeats: Sequence[float] = (),
    other_repeats: Sequence[float] = (),
) -> Ratio | None:
    """value/other with its interval, from resamples of both and from repeats of both.

    None where `other` is not above 0.
    """
    if other <= 0.0:
        return None
    drawn = None
    if samples and other_samples:
        count = min(len(samples), len(other_samples))
        if min(other_samples[:count]) > 0.0:
            drawn = interval(tuple(map(truediv, samples[:count], other_samples[:count])))
    seen = interval_of_repeats(repeats, other_repeats) if repeats and other_repeats else None
    return Ratio(value / other, hull(drawn, seen))


def call(change: Ratio, *, repeats: int, other_repeats: int) -> Call:
    """What a ratio of speeds is called.

    Args:
        change: new over old.
        repeats: how many repeats the new figure has, and `other_repeats` the old one.
    """
    margin = 0.0 if min(repeats, other_repeats) > 1 else MARGIN
    if change.interval is None:
        margin = BLIND_MARGIN
    elif change.interval.low <= 1.0 <= change.interval.high:
        return "tie"
    # A figure of 4 % measured as 1.04 is not nearer than 0.04 for the sake of its last bit.
    if abs(change.value - 1.0) < margin - 1e-12:
        return "tie"
    return "faster" if change.value > 1.0 else "slower" if change.value < 1.0 else "tie"
