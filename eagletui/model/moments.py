"""Round moments of a span of time: the one rule for every axis, on a screen and in a report."""

from __future__ import annotations

import math
from typing import NamedTuple

MINUTE, HOUR, DAY = 60, 3600, 86400


class TimeUnit(NamedTuple):
    """How the moments of one axis are told before now.

    Attributes:
        name: behind every number of the axis.
        seconds: that one of it is.
        longest: the longest span that is told in it, seconds.
        steps: how many of it may lie between two ticks.
    """

    name: str
    seconds: int
    longest: float
    steps: tuple[float, ...]


# A span is a difference of clock readings: it may fall short of what it stands for by so much.
SLACK = 1.0001

# One axis has one unit: 1m is told in seconds, 5m, 15m and 1h in minutes.
TIME_UNITS = (
    TimeUnit("s", 1, 2 * MINUTE, (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60)),
    TimeUnit("m", MINUTE, 2 * HOUR, (1, 2, 3, 5, 10, 15, 20, 30, 60)),
    TimeUnit("h", HOUR, 2 * DAY, (1, 2, 3, 6, 12, 24)),
    TimeUnit("d", DAY, math.inf, (1, 2, 5, 10, 30, 100, 365, 1000)),
)


def after_ticks(span: float, room: int) -> list[tuple[float, str]]:
    """Moments of a span that begins at 0, at most `room` and the beginning: `0`, `30s`, `2m`."""
    unit, each = time_step(span, room)
    count = int(min(span / (each * unit.seconds) * SLACK, 1000))
    return [
        (n * each * unit.seconds, f"{n * each:.6g}{unit.name}" if n else "0")
        for n in range(count + 1)
    ]


def time_step(span: float, room: int) -> tuple[TimeUnit, float]:
    """The unit of an axis, and how many of it lie between two ticks."""
    unit = next(unit for unit in TIME_UNITS if span <= unit.longest * SLACK)
    units = span / unit.seconds
    within = [each for each in unit.steps if each <= units * SLACK] or [unit.steps[0]]
    fitting = [each for each in within if units / each <= max(1, room) * SLACK] or within[-1:]
    # With a step that divides the span, the left edge has its label as well.
    whole = (each for each in fitting[:2] if abs(units / each - round(units / each)) < 1e-4)
    return unit, next(whole, fitting[0])
