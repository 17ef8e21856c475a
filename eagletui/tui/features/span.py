"""The span of time that the charts show, and how often it is measured."""

from __future__ import annotations

from eagletui.model.benchmarking import Moment
from eagletui.model.feed import Feed
from eagletui.tui.config import INTERVALS, WindowName
from eagletui.tui.features.core import Core
from eagletui.tui.view import WINDOW_NAMES

MEASURING = 5.0
"""Seconds between scrapes while a benchmark goes on, at the least: a server that writes its page of
metrics holds up the streams that are timed."""


class SpanActions(Core):
    """What screens wish about time.

    Attributes:
        window: span of the charts.
        paused_at: their right edge while they are held still.
        rate: seconds between scrapes, as wished.
        benching: the benchmark that goes on.
    """

    _feed: Feed | None
    window: WindowName
    paused_at: float | None
    rate: float

    @property
    def benching(self) -> Moment | None:
        """The benchmark that goes on; None where none does."""
        raise NotImplementedError

    @property
    def interval(self) -> float:
        """Seconds between scrapes now."""
        return self.rate if self.benching is None else max(self.rate, MEASURING)

    def keep_interval(self) -> None:
        """Tell the feed how often it scrapes now."""
        if self._feed is not None:
            self._feed.set_interval(self.interval)

    def pause(self, paused: bool) -> None:
        """Hold the charts still at this moment, or let them run."""
        self.paused_at = self.clock() if paused else None
        self.refresh_keys()

    def scrub(self, by: int) -> None:
        """Move the held charts by quarters of their window, never past now."""
        if self.paused_at is None:
            return
        begin, end = self.view.span
        moved = end + by * (end - begin) / 4
        series = self.view.series
        firsts = [s.first for s in series.series.values() if s.first is not None] if series else []
        oldest = min(firsts, default=end)
        self.paused_at = min(self.clock(), max(moved, oldest))
        self.refresh_keys()

    def change_window(self, by: int, around: bool = False) -> None:
        """The next shorter or longer span, or around in a circle."""
        index = WINDOW_NAMES.index(self.window) + by
        last = len(WINDOW_NAMES) - 1
        self.window = WINDOW_NAMES[index % (last + 1) if around else max(0, min(last, index))]
        self.refresh_keys()

    def change_interval(self, by: int) -> None:
        """The next longer or shorter time between scrapes."""
        longer = [value for value in INTERVALS if value > self.rate + 1e-9]
        shorter = [value for value in INTERVALS if value < self.rate - 1e-9]
        self.rate = (
            (longer[0] if longer else self.rate)
            if by > 0
            else (shorter[-1] if shorter else self.rate)
        )
        self.keep_interval()
        self.refresh_keys()
