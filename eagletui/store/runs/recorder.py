"""A live session's points on their way to the disk."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping

from eagletui.model.series import Window
from eagletui.store.runs.series import SeriesStore, Session

FLUSH_SECONDS = 30.0
"""A crash loses no more of a live session than this."""

KEPT_PENDING = 3600.0
"""Seconds of points that wait in memory while the disk can't be written."""


class SessionRecorder:
    """Gathers a live session's points and writes them now and then.

    `add` only appends to memory; `flush` waits for the disk and belongs into a thread. What it
    could not write it keeps, up to an hour of it, and writes the next time.
    """

    def __init__(self, store: SeriesStore, session: Session) -> None:
        self._store, self._session = store, session
        self._pending: dict[str, tuple[array[float], array[float], bytearray]] = {}
        self._gaps: set[str] = set()
        self._flushed = session.began

    def add(self, at: float, values: Mapping[str, float | None]) -> bool:
        """Take one moment's values, None where there is a gap; whether it is time to `flush`."""
        for name, value in values.items():
            if value is None or not math.isfinite(value):
                self._gaps.add(name)
                continue
            times, numbers, joined = self._pending.setdefault(
                name, (array("d"), array("d"), bytearray())
            )
            if times and at <= times[-1]:
                continue
            times.append(at)
            numbers.append(value)
            joined.append(name not in self._gaps)
            self._gaps.discard(name)
        return at - self._flushed >= FLUSH_SECONDS

    def flush(self, now: float) -> None:
        """Write what was gathered.

        Raises:
            RunsError: it could not be written and is kept for the next time.
        """
        # Swapped first: `add` may go on in another thread.
        pending, self._pending = self._pending, {}
        self._flushed = now
        try:
            self._store.append(
                self._session.id, {name: Window(*columns) for name, columns in pending.items()}
            )
        except Exception:
            for name, (times, values, joined) in pending.items():
                newer = self._pending.get(name, (array("d"), array("d"), bytearray()))
                first = bisect_left(times, now - KEPT_PENDING)
                self._pending[name] = (
                    times[first:] + newer[0],
                    values[first:] + newer[1],
                    joined[first:] + newer[2],
                )
            raise
