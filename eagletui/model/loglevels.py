"""What kind of line a log line is: level, rank, own poll, progress bar. Tables first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Level = Literal["debug", "info", "warning", "error"]

LEVELS: dict[Level, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}

STAMP = re.compile(
    rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?)"
    rb"((?: (?:DP|TP|PP|EP|ATTN_CP|MOE_DP)\d+)*)\] ?"
)


class Sign(NamedTuple):
    """What makes a line be of a level.

    `hints` are lower-case words of which every line the pattern finds has one: looking for them is
    a hundred times quicker than the pattern.
    """

    level: Level
    hints: tuple[bytes, ...]
    pattern: bytes


# The first row found in a line gives its level. SGLang's own records carry no level word,
# uvicorn's do; the rest is known by what failures look like (0.4.6 to 0.5.23, and the recordings).
LEVEL_SIGNS: tuple[Sign, ...] = (
    Sign("info", (b"decode batch", b"prefill batch"), rb"(?:Decode|Prefill) batch\b"),
    # The arguments printed in full name many words that look bad.
    Sign("info", (b"server_args=",), rb"server_args="),
    # Model files of other platforms that cannot be imported: said by every start on a CPU.
    Sign("debug", (b"ignore import",), rb"Ignore import error when loading"),
    Sign("debug", (b"debug",), rb"\bDEBUG\b"),
    Sign("info", (b" http/",), rb'"[A-Z]+ /\S* HTTP/[\d.]+" [123]\d\d'),
    Sign("debug", (b"get /health", b"get /ready"), rb'"GET /(?:health|ready)\S* HTTP/[\d.]+" 503'),
    Sign("warning", (b" http/",), rb'"[A-Z]+ /\S* HTTP/[\d.]+" 4\d\d'),
    Sign("error", (b" http/",), rb'"[A-Z]+ /\S* HTTP/[\d.]+" 5\d\d'),
    Sign("warning", (b"warn",), rb"[a-z]Warning: |\bWarning: |\bWARN(?:ING)?\b"),
    Sign("warning", (b"deprecat",), rb"Deprecat"),
    Sign("error", (b"traceback",), rb"Traceback \(most recent call"),
    Sign("error", (b"error",), rb"\bERROR\b|[Ff]atal(?: Python)? error|[A-Z]\w*Error\b(?:: |:?$)"),
    Sign("error", (b"error",), rb"^(?:\w+\.)*\w+Error\b|ncclInternalError|NCCL error"),
    Sign("error", (b"error",), rb"error: (?:argument|unrecognized|the following)"),
    Sign(
        "error",
        (b"exception", b"interrupt", b"exit"),
        rb"^(?:\w+\.)*(?:\w*Exception|Keyboard"
        rb"Interrupt|SystemExit)(?::|$)",
    ),
    Sign("error", (b"exception",), rb"hit an exception"),
    Sign("error", (b"critical", b"fatal"), rb"\bCRITICAL\b|\bFATAL\b"),
    Sign("error", (b"memory",), rb"[Oo]ut of memory|OutOfMemory|not enough memory"),
    Sign("error", (b"segmentation", b"core dumped"), rb"Segmentation fault|core dumped"),
    Sign("error", (b"sig",), rb"\bSIG(?:QUIT|KILL|SEGV|ABRT) received"),
    Sign("error", (b"watchdog",), rb"[Ww]atchdog timeout"),
    Sign(
        "error", (b"killed", b"aborted", b"died"), rb"\bKilled\b|\bAborted\b|etected that .* died"
    ),
    Sign("error", (b"exit",), rb"[Ee]xit ?code:? -?[1-9]"),
    Sign("error", (b"in use",), rb"address already in use"),
    Sign("warning", (b"retract",), rb"\bretract(?:ed|ing)?\b"),
    Sign("warning", (b"fail",), rb"\b[Ff]ail(?:ed|ure)? to "),
    Sign("warning", (b"deprecated", b"ignore"), rb"\bdeprecated\b|\bignored?\b"),
)

# Requests a watcher makes; answered 200 they say nothing about the server's work.
POLLED_PATHS = (
    "metrics",
    "health",
    "health_generate",
    "ready",
    "v1/loads",
    "get_load",
    "server_info",
    "get_server_info",
    "model_info",
    "get_model_info",
    "v1/models",
)

# Lines that belong to the record above: indented, or the words between chained tracebacks.
_CONTINUED = re.compile(
    rb"[ \t]|During handling of the above|The above exception was|$|\+-|\| |Traceback "
)
_PLAIN_RECORD = re.compile(rb"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL):\s|\S+:\d+: \w+Warning: ")
_SIGNS = tuple((level, hints, re.compile(sign).search) for level, hints, sign in LEVEL_SIGNS)
_POLL = re.compile(
    rb'"GET /(?:'
    + b"|".join(re.escape(p.encode()) for p in POLLED_PATHS)
    + rb')(?:\?\S*)? HTTP/[\d.]+" 200'
).search
_BAR = re.compile(rb"\s*(.*?):?\s*\d{1,3}%(?:\||\s|$)")
_READ_AHEAD = 4096
"""Bytes of a line its level may be read from; arguments printed in full say nothing more."""


def level_of(line: bytes) -> Level:
    """The level a line has by itself, `info` where nothing says otherwise."""
    body = line[:_READ_AHEAD]
    lowered = body.lower()
    stamp: re.Match[bytes] | None = None
    for level, hints, found in _SIGNS:
        for hint in hints:
            if hint in lowered:
                if stamp is None and (stamp := STAMP.match(body)):
                    body = body[stamp.end() :]
                if found(body):
                    return level
                break
    return "info"


def continues(line: bytes) -> bool:
    """Whether a line belongs to the record above it, by its own look."""
    return _CONTINUED.match(line) is not None


def begins_record(line: bytes) -> bool:
    """Whether a line certainly begins a record of its own."""
    return STAMP.match(line) is not None or _PLAIN_RECORD.match(line) is not None


def levels_of(lines: Sequence[bytes], before: Level | None = None) -> list[Level]:
    """The level of each line, tracebacks as long as they go on counting with the error above.

    Args:
        before: level of the record the first line may continue, where that is an error or warning.
    """
    found: list[Level] = []
    carried = before
    for line in lines:
        if carried in ("error", "warning") and continues(line):
            level: Level = carried
            if carried == "warning" and line.startswith(b"Traceback"):
                carried = level = "error"
        else:
            level = level_of(line)
            carried = level
        found.append(level)
    return found


def is_poll(line: bytes) -> bool:
    """Whether this is the access-log line of a watcher's own request."""
    return _POLL(line) is not None


def bar_label(line: bytes) -> bytes | None:
    """What a progress bar's update is about, without what changes; None where it is no bar."""
    match = _BAR.match(line[:300])
    return None if match is None else match[1].split(b"(")[0].strip()


def rank_of(line: bytes) -> str:
    """The rank tag of a record, like `DP0 TP1`, or ""."""
    match = STAMP.match(line)
    return match[2].decode().strip() if match else ""
