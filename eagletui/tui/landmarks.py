"""Lines of the log worth jumping to: one row a landmark, in the order of a start-up."""

from __future__ import annotations

import re
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
    _row("KV cache", r"KV Cache is allocated|Memory pool end"),
    _row("graphs", r"Capture .*(?:cuda graph|CUDA graph) begin"),
    _row("HTTP up", r"Uvicorn running on"),
    _row("ready", r"The server is fired up and ready to roll"),
    _row("exception", r"hit an exception|Traceback \(most recent call last\)"),
    _row("end", r"SIGTERM received|Received sigquit|kill_process_tree called"),
)
_ANY = re.compile("|".join(f"(?:{mark.pattern.pattern})" for mark in LANDMARKS))


def landmark_of(text: str) -> str | None:
    """The landmark that this line is, if any."""
    if _ANY.search(text) is None:
        return None
    return next((mark.title for mark in LANDMARKS if mark.pattern.search(text)), None)
