"""The store of log text: lines, numbers that stay, bounds."""

from __future__ import annotations

import gzip
import time
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model import logstore
from eagletui.model.logstore import BLOCK_BYTES, LONGEST_LINE, LogStore

STAMP = b"[2026-11-29 12:30:19] "
BAR = b"0%|          | 0/8 [00:00<?, ?it/s]"


def stored(*chunks: bytes, limit: int = 64 << 20) -> LogStore:
    store = LogStore(limit)
    for chunk in chunks:
        store.append(chunk)
    return store


def everything(store: LogStore) -> list[bytes]:
    return store.lines(store.first, store.end)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"\rone\rtwo\rthree\n", [b"one", b"two", b"three"]),
        (b"a\n\r\r\rb\n", [b"a", b"b"]),
        (BAR + STAMP + b"x\n", [BAR, STAMP + b"x"]),
        (BAR + b"/opt/a.py:1: UserWarning\n", [BAR, b"/opt/a.py:1: UserWarning"]),
        (b"warnings.warn(x)" + STAMP + b"y\n", [b"warnings.warn(x)", STAMP + b"y"]),
        (b"(pid=1) " + STAMP + b"y\n", [b"(pid=1) " + STAMP + b"y"]),
        (b"", []),
    ],
)
def test_lines(data: bytes, lines: list[bytes]) -> None:
    assert everything(stored(data)) == lines


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"b c", b"\r\n", b"x" * 50]), max_size=40),
    st.data(),
)
def test_how_the_bytes_are_cut_does_not_matter(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(edges)]
    assert everything(stored(*pieces)) == everything(stored(whole))


def state(store: LogStore) -> tuple[object, ...]:
    """All that decides what a store says now and what it makes of the next bytes."""
    text = b"".join(store._open)
    return store.sealed, store.settled, text, store._partial, store._returns, store._cut


