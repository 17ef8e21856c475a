"""What the messages of a log can be to its reader, told from their text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from eagletui.engine.bars import holds_only_bars
from eagletui.engine.diagnosis import Signature
from eagletui.engine.failures import signs
from eagletui.engine.launch import PHASE_STARTS
from eagletui.engine.logline import is_access, read_batch, read_record
from eagletui.engine.splitter import MAX_LINE, RECORD_START, logical

STEPS = re.compile(
    r"(?:Adaptive spec params updated|Switch adaptive runtime state): steps \d+ -> (\d{1,6})"
    r"(?:.*?draft_tokens \d+ -> (\d{1,6}))?"
)
VERSION = re.compile(r"(?i)\bsglang(?:[ _-]version|\.__version__)[=: ]+[\"']?v?(\d[\w.]*)")
# What the launcher writes before anything else (0.5.16 and later).
LAUNCHER = "UserWarning: 'python -m sglang.launch_server' is still supported"

# A launch that was not announced is, by these.
BEGINNINGS = ("Init ", "Load weight begin")

_SOME_STAMP = b"[2026-01-01 00:00:00] "
# Longer lines are not worth the memory.
_REMEMBERED = 1024


class Meaning(NamedTuple):
    """What a whole line can be where no traceback is open and nothing loads.

    Attributes:
        begins: whether a launch that was not announced may be, by this line.
        more: whether it may be more than the sign of a failure, or nothing.
        signatures: those of failures that it matches.
    """

    begins: bool = False
    more: bool = False
    signatures: tuple[Signature, ...] = ()


def means_nothing(line: bytes) -> bool:
    """Whether a whole line means nothing where no traceback is open and nothing loads."""
    return holds_only_bars(line) or meaning(line) == _NOTHING


def meaning(line: bytes) -> Meaning:
    """Told from the text of the line alone; which time it is does not matter."""
    if len(line) > MAX_LINE:
        return Meaning(begins=True, more=True)
    if stamp := RECORD_START.match(line):
        line = _SOME_STAMP + line[stamp.end() :]
    return _meaning(line) if len(line) <= _REMEMBERED else _meaning.__wrapped__(line)


_NOTHING = Meaning()


@lru_cache(maxsize=256)
def _meaning(line: bytes) -> Meaning:
    begins = more = False
    signatures: list[Signature] = []
    for message in _messages(line):
        if is_access(message):
            continue
        found = signs(message)
        signatures += found or ()
        begins = begins or message.startswith(BEGINNINGS) or found != ()
        more = more or found is None or _is_more(message)
    return Meaning(begins, more, tuple(signatures))


def _messages(line: bytes) -> Iterator[str]:
    """Bars and what is glued to them are each by itself."""
    for piece in line.split(b"\r"):
        for part in logical(1, piece):
            yield read_record(part.data.decode("utf-8", "replace")).text


def _is_more(message: str) -> bool:
    """Whether it is a batch, or belongs to a launch."""
    return (
        message.startswith(("server_args=", *PHASE_STARTS))
        or LAUNCHER in message
        or STEPS.match(message) is not None
        or VERSION.search(message) is not None
        or read_batch(message) is not None
    )
