"""Catching up with an old log in bulk: the same state as line by line, in fewer events."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eagletui.engine.catchup import RECENT, CatchUp
from eagletui.engine.reader import LogReader
from eagletui.model import events as ev
from eagletui.model.state import ServerState
from tests.engine.logs import NAMES, folded, recorded
from tests.engine.made_log import made_blocks

LONG_AGO = 2e9
START = recorded("dense_k3")[:30_000].rpartition(b"\n")[0] + b"\n"
MADE = b"".join(made_blocks(420_000, decode=0.9))
SERVED = START + MADE
# The first line of MADE was written then; log time.
MADE_AT = 1_771_927_200.0


def caught_up(
    data: bytes,
    size: int,
    *,
    now: float = LONG_AGO,
    clock: float = 0.0,
    in_full: int = 0,
    bulk: bool = True,
) -> list[ev.Event]:
    reader = LogReader("s", clock=clock)
    feed = CatchUp(reader, in_full=in_full).feed if bulk else reader.feed
    events: list[ev.Event] = []
    for start in range(0, len(data), size):
        events += feed(data[start : start + size], at=now, live=False)
    return events + reader.finish(now)


def state(events: list[ev.Event]) -> ServerState:
    return folded(events)


def samples(events: list[ev.Event]) -> int:
    return sum(isinstance(event, ev.DecodeSample) for event in events)


def told(events: list[ev.Event]) -> list[ev.Event]:
    """All that is no sample."""
    return [e for e in events if not isinstance(e, ev.DecodeSample | ev.PrefillSample)]


def assert_same(data: bytes, size: int) -> list[ev.Event]:
    slow, fast = caught_up(data, len(data) or 1, bulk=False), caught_up(data, size)
    assert told(fast) == told(slow)
    if slow:
        assert state(fast) == state(slow)
    return fast


@pytest.mark.parametrize("size", [20_000, 131_072, 1 << 20])
def test_a_served_log_gives_the_same_state(size: int) -> None:
    fast = assert_same(SERVED, size)
    assert samples(fast) < SERVED.count(b"Decode batch") / 4


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_after_a_long_service_is_told(name: str) -> None:
    assert_same(SERVED + recorded(name) + MADE, 100_000)


@pytest.mark.parametrize("odd", [
    b"[2026-02-24 11:00:00 TP0] Adaptive spec params updated: steps 3 -> 5, draft_tokens 4 -> 6\n",
    b"[2026-02-24 11:00:00] SIGTERM received. signum=None frame=None. Draining requests.\n",
    b"Segmentation fault (core dumped)\n",
    b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
    b"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nValueError: no\n",
])  # fmt: skip
@pytest.mark.parametrize("share", [0.31, 0.62, 0.999])
def test_odd_lines_keep_line_number_and_moment(odd: bytes, share: float) -> None:
    place = SERVED.find(b"\n", int(len(SERVED) * share)) + 1
    assert_same(SERVED[:place] + odd + SERVED[place:], 131_072)


def test_a_draft_that_became_useless_is_told_with_its_line() -> None:
    lines = [
        b"[2026-02-24 10:%02d:%02d TP0] Decode batch, #running-req: 1, #token: 9, token usage:"
        b" 0.10, accept len: %s, accept rate: 0.00, cuda graph: True, gen throughput (token/s):"
        b" 9.00, #queue-req: 0, \n" % (i // 60, i % 60, b"1.02" if 500 <= i < 600 else b"2.00")
        for i in range(2000)
    ]
    lines.insert(505, b"Segmentation fault (core dumped)\n")
    fast = assert_same(SERVED + b"".join(lines), 131_072)
    codes = [e.diagnosis.code for e in fast if isinstance(e, ev.Diagnosed)]
    assert "accept-length-one" in codes


def test_what_is_recent_is_read_in_full() -> None:
    clock = -3600.0
    made_at = MADE_AT + clock
    fast = caught_up(MADE, 65_536, now=made_at + 30, clock=clock)
    assert samples(fast) == MADE.count(b"Decode batch")
    later = caught_up(MADE, 65_536, now=made_at + RECENT + 3000, clock=clock)
    assert samples(later) < MADE.count(b"Decode batch") / 3


def test_what_is_short_is_read_in_full() -> None:
    fast = caught_up(MADE, 65_536, in_full=len(MADE) + 1)
    assert samples(fast) == MADE.count(b"Decode batch")


def test_live_lines_are_read_in_full() -> None:
    reader = LogReader("s")
    catch_up = CatchUp(reader, in_full=0)
    catch_up.feed(MADE[:65_536], at=LONG_AGO, live=False)
    rest = MADE[65_536:]
    events = catch_up.feed(rest, at=LONG_AGO, live=True)
    cut = MADE[:65_536].rpartition(b"\n")[2]
    assert samples(events) == (cut + rest).count(b"Decode batch")


@pytest.mark.parametrize("ranks", [(b"TP0",), (b"DP0 TP0", b"DP1 TP0")])
def test_what_follows_is_marked_the_same(ranks: tuple[bytes, ...]) -> None:
    """Whether a line counts idle time is known from the lines before it."""
    usual = b"".join(
        b"[2026-02-24 10:%02d:%02d %b] Decode batch, #running-req: 1, #token: 9, token usage: 0.10,"
        b" accept len: 2.00, accept rate: 0.50, cuda graph: True, gen throughput (token/s): 90.00, "
        b"#queue-req: 0, \n" % (i // 60, i % 60, rank)
        for i in range(900)
        for rank in ranks
    )
    slow_one = usual[-250:].rpartition(b"\n[")[2].replace(b"90.00", b"20.00")
    idle = slow_one.replace(b"10:14:59", b"10:44:59")
    for last in (b"[" + idle, b"[" + slow_one):
        data = SERVED + usual
        slow, fast = LogReader("s"), LogReader("s")
        catch_up = CatchUp(fast, in_full=0)
        slow.feed(data, at=LONG_AGO, live=False)
        catch_up.feed(data, at=LONG_AGO, live=False)
        (told_slow,) = slow.feed(last, at=LONG_AGO)
        (told_fast,) = catch_up.feed(last, at=LONG_AGO)
        assert told_slow == told_fast


@settings(max_examples=25, deadline=None)
@given(
    st.binary(max_size=300),
    st.integers(16_384, 150_000),
    st.floats(0, 1),
    st.sampled_from([b"", b"\n", b"\r", b"\n\r", b"[2026-02-24 10:10:10] "]),
)
def test_any_bytes_anywhere(noise: bytes, size: int, share: float, begin: bytes) -> None:
    data = SERVED[: len(START) + 120_000]
    place = int(len(data) * share)
    assert_same(data[:place] + begin + noise + data[place:], size)


def test_the_end_is_read_in_full() -> None:
    fast = caught_up(SERVED, len(SERVED))
    newest = [e for e in fast if isinstance(e, ev.DecodeSample)][-16:]
    slow = [e for e in caught_up(SERVED, len(SERVED), bulk=False) if isinstance(e, ev.DecodeSample)]
    assert [replace(e, first=False) for e in newest] == [
        replace(e, first=False) for e in slow[-16:]
    ]
