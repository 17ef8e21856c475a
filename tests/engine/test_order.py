"""Blocks of a serving log with something in the middle: the same in bulk as line by line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.engine.acceptance import USELESS_BELOW, AcceptanceWatch
from eagletui.engine.summary import LogSummary, summarise
from tests.engine.logs import in_bulk
from tests.engine.made_log import made_blocks
from tests.engine.test_catchup import caught_up, state, told

STARTED = (
    b"[2026-02-24 09:59:00] server_args=ServerArgs(model_path='m', speculative_num_steps=3)\n"
    b"[2026-02-24 09:59:59] The server is fired up and ready to roll!\n"
)
DECODE = (
    b"[2026-02-24 10:00:01 TP0] Decode batch, #running-req: 3, #token: 9012, token usage: 0.10, "
    b"accept len: 2.41, accept rate: 0.47, cuda graph: True, gen throughput (token/s): 412.09, "
    b"#queue-req: 0, \n"
)
USUAL = next(iter(made_blocks(1, decode=0.95))).split(b"\n")[:260]
BEFORE, AFTER = (b"\n".join(lines) + b"\n" for lines in (USUAL[:130], USUAL[130:]))
BAR = b"\rCapturing batches:  50%|##| 4/8 [00:01<00:01]"
TRACEBACK = b'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    run()\n'
# What a reader must not take for usual, one line or some.
NOTABLE: dict[str, bytes] = {
    "a failure": b"[2026-02-24 10:00:01] torch.OutOfMemoryError: CUDA out of memory.\n",
    "a crash": b"[2026-02-24 10:00:01] Received sigquit from a child process.\n",
    "a warning": b"[2026-02-24 10:00:01 TP0] KV cache pool is full. Retract requests. #x: 3\n",
    "a warning of a bar's": BAR + b"\rKV cache pool is full. Retract requests.\n",
    "a failure behind a bar": BAR + b"\rDetokenizerManager hit an exception\n",
    "a stop": b"[2026-02-24 10:00:01] SIGTERM received. signum=15 frame=None.\n",
    "a traceback": TRACEBACK + b"RuntimeError: CUDA out of memory\n",
    "a traceback with a decode line": TRACEBACK + DECODE + b"torch.OutOfMemoryError: CUDA out of\n",
    "a traceback with a bar": TRACEBACK + BAR + b"\ntorch.OutOfMemoryError: CUDA out of memory\n",
    "a traceback with an impossible day": TRACEBACK + DECODE.replace(b"-24 ", b"-31 ") + b"E: x\n",
    "a traceback with an impossible hour": TRACEBACK + DECODE.replace(b"10:", b"29:") + b"E: x\n",
    "a traceback with an odd line": TRACEBACK + b"[2026-02-24 10:00:01] Cache flushed\nE: x\n",
    "a usage text": b"usage: sglang serve [-h] [--port PORT]\n  [--host HOST]\n" + DECODE,
    "a launch": STARTED,
    "a launcher": b"UserWarning: 'python -m sglang.launch_server' is still supported\n" + STARTED,
    "a launch half seen": b"[2026-02-24 10:00:01 TP0] Init torch distributed begin.\n",
    "weights": b"[2026-02-24 10:00:01 TP0] Load weight begin. avail mem=1 GB\n",
    "graphs": b"[2026-02-24 10:00:01 TP0] Capture target verify CUDA graph begin. bs=[1, 2]\n",
    "ready again": STARTED.partition(b"\n")[2],
    "steps": b"[2026-02-24 10:00:01 TP0] Adaptive spec params updated: steps 3 -> 5\n",
    "a version": b"[2026-02-24 10:00:01 TP0] sglang version: 0.5.9\n",
    "an iteration": DECODE.replace(b"batch,", b"batch [12],"),
    "an older release": DECODE.replace(b"batch,", b"batch.").replace(b"accept rate: 0.47, ", b""),
    "another rank": DECODE.replace(b"TP0", b"DP1 TP0"),
    "no rank": DECODE.replace(b" TP0", b""),
    "milliseconds": DECODE.replace(b":01 ", b":01.250 "),
    "another day": DECODE.replace(b"-24 ", b"-25 "),
    "a colour within": DECODE.replace(b"Decode batch", b"Decode\x1b[1m batch"),
    "a colour before": b"\x1b[32m" + DECODE,
    "a stamp of docker's": b"2026-02-24T10:00:01.5Z " + DECODE,
    "glued": DECODE.rstrip(b"\n") + DECODE,
    "glued to text": b"warmup done" + DECODE,
    "glued to a prefill line": b"[2026-02-24 10:00:01 TP0] Prefill batch, #new-seq: 1, " + DECODE,
    "glued to an access line": b"[2026-02-24 10:00:01] INFO:     1.1.1.1:1 - " + DECODE,
    "a record in an access line": b'[2026-02-24 10:00:01] INFO:     1.1.1.1:1 - "GET /[2026-02-24 '
    b'10:00:01] SIGTERM received. "\n',
    "a bar in an access line": b"[2026-02-24 10:00:01] INFO:     1.1.1.1:1\rRetract requests\n",
    "text before an access line": b"SIGTERM received[2026-02-24 10:00:01] INFO:     1.1.1.1:1 - \n",
    "IPv6": b'[2026-02-24 10:00:01] INFO:     [::1]:40100 - "GET / HTTP/1.1" 200 OK\n',
    "a key twice": DECODE.replace(b"#queue-req", b"accept len: 1.00, #queue-req"),
    "a key twice, apart": DECODE.replace(b"accept len", b"#running-req: 99, accept len"),
    "no comma": DECODE.replace(b"2.41,", b"2.41"),
    "no digits": DECODE.replace(b"412.09", b""),
    "a carriage return": DECODE.replace(b"9012", b"90\r12"),
    "a line broken": DECODE.replace(b"9012", b"90\n12"),
    "another order": DECODE.replace(b"#running-req: 3", b"x: 1").replace(
        b"#queue-req: 0", b"#running-req: 3"
    ),
    "no ASCII": DECODE.replace(b"9012", "９０１２".encode()),
    "leading zeros": DECODE.replace(b"412.09", b"0412.09"),
    "a long number": DECODE.replace(b"412.09", b"123456.09"),
    "a number beyond all": DECODE.replace(b"412.09", b"9" * 308 + b".0") * 2,
    "a number that is none": DECODE.replace(b"412.09", b"9" * 400 + b".0"),
    "digits of another script": DECODE.replace(b"2026", "２０２６".encode()),
}


def both(chunks: list[bytes]) -> tuple[LogSummary, LogSummary]:
    return in_bulk(chunks), summarise([b"".join(chunks)], fast=False)


@pytest.mark.parametrize("notable", NOTABLE)
@pytest.mark.parametrize("started", [True, False])
def test_something_in_the_middle_of_a_block(notable: str, started: bool) -> None:
    chunks = [STARTED * started + DECODE, BEFORE, BEFORE + NOTABLE[notable] + AFTER, AFTER]
    fast, slow = both(chunks)
    assert fast == slow
    # The last sample is told by itself.
    fast, slow = both([*chunks[:2], BEFORE + NOTABLE[notable]])
    assert fast == slow
    data = b"".join(chunks)
    bulk, by_line = caught_up(data, 60_000), caught_up(data, len(data), bulk=False)
    assert told(bulk) == told(by_line)
    assert state(bulk) == state(by_line)


def test_verdicts_of_one_block_stay_in_their_order() -> None:
    useless = DECODE.replace(b"2.41", b"1.01") * 12
    warning = NOTABLE["a warning"]
    for middle in (useless + DECODE + warning, warning + DECODE + useless):
        fast, slow = both([STARTED + DECODE, BEFORE, BEFORE + middle + AFTER])
        assert len(fast.diagnosis) == 2
        assert fast == slow


USELESS = DECODE.replace(b"2.41", b"1.01")
# Before each, what is no sample with an accept length.
BETWEEN_USELESS = [
    b'[2026-02-24 10:00:01] INFO:     127.0.0.1:40100 - "GET /Decode batch. HTTP/1.1" 200 OK\n',
    b"[2026-02-24 10:00:01 TP0] Prefill batch, #new-seq: 1, Decode batch. #x: 1, accept len: 1.0\n",
    DECODE.replace(b"accept len: 2.41, accept rate: 0.47, ", b""),
    b"[2026-02-24 10:00:01 TP0] Cache flushed successfully!\n",
]


@pytest.mark.parametrize("between", BETWEEN_USELESS)
@pytest.mark.parametrize("before", [b"", b"sglang-1  | ", b"2026-02-24T10:00:01.5Z stdout F "])
def test_the_line_that_proves_the_draft_useless_is_shown(between: bytes, before: bytes) -> None:
    middle = (between + USELESS) * 12
    middle = b"".join(before + line for line in middle.splitlines(keepends=True))
    chunks = [STARTED + DECODE, BEFORE, middle]
    fast, slow = both(chunks)
    (verdict,) = slow.diagnosis
    assert verdict.line == 3 + BEFORE.count(b"\n") + 20
    assert verdict.evidence == USELESS.decode().strip()
    assert fast == slow
    data = b"".join(chunks) + BEFORE
    bulk, by_line = caught_up(data, 60_000), caught_up(data, len(data), bulk=False)
    assert told(bulk) == told(by_line)


@pytest.mark.parametrize("text", BETWEEN_USELESS[:2])
def test_what_only_mentions_a_decode_line_tells_no_release(text: bytes) -> None:
    nameless = DECODE.replace(b"batch,", b"batch [12],").replace(b"accept rate: 0.47, ", b"")
    fast, slow = both([nameless, text + nameless * 3])
    assert "up to" not in (slow.version or "")
    assert fast == slow


def test_the_first_decode_line_that_tells_its_release_counts() -> None:
    nameless = NOTABLE["an iteration"]
    fast, slow = both([DECODE.replace(b"batch,", b"batch [1],"), nameless * 9 + DECODE + nameless])
    assert fast.version == "0.5.4+"
    assert fast == slow


def test_an_exception_that_waits_goes_by_the_last_line() -> None:
    odd = b"[2026-02-24 11:11:11] Cache flushed successfully!\n"
    data = odd.replace(b"11:11:11", b"10:00:00") + DECODE * 9
    data += BEFORE + TRACEBACK.replace(b"<module>", b"run") + b"E: x\n" + BEFORE
    data += DECODE * 400 + odd + DECODE * 400
    bulk, by_line = caught_up(data, 60_000), caught_up(data, len(data), bulk=False)
    assert told(by_line)[-1].at == 1771931471.0
    assert told(bulk) == told(by_line)


def test_odd_lines_before_a_launch_are_its_first() -> None:
    odd = b"[2026-02-24 09:58:30] Cache flushed successfully!\n"
    for before in (BEFORE, odd + BEFORE, BEFORE + odd, BEFORE + odd + BEFORE):
        fast, slow = both([DECODE, before, STARTED])
        assert fast == slow


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*NOTABLE.values(), DECODE * 30, BEFORE[:6000]]), max_size=8),
    st.booleans(),
    st.integers(2000, 70_000),
)
def test_anything_in_any_order(pieces: list[bytes], started: bool, size: int) -> None:
    data = STARTED * started + DECODE + b"".join(piece.rstrip(b"\n") + b"\n" for piece in pieces)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    fast, slow = both(chunks)
    assert fast == slow


@given(
    st.lists(st.sampled_from([1.00, 1.04, 1.05, 2.00, 12.00]), max_size=60),
    st.integers(1, 30),
    st.sampled_from([10, 11, 17]),
)
def test_a_column_of_accept_lengths_is_judged_as_one_by_one(
    lengths: list[float], size: int, needed: int
) -> None:
    column, single = AcceptanceWatch(), AcceptanceWatch()
    column.needed = single.needed = needed
    for start in range(0, len(lengths), size):
        piece = lengths[start : start + size]
        found = [index for index, length in enumerate(piece) if single.add(length)]
        index = column.add_column([length < USELESS_BELOW for length in piece])
        assert index == next(iter(found), None)
