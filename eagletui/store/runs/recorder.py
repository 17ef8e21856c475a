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
    could not write it keeps, up to an hour of it, and writes the next time. The session is on the
    disk with its first points: one that never had any was none.

    Args:
        host: the host's name.
        server: the server's key on it.
        began: seconds since 1970.

    Attributes:
        about: what it is, as far as it is known when the session is first written.
        session: what is on the disk; None before.
    """

    def __init__(self, *, host: str, server: str, began: float) -> None:
        self._host, self._server, self._began = host, server, began
        self._pending: dict[str, tuple[array[float], array[float], bytearray]] = {}
        self._gaps: set[str] = set()
        self._flushed = began
        self.about: Mapping[str, str] = {}
        self.session: Session | None = None

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

    def flush(self, store: SeriesStore, now: float) -> None:
        """Write what was gathered.

        Raises:
            RunsError: it could not be written and is kept for the next time.
        """
        self._flushed = now
        if not self._pending:
            return
        # Swapped first: `add` may go on in another thread.
        pending, self._pending = self._pending, {}
        try:
            if self.session is None:
                self.session = store.begin(
                    host=self._host, server=self._server, at=self._began, about=self.about
                )
            store.append(
                self.session.id, {name: Window(*columns) for name, columns in pending.items()}
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
