"""Axes of a chart: nice steps, tick labels, values with their unit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from eagletui.model.moments import DAY, MINUTE, SLACK, TimeUnit, time_step


class Axis(NamedTuple):
    """Limits of the value axis and its ticks, lowest first."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]


def _digits(value: float) -> str:
    size = abs(value)
    if size >= 1e15:
        return f"{value:.1e}"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def _thousands(value: float) -> str:
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if 1e15 > abs(value) >= limit:
            return f"{value / (1e3 if suffix == 'k' else limit):.1f}{suffix}"
    return _digits(value)


def _milliseconds(value: float) -> str:
    return f"{value / 1000:.1f} s" if 1e15 > abs(value) >= 10_000 else f"{_digits(value)} ms"


# How a value of a unit is written; a unit without a row is put behind the number.
VALUE_FORMATS: dict[str, Callable[[float], str]] = {
    "": _digits,
    "ms": _milliseconds,
    "tok/s": lambda value: f"{_thousands(value)} tok/s",
    "%": lambda value: f"{value:.0f} %",
    "share": lambda value: f"{value * 100:.0f} %",
}

# How much a tick's number is divided by, and what follows it, from this height of axis on.
TICK_SCALES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "share": ((0.0, 0.01, "%"),),
    "%": ((0.0, 1.0, "%"),),
    "ms": ((20_000.0, 1000.0, "s"),),
}
_LARGE = ((1e15, 1.0, ""), (2e9, 1e9, "G"), (2e6, 1e6, "M"), (2000.0, 1000.0, "k"))


def format_value(value: float | None, unit: str) -> str:
    """A value for reading: `2.33 tokens/step`, `21.4 ms`, `12.3k tok/s`; None is `–`.

    `%` is a number from 0 to 100, `share` one from 0 to 1 shown as per cent.
    """
    if value is None or not math.isfinite(value):
        return "–"
    known = VALUE_FORMATS.get(unit)
    return known(value) if known else f"{_digits(value)} {unit}"


def nice_step(span: float, parts: int) -> float:
    """The smallest 1, 2 or 5 × 10ⁿ of which at most `parts` fit into `span`."""
    rough = span / max(1, parts)
    if not math.isfinite(rough) or rough <= 1e-300:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(
        (factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= rough * 0.9999),
        10.0 * power,
    )


def value_axis(low: float, high: float, rows: int, unit: str, floor: float | None) -> Axis:
    """Limits that hold the data, with ticks about three rows apart.

    `floor` fixes the lower end; None fits it to the data.
    """
    low, high = _sane(low), _sane(high)
    base = low if floor is None else _sane(floor)
    if not high > base:
        high = base + (abs(base) * 0.1 or 1.0)
    parts = max(2, rows // 3)
    step = nice_step((high - base) * 1.02, parts)
    quarter = step / 4
    bottom = base if floor is not None else math.floor(base / quarter) * quarter
    top = max(math.ceil((high * 1.02 - 0.02 * base) / quarter) * quarter, bottom + quarter)
    if not top > bottom:  # the step is lost beside numbers this large
        return Axis(bottom, bottom + (abs(bottom) or 1.0), (bottom,), (_tick(bottom, ""),))
    first = math.ceil(bottom / step - 1e-9)
    ticks = [n * step for n in range(first, first + parts + 3) if n * step <= top * (1 + 1e-9)]
    divisor, suffix = 1.0, ""
    for limit, by, text in (*TICK_SCALES.get(unit, ()), *_LARGE):
        if max(abs(bottom), abs(top)) >= limit:
            divisor, suffix = by, text
            break
    return Axis(bottom, top, tuple(ticks), tuple(_tick(t / divisor, suffix) for t in ticks))


def _sane(value: float) -> float:
    """Within what arithmetic on axes can bear."""
    return min(1e300, max(-1e300, value)) if value == value else 0.0


def _tick(value: float, suffix: str) -> str:
    if abs(value) >= 1e6 or (value and abs(value) < 1e-4):
        return f"{value:.0e}{suffix}"
    return f"{value:.6g}{suffix}" if value else f"0{suffix}"


def sane_span(begin: float, end: float) -> tuple[float, float]:
    """A span a chart can draw: finite, within what clocks know, 10 ms at least."""
    limit = 1e11
    end = min(limit, max(-limit, end)) if end == end else 0.0
    begin = min(limit, max(-limit, begin)) if begin == begin else end - 1.0
    return min(begin, end - 0.01), end


def time_ticks(
    begin: float, end: float, room: int, *, now: float | None
) -> list[tuple[float, str]]:
    """Moments to name below the chart, at most `room`: relative to `now`, or by the clock."""
    span = end - begin
    unit, each = time_step(span, room)
    step = each * unit.seconds
    if now is not None:
        count = int(min(span / step * SLACK, 1000))
        return [(now - n * step, _before(n * each, unit)) for n in range(count, -1, -1)]
    # Clock ticks fall on round local times.
    offset = local_offset(end)
    first = math.ceil((begin + offset) / step)
    last = min(math.floor((end + offset) / step), first + 1000)
    return [
        (n * step - offset, clock(n * step - offset, seconds=step < MINUTE, day=step >= DAY))
        for n in range(first, last + 1)
    ]


def _before(count: float, unit: TimeUnit) -> str:
    """How long before now: `-30s`, `-5m`, `-2h`; the present is `now`."""
    return f"-{count:.6g}{unit.name}" if count else "now"


def local_offset(moment: float) -> float:
    """Seconds the local clock is ahead of UTC at this moment."""
    try:
        return float(time.localtime(moment).tm_gmtoff)
    except (OverflowError, ValueError, OSError):
        return 0.0


def clock(moment: float, *, seconds: bool = True, day: bool = False) -> str:
    """A moment on the local clock."""
    try:
        pattern = "%m-%d" if day else "%H:%M:%S" if seconds else "%H:%M"
        return time.strftime(pattern, time.localtime(moment))
    except (OverflowError, ValueError, OSError):
        return "?"
