"""Points of a series, or spans of time in their place."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eagletui.model.series import Window

OVERVIEW_POINTS = 240
_SHORTEST = 0.02
"""Seconds that are not halved: columns keep milliseconds."""


class Buckets(NamedTuple):
    """Points, or spans of time in their place: of a point low, high and mean are one number."""

    times: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    mean: Sequence[float]
    joined: Sequence[int]


def folded(points: Buckets, seconds: float) -> Buckets:
    """Buckets of so many seconds, aligned to the clock; a bucket joins on where all in it did."""
    times, low, high, mean, joined = array("d"), array("d"), array("d"), array("d"), bytearray()
    first, count = 0, len(points.times)
    while first < count:
        edge = (points.times[first] // seconds + 1.0) * seconds
        past = max(first + 1, bisect_left(points.times, edge, first))
        times.append(points.times[first])
        low.append(min(points.low[first:past]))
        high.append(max(points.high[first:past]))
        mean.append(math.fsum(points.mean[first:past]) / (past - first))
        joined.append(all(points.joined[first:past]))
        first = past
    return Buckets(times, low, high, mean, bytes(joined))


def folded_by_use(points: Buckets, seconds: float, end: float = -math.inf) -> Buckets:
    """The same of a speed, which is zero where nobody asked: a bucket in which a server worked
    for a part of the time is two, the one as long as it worked and the other as long as it did not.

    So the speed of the time in which it worked is known however old it is. What was not seen in a
    bucket is one gap at its end, and what came before a gap is kept as two halves: the one says
    how long the other was.

    Args:
        end: when the last point ended at the latest, where that is known.
    """
    times, low, high, mean, joined = array("d"), array("d"), array("d"), array("d"), bytearray()
    lasted = spans(points, end)
    first, count, gap = 0, len(points.times), False
    while first < count:
        edge = (points.times[first] // seconds + 1.0) * seconds
        past = max(first + 1, bisect_left(points.times, edge, first))
        # Who was first stays first.
        parts: dict[bool, list[int]] = {}
        for at in range(first, past):
            parts.setdefault(points.mean[at] > 0.0, []).append(at)
        begin, joins = points.times[first], bool(points.joined[first]) and not gap
        gap = not all(points.joined[first + 1 : past])
        for number, part in enumerate(parts.values(), 1):
            whole = math.fsum(lasted[at] for at in part)
            average = math.fsum(points.mean[at] * lasted[at] for at in part) / whole
            # Of the very last one too: what is kept later may go on after a gap.
            alone = gap or past == count or not points.joined[past]
            halves = alone and number == len(parts) and begin + whole / 2 < points.times[-1]
            pieces = 2 if halves and whole > _SHORTEST else 1
            for _ in range(pieces):
                times.append(begin)
                low.append(min(points.low[at] for at in part))
                high.append(max(points.high[at] for at in part))
                mean.append(average)
                joined.append(joins)
                # How long the very last one was is not known: what is kept later may begin sooner.
                begin = min(begin + whole / pieces, points.times[-1])
                joins = True
        first = past
    return Buckets(times, low, high, mean, bytes(joined))


def spans(points: Buckets, end: float = -math.inf) -> Sequence[float]:
    """Seconds of each point: up to the next. What came before a gap and at the end is not known:
    as long as the last one at work, or the last idle one.

    Args:
        end: when the last one ended at the latest, where that is known.
    """
    found = array("d")
    last: dict[bool, float] = {}
    for at, time in enumerate(points.times):
        works = points.mean[at] > 0.0
        span = last.get(works, found[-1] if found else 1.0)
        if at + 1 < len(points.times):
            room = points.times[at + 1] - time
            span = room if points.joined[at + 1] else min(span, room)
        elif end > time:
            span = min(span, end - time) if found else end - time
        last[works] = span
        found.append(span)
    return found


def overview(points: Buckets) -> Buckets:
    """At most `OVERVIEW_POINTS` buckets of a whole series."""
    if len(points.times) <= OVERVIEW_POINTS:
        return points
    return folded(points, (points.times[-1] - points.times[0]) / (OVERVIEW_POINTS - 2))


def points_of(window: Window) -> Buckets:
    """Points as buckets of one point each."""
    return Buckets(window.times, window.values, window.values, window.values, window.joined)


def part_of(points: Buckets, first: int, past: int) -> Buckets:
    """From one index up to another."""
    return Buckets(
        points.times[first:past],
        points.low[first:past],
        points.high[first:past],
        points.mean[first:past],
        points.joined[first:past],
    )


def joined_up(parts: Iterable[Buckets]) -> Buckets:
    """Parts in order as one; what an earlier one has already is left out of a later one."""
    times, low, high, mean, joined = array("d"), array("d"), array("d"), array("d"), bytearray()
    for part in parts:
        first = bisect_right(part.times, times[-1]) if times else 0
        times.extend(part.times[first:])
        low.extend(part.low[first:])
        high.extend(part.high[first:])
        mean.extend(part.mean[first:])
        joined.extend(part.joined[first:])
    return Buckets(times, low, high, mean, bytes(joined))
