"""What kind of line a log line is: level, rank, and whether it is noise. Tables of patterns."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from eagletui.model.logstore import GAP


class Level(IntEnum):
    """How serious a line is; a line that says nothing counts as information."""

    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3


LEVELS: dict[str, Level] = {
    "all": Level.DEBUG,
    "info": Level.INFO,
    "warning": Level.WARNING,
    "error": Level.ERROR,
}

# The first that matches decides. SGLang's own records carry no level: words decide there.
_LEVEL_WORDS: tuple[tuple[Level, re.Pattern[bytes]], ...] = (
    (
        Level.ERROR,
        re.compile(
            rb"\bERROR\b|\bCRITICAL\b|Traceback \(most recent call last\)|hit an exception"
            rb"|^\w*(?:Error|Exception)\b|: error: |CUDA out of memory|Received sigquit"
            rb"|SIGQUIT received|watchdog timeout|Watchdog (?:timeout|caught)"
            rb"|crashed with exit code"
            rb"|Initialization failed|Capture (?:cuda|CUDA) graph failed|NCCL error|ncclSystemError"
            rb"|Health check failed|core dumped|^Killed$|\bFatal\b"
        ),
    ),
    (
        Level.WARNING,
        re.compile(
            rb"\bWARN(?:ING)?\b|Warning: |warnings\.warn|[Dd]eprecated|Retract requests|SIGTERM"
        ),
    ),
    (Level.DEBUG, re.compile(rb"\bDEBUG\b")),
)
_MAY_MATTER = re.compile(
    rb"(?i)err|warn|exception|traceback|critical|memory|sig|watchdog|crash|fail|nccl|core|kill"
    rb"|fatal|debug|retract|deprecat"
)
_RECORD = re.compile(
    rb"(?:^|\s)\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?"
    rb"((?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+)*)\]"
)
_POLL = re.compile(
    rb'"GET /(?:metrics|health|health_generate|ready|v1/loads|get_load|(?:get_)?server_info'
    rb'|(?:get_)?model_info|v1/models)[/?]?[^ "]* HTTP/[\d.]+" (?:200|503)'
)
_BAR = re.compile(rb"\d+%(?:\|| Completed \|)")
_CONTINUES = re.compile(
    rb"^(?:\s|[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\b|\w+ above exception|During handling)"
)


class Kind(NamedTuple):
    """What is known of one line without its neighbours."""

    level: Level
    poll: bool
    bar: bool
    record: bool
    gap: bool


def classify(line: bytes) -> Kind:
    """Look at one line."""
    bar = b"%" in line and _BAR.search(line) is not None
    poll = b'"GET /' in line and _POLL.search(line) is not None
    record = line[:1] == b"[" or _RECORD.search(line) is not None
    return Kind(level_of(line), poll, bar, record, line.startswith(GAP))


def level_of(line: bytes) -> Level:
    """The level of one line by itself."""
    if _MAY_MATTER.search(line) is not None:
        for level, words in _LEVEL_WORDS:
            if words.search(line) is not None:
                return level
    return Level.INFO


def continues(line: bytes) -> bool:
    """Whether a line without a record's head goes on with the error before it."""
    return _CONTINUES.match(line) is not None


def rank_of(line: bytes) -> str:
    """`TP0`, `DP1 TP3`, or "" where the record names no rank."""
    match = _RECORD.search(line)
    return match[1].decode().strip() if match is not None else ""


def head_end(line: bytes) -> int:
    """Where the message begins after the record's head; 0 where there is none."""
    match = _RECORD.search(line)
    return match.end() if match is not None else 0
