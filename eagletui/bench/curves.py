"""The series of a benchmark, from the looks at the server while its cells ran."""

from __future__ import annotations

import math

from eagletui.engine.rates import RateMeter
from eagletui.model.history import SCRAPED_SERIES
from eagletui.model.readings import Reading
from eagletui.model.series import Series, Window


class Curves:
    """Gathers what each look says, under the names that charts and comparisons know."""

    def __init__(self) -> None:
        self._series: dict[str, Series] = {}
        self._meter = RateMeter()

    def begin(self) -> None:
        """Another cell: what lies between two of them is a gap."""
        self._meter = RateMeter()
        for series in self._series.values():
            series.gap()

    def saw(self, reading: Reading) -> None:
        """Take one look of a cell."""
        rates = self._meter.add(reading)
        for name, read in SCRAPED_SERIES.items():
            value = read(reading, rates)
            if value is not None:
                self._series.setdefault(name, Series()).add(reading.at, float(value))

    def windows(self) -> dict[str, Window]:
        """Every series so far, whole."""
        return {name: series.window(-math.inf, math.inf) for name, series in self._series.items()}
