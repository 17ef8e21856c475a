"""From a window of samples to the few points a chart of some columns can show."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from time import localtime, strftime
from typing import NamedTuple

from eagletui.model.series import Window


class Points(NamedTuple):
    """Points to draw; `joined[i]` says whether point i continues the one before."""

    xs: list[float]
    ys: list[float]
    joined: list[bool]


def bucket(window: Window, begin: float, end: float, columns: int, top: float) -> Points:
    """At most two points a column, the lowest and the highest, in order of time.

    Everything outside [begin, end] is dropped and every value is clipped to [0, top]: the chart
    library hangs or aborts on anything else. The samples must be finite.
    """
    times, values, joined = window
    xs: list[float] = []
    ys: list[float] = []
    continues: list[bool] = []
    first, past = bisect_left(times, begin), bisect_right(times, end)
    if first >= past or columns < 1 or end <= begin:
        return Points(xs, ys, continues)
    width = (end - begin) / columns
    column = 0
    low = first
    while low < past:
        column = max(column, min(columns - 1, int((times[low] - begin) / width)))
        edge = begin + (column + 1) * width
        high = past if column == columns - 1 else bisect_left(times, edge, low, past)
        high = max(high, low + 1)
        inside = values[low:high]
        least, most = min(inside), max(inside)
        at_least, at_most = inside.index(least), inside.index(most)
        spots = [(at_least, least)] if at_least == at_most else [(at_least, least), (at_most, most)]
        spots.sort()
        for number, (offset, value) in enumerate(spots):
            xs.append(times[low + offset])
            ys.append(min(top, max(0.0, value)))
            continues.append(bool(xs[:-1]) and (number > 0 or bool(joined[low])))
        low = high
        column += 1
    return Points(xs, ys, continues)


def steps(window: Window, begin: float, end: float, top: float) -> Points:
    """A line that keeps each value until the next; what was so before `begin` still is."""
    times, values, _ = window
    xs: list[float] = []
    ys: list[float] = []
    held: float | None = None
    past = bisect_right(times, end)
    first = bisect_right(times, begin)
    if first > 0:
        held = values[first - 1]
        xs.append(begin)
        ys.append(min(top, max(0.0, held)))
    for index in range(first, past):
        value = values[index]
        if value == held:
            continue
        if held is not None:
            xs.append(times[index])
            ys.append(min(top, max(0.0, held)))
        xs.append(times[index])
        ys.append(min(top, max(0.0, value)))
        held = value
    if held is not None:
        xs.append(end)
        ys.append(min(top, max(0.0, held)))
    return Points(xs, ys, [bool(index) for index in range(len(xs))])


def stacked(windows: list[Window]) -> list[Window]:
    """Each window with the ones before it added, where all of them have the same moments.

    A later window that lacks a moment counts as nothing there.
    """
    result: list[Window] = []
    below: dict[float, float] = {}
    for times, values, joined in windows:
        summed = array("d", (v + below.get(t, 0.0) for t, v in zip(times, values, strict=True)))
        result.append(Window(times, summed, joined))
        below = {**below, **dict(zip(times, summed, strict=True))}
    return result


def nice_top(highest: float, least: float) -> float:
    """The upper end of an axis: a round number that holds the highest value."""
    wanted = max(highest * 1.02, least, 1e-6)
    if not math.isfinite(wanted):
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    for factor in (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0):
        if factor * power >= wanted:
            return factor * power
    return 10.0 * power


def ticks(top: float, rows: int) -> list[float]:
    """Values from 0 to `top` in equal steps, both ends among them, about one in three rows."""
    count = max(1, min(5, rows // 3))
    return [top * number / count for number in range(count + 1)]


def tick_text(value: float) -> str:
    """`0`, `2.5`, `120`, `12k`."""
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}"


def time_labels(begin: float, end: float, now: float | None, count: int) -> list[tuple[float, str]]:
    """Where the time axis is labelled: `-5m … now`, or clock times where the end is past."""
    live = now is None or abs(now - end) < 1.5
    labels = []
    for number in range(count):
        at = begin + (end - begin) * number / max(1, count - 1)
        if live:
            labels.append((at, "now" if number == count - 1 else f"-{_span(end - at)}"))
        else:
            labels.append((at, strftime("%H:%M:%S", localtime(at))))
    return labels


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f}s"
    minutes = seconds / 60
    if minutes < 100:
        return f"{minutes:.3g}m"
    return f"{minutes / 60:.3g}h"
