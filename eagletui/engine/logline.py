"""One logical line understood: its prefix, its numbers, its bar. Never by position."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

# Rank tags come in two orders: ` DPn TPn [EPn] PPn` to 0.5.5, from 0.5.6
# ` DPn PPn [ATTN_CPn] [MOE_DPn] TPn EPn`; milliseconds with SGLANG_LOG_MS=1 (0.5.6+).
_RECORD = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](\d{3}))?((?: [A-Z_]+\d+)*)\](?: |$)", re.ASCII
)
# `Decode batch.` to 0.5.3, `Decode batch,` from 0.5.5, `Decode batch [iter],` with
# SGLANG_LOG_FORWARD_ITERS=1.
_BATCH = re.compile(r"(Decode|Prefill) batch(?: \[\d+\])?[.,]? ?(?: ?\[\d+\][.,]? ?)?(?=#|[a-z])")
# Its first letters left out, these follow: a look-up is cheaper than the expression.
_BATCH_STARTS = frozenset({"ecode batch" + end for end in (". ", ", ", " [")}) | frozenset(
    {"refill batch" + end for end in (".", ",", " ")}
)
_ACCESS = re.compile(r"INFO:     [\d\[:]")
# A batch line of all known releases is below 1 kB; what is longer is none.
_BATCH_LENGTH = 4096
# What is greater is no number of a server's, and might not be added up.
_GREATEST = 1e15
_PAIR = re.compile(r"\s*([#a-zA-Z][^:,]{0,60}): ([^,]*)")
_BAR = re.compile(
    r"(?P<percent>\d{1,3})%(?: Completed)? ?\|"
    r"(?:[^|\[\]]{0,200}\|)? ?(?P<done>\d{1,9})/(?P<total>\d{1,9})"
    r" \[(?P<elapsed>(?:\d{1,4}:)?\d{1,4}:\d\d)<[^\]]{0,60}\]"
)


DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
"""For `bytes.translate`: lines that differ in their digits alone become the same."""


class Record(NamedTuple):
    """A line with SGLang's prefix taken off.

    Attributes:
        stamp: log time, seconds, the host's clock read as if it were UTC; None without a prefix.
        rank: `TP0`, `DP1 TP3`, or "" for the main process and for single ranks.
        text: the message.
    """

    stamp: float | None
    rank: str
    text: str


class Bar(NamedTuple):
    """One state of a tqdm bar; `elapsed` is its own clock, seconds."""

    text: str
    done: int
    total: int
    elapsed: float


@lru_cache(maxsize=64)
def read_stamp(text: str) -> float | None:
    """`2026-01-20 02:40:29` in seconds since the epoch, as if UTC; None for no such time."""
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:
        return float(calendar.timegm((year, month, day, hour, minute, second)))
    except ValueError:
        return None


def read_record(line: str) -> Record:
    """Take the prefix off; a line without one is all text."""
    match = _RECORD.match(line)
    if match is None:
        return Record(None, "", line)
    stamp = read_stamp(match[1])
    if stamp is not None and match[2]:
        stamp += int(match[2]) / 1000
    return Record(stamp, match[3].strip(), line[match.end() :])


def read_batch(text: str) -> tuple[str, dict[str, str]] | None:
    """`Decode` or `Prefill` with the pairs that follow, or None for any other message."""
    match = _BATCH.match(text) if text[1:14] in _BATCH_STARTS else None
    if match is None:
        return None
    return match[1], {
        pair[1].strip(): pair[2].strip()
        for pair in _PAIR.finditer(text, match.end(), _BATCH_LENGTH)
    }


def is_access(text: str) -> bool:
    """Whether this message is uvicorn's line about one HTTP request."""
    return _ACCESS.match(text) is not None


def number(pairs: dict[str, str], *names: str) -> float | None:
    """The first of these pairs that holds a number that a server may come to."""
    for name in names:
        text = pairs.get(name)
        if text is None:
            continue
        try:
            value = float(text.rstrip("%"))
        except ValueError:
            continue
        if abs(value) < _GREATEST:
            return value
    return None


def whole(pairs: dict[str, str], *names: str) -> int | None:
    """The same as an integer."""
    value = number(pairs, *names)
    return int(value) if value is not None else None


def graph_used(pairs: dict[str, str]) -> bool | None:
    """`cuda graph: True`, also `cpu graph` and `npu graph`; None where the release does not say."""
    for name, text in pairs.items():
        if name.endswith(" graph"):
            return text.startswith("True") if text[:4] in ("True", "Fals") else None
    return None


def read_bars(text: str) -> Iterator[Bar]:
    """Every complete bar in a line, in order; several may be glued."""
    if "%" not in text or "/" not in text:
        return
    end = 0
    for match in _BAR.finditer(text):
        # What it is a bar of stands before it, from the end of the one before.
        begin = max(end, *(text.rfind(mark, end, match.start()) + 1 for mark in "|%]"))
        what = text[begin : match.start()].rstrip().removesuffix(":").strip()
        end = match.end()
        total = int(match["total"])
        done = int(match["done"])
        if 0 < total < 10**9 and done <= total:
            yield Bar(what, done, total, _clock(match["elapsed"]))


def _clock(text: str) -> float:
    """`13:54` or `1:02:03` in seconds."""
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return float(seconds)