@pytest.mark.parametrize("longest", [2, LONGEST_LINE])
def test_no_cut_of_any_short_text_matters(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every cut in two leads to the state of the whole, every cut in more does, too."""
    monkeypatch.setattr(logstore, "LONGEST_LINE", longest)
    for length in range(1, 9):
        for letters in product(b"a\r\n", repeat=length):
            whole = bytes(letters)
            wanted = state(stored(whole))
            for cut in range(1, length):
                assert state(stored(whole[:cut], whole[cut:])) == wanted, (whole, cut)


@pytest.mark.parametrize(
    ("data", "marked"),
    [
        (b"abcde\nx\n", b"abc \xe2\x80\xa6 (+2 bytes)\nx\n"),
        (b"abcde\rx\n", b"abc \xe2\x80\xa6 (+2 bytes)\r\nx\n"),
        (b"abcde\r\nx\n", b"abc \xe2\x80\xa6 (+2 bytes)\nx\n"),
        (b"abc\rx\n", b"abc\r\nx\n"),
        (b"abc\n\r\r\rabc\r\n", b"abc\nabc\n"),
    ],
)
def test_a_cut_line_keeps_how_it_ended(
    data: bytes, marked: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logstore, "LONGEST_LINE", 3)
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))]):
        store = stored(*pieces)
        assert store.stretch(0).text == marked


def test_a_growing_line_is_there_and_keeps_its_number() -> None:
    store = stored(b"a\nload")
    assert (store.sealed, store.end, store.line(1)) == (1, 2, b"load")
    store.append(b"ing\n")
    assert (store.sealed, store.end, store.line(1)) == (2, 2, b"loading")


def test_a_real_log_keeps_every_line(recordings: Path) -> None:
    data = gzip.decompress((recordings / "h200-spec5.log.gz").read_bytes())
    store = stored(*(data[at : at + 1000] for at in range(0, len(data), 1000)))
    text = b"\n".join(everything(store))
    assert text.count(b"Decode batch") == data.count(b"Decode batch")
    assert text.count(b"Completed | ") == data.count(b"Completed | ")
    assert all(b"\r" not in line for line in everything(store))
    # The line that `grep -n` finds is found by its number.
    number = data[: data.index(b"Load weight end")].count(b"\n") + 1
    assert b"Load weight end" in store.line(store.physical_line(number))


def test_numbers_are_never_used_again() -> None:
    store = LogStore(300_000)
    for number in range(60_000):
        store.append(b"%07d %s\n" % (number, b"%x" % hash(number * 7919) * 4))
        assert store.end == number + 1
    assert store.first > 0
    assert store.memory <= 300_000 + BLOCK_BYTES
    for number in (store.first, (store.first + store.end) // 2, store.end - 1):
        assert store.line(number).startswith(b"%07d" % number)
    assert store.physical_line(store.first + 11) == store.first + 10
    with pytest.raises(IndexError):
        store.line(store.first - 1)
    with pytest.raises(IndexError):
        store.line(store.end)


def test_old_blocks_are_packed_one_a_call() -> None:
    store = LogStore()
    line = b"the same words again and again\n"
    store.append(line * (2 << 20 >> 5))
    before = store.memory
    assert before > 1 << 20
    while store.compact():
        pass
    assert store.memory < before * 0.8
    assert store.line(3) == line[:-1]


def test_a_line_without_end_is_capped() -> None:
    store = LogStore()
    began = time.process_time()
    chunk = b"x" * (1 << 20)
    for _ in range(100):
        store.append(chunk)
    for _ in range(10_000):
        store.append(b"yyyyyyyyyy")
    assert store.memory <= LONGEST_LINE
    store.append(b"end\nnext\n")
    assert time.process_time() - began < 5
    assert everything(store)[1] == b"next"
    cut = 100 * (1 << 20) + 100_000 + 3 - LONGEST_LINE
    assert store.line(0).endswith(f" … (+{cut} bytes)".encode())


def test_long_lines_within_one_chunk_are_cut() -> None:
    store = stored(b"a\n" + b"x" * 200_000 + b"\nb\n" + b"y" * LONGEST_LINE + b"\n")
    assert store.line(1).endswith(f" … (+{200_000 - LONGEST_LINE} bytes)".encode())
    assert store.line(2) == b"b"
    assert store.line(3) == b"y" * LONGEST_LINE


def test_a_gap_is_a_line_of_our_own() -> None:
    store = stored(b"a\nunfinished")
    store.gap("rotated")
    store.append(b"b\n")
    assert [store.gap_text(n) for n in range(4)] == [None, None, "rotated", None]
    assert everything(store) == [b"a", b"unfinished", b"", b"b"]


def test_pieces_meet() -> None:
    store = stored(b"".join(b"%d\n" % n for n in range(200_000)))
    position, seen = 0, 0
    while position < store.sealed:
        piece = store.piece(position, 1000)
        assert piece.lines[0] == b"%d" % position
        seen += len(piece.lines)
        position += len(piece.lines)
    assert seen == 200_000
    before = store.piece_before(position, 10)
    assert before.lines[-1] == b"199999"
    assert before.first + len(before.lines) == position


@given(st.lists(st.text("ab\n\r", max_size=3000).map(str.encode), max_size=60), st.data())
def test_a_stretch_is_the_lines_to_the_end_of_their_block(
    pieces: list[bytes], data: st.DataObject
) -> None:
    store = LogStore()
    store.append(b"x" * 60_000 + b"\n")
    for piece in pieces * 3:
        store.append(piece)
    number = data.draw(st.integers(store.first, store.sealed - 1))
    stretch = store.stretch(number)
    assert (stretch.first, stretch.lines) == (number, stretch.text.count(b"\n"))
    assert stretch.text.split(b"\n")[:-1] == store.piece(number, store.sealed).lines
    with pytest.raises(IndexError):
        store.stretch(store.sealed)


def test_stretches_lead_through_packed_plain_and_open_blocks() -> None:
    store = LogStore()
    lines = [b"%d %s" % (n, b"-" * (n % 300)) for n in range(20_000)]
    for begin in range(0, len(lines), 333):
        store.append(b"".join(line + b"\n" for line in lines[begin : begin + 333]))
    number, text = 1, b""
    while number < store.sealed:
        stretch = store.stretch(number)
        text += stretch.text
        number += stretch.lines
    assert text.split(b"\n")[:-1] == lines[1:]
    for number in (5_000, 19_000, 19_999):
        assert store.stretch(number).text.startswith(lines[number] + b"\n")
