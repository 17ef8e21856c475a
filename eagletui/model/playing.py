"""Where a replay of a recording is, for whoever shows it."""

from __future__ import annotations

from typing import NamedTuple


class Standing(NamedTuple):
    """Where a replay is.

    Attributes:
        now: the recording's time, seconds since the epoch by its own clock.
        begin, end: its first and last moment.
        utc_offset: zone of that clock, seconds.
        speed: times faster than it was.
        hurrying: whether it is catching up with a moment that was jumped to.
        over: whether the last event was given.
        note: what is to be said of the file, "" for nothing.
    """

    now: float
    begin: float
    end: float
    utc_offset: float
    speed: float
    paused: bool
    hurrying: bool
    over: bool
    note: str
