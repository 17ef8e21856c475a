"""Levels, filters and the index of rows."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from eagletui.model.logfilter import LogFilter, compile_pattern, may_never_end
from eagletui.model.logindex import LogIndex
from eagletui.model.loglevels import (
    LEVEL_SIGNS,
    Level,
    bar_label,
    is_poll,
    level_of,
    levels_of,
    rank_of,
)
from eagletui.model.logstore import LogStore

STAMP = b"[2026-11-29 12:30:19 TP1] "


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (STAMP + b"Load weight begin.", "info"),
        (STAMP + b"Decode batch, #running-req: 1, gen throughput (token/s): 1.0", "info"),
        (STAMP + b"Scheduler hit an exception: Traceback (most recent call last):", "error"),
        (b"Traceback (most recent call last):", "error"),
        (b"RuntimeError: Not enough memory.", "error"),
        (b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "error"),
        (b"launch_server.py: error: unrecognized arguments: --nosuch", "error"),
        (STAMP + b"SIGQUIT received. signum=None, frame=None.", "error"),
        (b"Segmentation fault (core dumped)", "error"),
        (STAMP + b"Watchdog timeout (self.watchdog_last_forward_ct=1)", "error"),
        (STAMP + b"server_args=ServerArgs(watchdog_timeout=300, x='Error: ')", "info"),
        (STAMP + b"Ignore import error when loading sglang.srt.models.grok: x", "debug"),
        (b"/opt/a.py:71: UserWarning: still supported", "warning"),
        (b"WARNING:  ASGI 'lifespan'", "warning"),
        (b"ERROR:    Exception in ASGI application", "error"),
        (b'INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK', "info"),
        (b'INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 400 Bad Request', "warning"),
        (b'INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 500 Internal Server Error', "error"),
        (b'INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable', "debug"),
        (STAMP + b"KV cache pool is full. Retract requests. #retracted_reqs: 1", "info"),
        (STAMP + b"Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit", "warning"),
        (b"", "info"),
    ],
)
def test_level(line: bytes, level: Level) -> None:
    assert level_of(line) == level


def test_every_sign_can_be_reached_through_its_hints(recordings: Path) -> None:
    lines = (recordings / "cpu-crash-oom.log").read_bytes().split(b"\n")
    for name in ("h200-spec5.log.gz", "cpu-plain-tp2-term.log.gz"):
        lines += gzip.decompress((recordings / name).read_bytes()).split(b"\n")
    for sign in LEVEL_SIGNS:
        assert all(hint == hint.lower() for hint in sign.hints)
        for line in lines:
            if re.search(sign.pattern, line):
                assert any(hint in line.lower() for hint in sign.hints), (sign, line)


def test_a_traceback_is_one_error(recordings: Path) -> None:
    lines = (recordings / "cpu-crash-oom.log").read_bytes().split(b"\n")
    levels = levels_of(lines)
    at = next(n for n, line in enumerate(lines) if b"hit an exception" in line)
    assert Counter(levels)["error"] == 27
    assert set(levels[at : at + 20]) == {"error"}
    assert levels[at - 1] == "info"


@pytest.mark.parametrize(
    ("line", "poll"),
    [
        (b'"GET /metrics HTTP/1.1" 200 OK', True),
        (b'"GET /v1/loads?include=all HTTP/1.1" 200 OK', True),
        (b'"GET /metrics HTTP/1.1" 404 Not Found', False),
        (b'"GET /metricsx HTTP/1.1" 200 OK', False),
        (b'"POST /generate HTTP/1.1" 200 OK', False),
    ],
)
def test_own_polls(line: bytes, poll: bool) -> None:
    assert is_poll(b"INFO:     127.0.0.1:35330 - " + line) is poll


def test_rank_and_bar() -> None:
    assert rank_of(b"[2026-11-29 12:30:19 DP0 TP1] x") == "DP0 TP1"
    assert rank_of(b"[2026-11-29 12:30:19] x") == ""
    assert (
        bar_label(b"Multi-thread loading shards:  15% Completed | 9/59")
        == b"Multi-thread loading shards"
    )
    assert (
        bar_label(b"Capturing batches (bs=8 avail_mem=1 GB):   0%|   | 0/8") == b"Capturing batches"
    )
    assert bar_label(b"plain words") is None


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("shard", "Loading Shards", True),
        ("Shard", "loading shards", False),
        ("a.c", "abc", True),
        ("accept len: (1|2)", "accept len: 1.5", True),
        ("(broken", "a (broken pattern", True),
        ("[12", "[12:00]", True),
    ],
)  # fmt: skip
def test_patterns(text: str, line: str, found: bool) -> None:
    pattern = compile_pattern(text)
    assert pattern is not None
    assert (pattern.search(line) is not None) is found


def indexed(data: bytes, wanted: LogFilter | None = None) -> tuple[LogStore, LogIndex]:
    store = LogStore()
    store.append(data)
    index = LogIndex(store, wanted)
    drain(index)
    return store, index


def drain(index: LogIndex) -> None:
    ticks = count()
    while index.advance(1, lambda: float(next(ticks))):
        pass


def shown(store: LogStore, index: LogIndex) -> list[bytes]:
    return [store.line(index.line_at(row)) for row in range(index.rows)]


def test_only_the_last_update_of_a_bar_shows(recordings: Path) -> None:
    data = gzip.decompress((recordings / "h200-spec5.log.gz").read_bytes())
    store, index = indexed(data)
    bars = [line for line in shown(store, index) if b"Multi-thread loading" in line]
    assert [b"59/59" in bars[0], b"1/1" in bars[1], len(bars)] == [True, True, 2]
    store, index = indexed(data, LogFilter(bars=True))
    assert sum(b"Multi-thread loading" in line for line in shown(store, index)) == 28


def test_an_interrupted_bar_keeps_its_last_state() -> None:
    store, index = indexed(b"\rx: 10%|\rx: 20%|\rother text\n\rx: 30%|\rx: 40%|\n")
    assert shown(store, index) == [b"x: 20%|", b"other text", b"x: 40%|"]


def test_filters_are_independent_and_add_up() -> None:
    data = (
        STAMP + b"one\n"
        b'INFO:     1.2.3.4:5 - "GET /metrics HTTP/1.1" 200 OK\n'
        b"Traceback (most recent call last):\n"
        b'  File "x.py", line 1\n'
        b"ValueError: One\n" + STAMP + b"two\n"
    )
    for wanted, lines in (
        (LogFilter(), [0, 2, 3, 4, 5]),
        (LogFilter(polls=True), [0, 1, 2, 3, 4, 5]),
        (LogFilter(level="error"), [2, 3, 4]),
        (LogFilter(include="one"), [0, 4]),
        (LogFilter(include="one", exclude="Value"), [0]),
        (LogFilter(exclude="."), []),
    ):
        _, index = indexed(data, wanted)
        assert [index.line_at(row) for row in range(index.rows)] == lines, wanted


@pytest.mark.parametrize("around", [None, 0, 7_000, 19_999])
def test_the_index_agrees_with_a_plain_look(around: int | None) -> None:
    store = LogStore()
    store.append(b"".join(b"%d\n" % n for n in range(20_000)))
    index = LogIndex(store)
    index.set_filter(LogFilter(include="7"), around=around)
    ticks = count()
    while index.advance(0, lambda: float(next(ticks))):
        rows = [index.line_at(row) for row in range(index.rows)]
        assert rows == sorted(rows)
    for n in range(20_000, 30_000):
        store.append(b"%d\n" % n)
        if n % 50 == 0:
            drain(index)
    drain(index)
    wanted = [n for n in range(30_000) if "7" in str(n)]
    assert [index.line_at(row) for row in range(index.rows)] == wanted
    for n in (0, 7, 8, 19_999, 27_654, 29_999):
        assert index.row_of(n) == sum(w < n for w in wanted)
        assert index.passes(n) is ("7" in str(n))


def test_rows_follow_when_the_store_drops_lines() -> None:
    store = LogStore(200_000)
    index = LogIndex(store, LogFilter(include="7"))
    for n in range(60_000):
        store.append(b"%d %s\n" % (n, b"%x" % hash(n * 7919) * 4))
        if n % 1000 == 999:
            drain(index)
            numbers = range(store.first, store.end)
            wanted = [k for k in numbers if b"7" in store.line(k)]
            assert index.rows == len(wanted)
            assert [index.line_at(0), index.line_at(index.rows - 1)] == [wanted[0], wanted[-1]]
    assert store.first > 10_000


def test_the_growing_line_has_no_row_before_those_above_it() -> None:
    store = LogStore()
    index = LogIndex(store)
    store.append(b"a\nb\ngrow")
    assert not index.shows_growing()
    index.advance(1.0, clock=lambda: 0.0)
    assert index.shows_growing()
    assert index.rows == 2


@pytest.mark.parametrize(
    "text",
    [
        r"(\S+\s?)+QQ",
        "(a*)*",
        "(a+)+$",
        "(?:x|(y+)z)*",
        "(a{2,})+",
        r"((\w+?) )*b",
        "(?P<n>a+)*",
        "(?=(a+)+)b",
        "(?i:(a+)*)",
    ],
)
def test_a_repeat_in_a_repeat_may_never_end(text: str) -> None:
    assert may_never_end(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "error.*rank",
        r"\d+ of \d+",
        "(ab)+",
        "(a{2,4})*",
        "(a+){2}",
        "[",
        "(a",
        r"(\S+) (\S+)",
        "x" * 500,
    ],
)  # fmt: skip
def test_other_patterns_end(text: str) -> None:
    assert not may_never_end(text)
