"""Lines of the log worth jumping to: one row a landmark, in the order of a start-up.

Titles are those of the ladder (`Rung.title`).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple


class Landmark(NamedTuple):
    """A phase's first line, recognised by bytes that every release since 0.4 writes."""

    title: str
    pattern: re.Pattern[str]


def _row(title: str, pattern: str) -> Landmark:
    return Landmark(title, re.compile(pattern))


LANDMARKS: tuple[Landmark, ...] = (
    _row("arguments", r"server_args=ServerArgs\("),
    _row("distributed init", r"Init torch distributed begin"),
    _row("weights", r"Load weight begin"),
    _row("kv cache", r"KV Cache is allocated|Memory pool end"),
    _row("draft extend graphs", r"(?i:Capture draft extend .*cuda graph begin)"),
    _row("draft graphs", r"(?i:Capture draft .*cuda graph begin)"),
    _row("target prefill graphs", r"(?i:Capture (?:piecewise|prefill) .*cuda graph begin)"),
    _row("target graphs", r"(?i:Capture .*cuda graph begin)"),
    _row("HTTP up", r"Uvicorn running on"),
    _row("ready", r"The server is fired up and ready to roll"),
    _row("exception", r"hit an exception|Traceback \(most recent call last\)"),
    _row("end", r"SIGTERM received|Received sigquit|kill_process_tree called"),
)
# Begins a launch: what was seen before counts no more.
LAUNCH = "arguments"
# Said once by each rank for the target, then for the draft.
BY_TURNS = {"weights": ("target weights", "draft weights")}
# May come again in one launch, and is worth a row each time.
REPEATED = frozenset({"exception"})
_RANK = re.compile(r"^\[\d{4}-\d\d-\d\d (?P<time>\d\d:\d\d:\d\d)(?: (?P<rank>[^\]]*))?\]")


class Seen(NamedTuple):
    """A landmark of one launch: its title and the clock of its line, "" where it has none."""

    title: str
    time: str


class Landmarks:
    """Names landmarks as they come, the first rank's only."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, str]] = Counter()
        self._known: set[tuple[str, int]] = set()

    def see(self, text: str) -> Seen | None:
        """The landmark of this line; None for no landmark and for one another rank had."""
        title = landmark_of(text)
        if title is None:
            return None
        stamp = _RANK.match(text)
        time, rank = (stamp["time"], stamp["rank"] or "") if stamp else ("", "")
        if title == LAUNCH:
            self._times.clear()
            self._known.clear()
        turn = self._times[title, rank]
        self._times[title, rank] += 1
        turns = BY_TURNS.get(title, (title,))
        if (title, turn) in self._known or (turn >= len(turns) and title not in REPEATED):
            return None
        self._known.add((title, turn))
        return Seen(turns[min(turn, len(turns) - 1)], time)


_ANY = re.compile("|".join(f"(?:{mark.pattern.pattern})" for mark in LANDMARKS))


def landmark_of(text: str) -> str | None:
    """The landmark that this line is, if any."""
    if _ANY.search(text) is None:
        return None
    return next((mark.title for mark in LANDMARKS if mark.pattern.search(text)), None)
