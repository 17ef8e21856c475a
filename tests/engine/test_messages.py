"""Lines that mean nothing, told without the reader: the same as the reader finds."""

from __future__ import annotations

from typing import Any

import pytest

from eagletui.engine import failures
from eagletui.engine.bars import TELLING, holds_only_bars
from eagletui.engine.launch import PHASE_STARTS
from eagletui.engine.messages import LAUNCHER, means_nothing
from eagletui.engine.reader import LogReader
from eagletui.engine.signatures.table import SIGNATURES
from tests.engine.logs import NAMES, recorded
from tests.engine.made_log import made_blocks

BAR = b"\rCapturing batches (bs=8 avail_mem=9.1 GB):  50%|\xe2\x96\x88\xe2\x96\x8e | 4/8 [00:01<?]"
STARTED = (
    b"[2026-01-20 02:40:00] server_args=ServerArgs(model_path='m', speculative_num_steps=3)\n"
    b"[2026-01-20 02:40:09 TP0] Load weight begin. avail mem=1 GB\n"
)
SERVING = (
    b"[2026-01-20 02:41:00] The server is fired up and ready to roll!\n"
    b"[2026-01-20 02:41:00] Cache flushed successfully!\n"
)
# What the reader takes for more than a sign of failure, by the way its message begins.
STARTS = (
    *PHASE_STARTS, *failures.STOPS, "server_args=", "usage: ", "Decode batch, #running-req: 1",
    "Prefill batch, #new-seq: 1", "Adaptive spec params updated: steps 3 -> 5",
    "Switch adaptive runtime state: steps 3 -> 5",
)  # fmt: skip
WITHIN = (
    LAUNCHER, "Scheduler hit an exception: Traceback (most recent call last):",
    "resource_tracker: There appear to be 1 leaked semaphore objects",
)  # fmt: skip
HINTS = sorted(
    {hint for row in SIGNATURES if row.where != "exception" for hint in row.hints},
)


@pytest.mark.parametrize("text", [*STARTS, *WITHIN, *HINTS])
def test_what_may_mean_something_is_seen_behind_a_bar(text: str) -> None:
    assert holds_only_bars(BAR * 3)
    for glued in (BAR + b"\r" + text.encode(), BAR + text.encode() + BAR):
        assert not holds_only_bars(glued)
    assert not holds_only_bars(BAR + b"\r[2026-01-20 02:41:00] " + b"x")
    assert not holds_only_bars(BAR + b"\r\x1b[1m" + b"x")


def test_what_tells_is_written_as_it_is_looked_for() -> None:
    for text in TELLING:
        assert not holds_only_bars(BAR + text)


@pytest.mark.parametrize("text", [*STARTS, *WITHIN])
@pytest.mark.parametrize("begin", [b"", b"[2026-01-20 02:41:00 TP0] ", b"x[2026-01-20 02:41:00] "])
def test_what_may_mean_something_is_seen_anywhere(text: str, begin: bytes) -> None:
    assert means_nothing(begin + b"Cache flushed successfully!")
    assert not means_nothing(begin + text.encode())


def test_the_version_is_no_empty_message() -> None:
    assert not means_nothing(b"[2026-01-20 02:41:00] sglang version: 0.5.9")


def inner(thing: Any, left_out: tuple[str, ...]) -> Any:
    """All that an object holds, but what says where and when it reads."""
    if isinstance(thing, dict):
        return {str(key): inner(value, left_out) for key, value in thing.items()}
    if hasattr(thing, "__dict__") and type(thing).__module__.startswith("eagletui.engine"):
        return {k: inner(v, left_out) for k, v in vars(thing).items() if k not in left_out}
    return repr(thing)


WHEN = ("_stamp", "_at", "_live", "_splitter", "_last")


@pytest.mark.parametrize("announced", [True, False])
def test_what_means_nothing_changes_nothing(announced: bool) -> None:
    """All lines of all recordings, each fed to a reader of a server that serves."""
    lines = {line for name in NAMES for line in recorded(name).split(b"\n")}
    lines |= set(next(iter(made_blocks(1, decode=0.1))).split(b"\n"))
    reader = LogReader("s")
    reader.feed(STARTED * announced + SERVING, at=0.0, live=False)
    before = inner(reader, WHEN)
    silent = [line for line in sorted(lines) if means_nothing(line)]
    assert len(silent) > 1000
    for line in silent:
        assert reader.feed(line + b"\n", at=0.0, live=False) == [], line
    assert inner(reader, WHEN) == before
