"""Bounded time series: fine for the last hour, thinned with age, gaps kept beside the data."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """Points of one span of time: `joined[i]` is 0 where point i does not continue i−1."""

    times: Sequence[float]
    values: Sequence[float]
    joined: Sequence[int]


class Series:
    """One number over time.

    Holds at most `fine` recent points as they came and `coarse` older buckets of minimum and
    maximum, so that a day at 1 Hz stays within a few hundred kilobytes. Times must not go back;
    a point older than the last is dropped.

    Args:
        fine: recent points kept exactly.
        coarse: older buckets kept as (time, low, high).
        fold_by: recent points that make one bucket.
    """

    __slots__ = (
        "_coarse",
        "_coarse_high",
        "_coarse_joined",
        "_coarse_low",
        "_coarse_times",
        "_fine",
        "_fold_by",
        "_gap",
        "_joined",
        "_times",
        "_values",
        "version",
    )

    def __init__(self, fine: int = 7200, coarse: int = 8640, fold_by: int = 20) -> None:
        self._fine, self._coarse, self._fold_by = fine, coarse, fold_by
        self._times, self._values, self._joined = array("d"), array("d"), bytearray()
        self._coarse_times = array("d")
        self._coarse_low, self._coarse_high = array("d"), array("d")
        self._coarse_joined = bytearray()
        self._gap = True
        self.version = 0

    def __len__(self) -> int:
        return len(self._times) + 2 * len(self._coarse_times)

    @property
    def last(self) -> tuple[float, float] | None:
        """The newest (time, value)."""
        return (self._times[-1], self._values[-1]) if self._times else None

    @property
    def first(self) -> float | None:
        """The oldest time kept."""
        if self._coarse_times:
            return self._coarse_times[0]
        return self._times[0] if self._times else None

    def add(self, time: float, value: float) -> None:
        """Append a point; a value that is not finite makes a gap instead."""
        if value != value or value in (float("inf"), float("-inf")):
            self.gap()
            return
        if self._times and time < self._times[-1]:
            return
        self._times.append(time)
        self._values.append(value)
        self._joined.append(not self._gap)
        self._gap = False
        self.version += 1
        if len(self._times) >= self._fine + self._fold_by * 16:
            self._thin()

    def gap(self) -> None:
        """The next point does not continue the last one."""
        self._gap = True

    def _thin(self) -> None:
        count = (len(self._times) - self._fine) // self._fold_by * self._fold_by
        for begin in range(0, count, self._fold_by):
            end = begin + self._fold_by
            values = self._values[begin:end]
            self._coarse_times.append(self._times[begin])
            self._coarse_low.append(min(values))
            self._coarse_high.append(max(values))
            self._coarse_joined.append(all(self._joined[begin:end]))
        del self._times[:count], self._values[:count], self._joined[:count]
        surplus = len(self._coarse_times) - self._coarse
        if surplus > 0:
            del self._coarse_times[:surplus], self._coarse_low[:surplus]
            del self._coarse_high[:surplus], self._coarse_joined[:surplus]

    def window(self, begin: float, end: float) -> Window:
        """Every kept point with `begin` ≤ time ≤ `end`, in order."""
        times, values, joined = array("d"), array("d"), bytearray()
        if self._coarse_times and self._coarse_times[-1] >= begin:
            first, past = (
                bisect_left(self._coarse_times, begin),
                bisect_right(self._coarse_times, end),
            )
            for index in range(first, past):
                low, high = self._coarse_low[index], self._coarse_high[index]
                times.append(self._coarse_times[index])
                values.append(low)
                joined.append(self._coarse_joined[index])
                if high != low:
                    times.append(self._coarse_times[index])
                    values.append(high)
                    joined.append(True)
        first, past = bisect_left(self._times, begin), bisect_right(self._times, end)
        times.extend(self._times[first:past])
        values.extend(self._values[first:past])
        joined.extend(self._joined[first:past])
        return Window(times, values, bytes(joined))

    def __iter__(self) -> Iterator[tuple[float, float]]:
        window = self.window(float("-inf"), float("inf"))
        return zip(window.times, window.values, strict=True)
