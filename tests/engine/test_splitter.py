"""Bytes into logical lines, wherever they were cut."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine import splitter
from eagletui.engine.splitter import MAX_LINE, Line, Splitter
from eagletui.model.logstore import LogStore

PIECES = st.sampled_from(
    [
        b"\n", b"\r", b"\r\n", b"[2026-01-20 02:40:29 DP1 TP1] Load weight end.",
        b"shards:  25% Completed | 1/4 [00:03<00:09,  3.1s/it]", b"\x1b[32mINFO\x1b[0m", b"\x1b",
        b"2026-01-20T02:40:29.12Z ", b"[", b"]", b"text", "█▎".encode(), b"\xff", b" ",
    ]
)  # fmt: skip


def split(data: bytes, size: int = 0) -> list[Line]:
    splitter = Splitter()
    size = size or max(1, len(data))
    lines: list[Line] = []
    for start in range(0, len(data), size):
        lines += splitter.feed(data[start : start + size])
    return lines + list(splitter.finish())


def test_a_record_glued_to_a_bar_is_a_line_of_its_own() -> None:
    data = (
        b"Capturing batches (bs=232 avail_mem=12.61 GB):   8%|x | 3/36 [00:04<00:43,  1.32s/it]"
        b"[2026-01-20 02:40:29 DP1 TP1] Load weight end. elapsed=1.00 s\nnext\n"
    )
    lines = split(data)
    assert [line.data[:24] for line in lines] == [
        b"Capturing batches (bs=23",
        b"[2026-01-20 02:40:29 DP1",
        b"next",
    ]
    assert [line.number for line in lines] == [1, 1, 2]


def test_bars_end_in_carriage_returns_and_blank_lines_are_none() -> None:
    lines = split(b"\ra 1/4\ra 2/4\r\n\r\nb\n")
    assert [(line.number, line.data) for line in lines] == [(1, b"a 1/4"), (1, b"a 2/4"), (3, b"b")]


@pytest.mark.parametrize(
    "prefix",
    [
        b"2026-01-20T02:40:29.123456789Z ",
        b"2026-01-20T02:40:29.123456789+00:00 stderr F ",
        b"Jan 20 02:40:29 gpu1 sglang[1234]: ",
        b"2026-01-20T02:40:29+0100 gpu1 python3[1234]: ",
        b"sglang-1  | ",
    ],
)
def test_prefixes_of_outer_programs_go(prefix: bytes) -> None:
    for text in (b"[2026-01-20 02:40:29] ready", b"Traceback (most recent call last):"):
        assert [line.data for line in split(prefix + text + b"\n")] == [text]


def test_colours_go() -> None:
    (line,) = split(b"[2026-11-29 12:44:03] \x1b[32mINFO\x1b[0m:     Started\r\n")
    assert line.data == b"[2026-11-29 12:44:03] INFO:     Started"


def test_a_line_without_end_is_held_and_can_be_looked_at() -> None:
    splitter = Splitter()
    assert list(splitter.feed(b"shards: 1/4 [00:03]")) == []
    assert [line.data for line in splitter.pending()] == [b"shards: 1/4 [00:03]"]
    assert [line.data for line in splitter.feed(b"\r")] == [b"shards: 1/4 [00:03]"]
    assert splitter.at_start


def test_long_lines_are_cut_and_say_so() -> None:
    (line,) = split(b"x" * (MAX_LINE + 7) + b"\n", 1000)
    assert (len(line.data), line.cut) == (MAX_LINE, 7)


@given(st.lists(PIECES | st.binary(max_size=9), max_size=30), st.integers(1, 40))
def test_chunks_do_not_matter(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    assert split(data, size) == split(data)
    assert all(1 <= line.number <= data.count(b"\n") + 1 for line in split(data))


@pytest.mark.parametrize("longest", [2, MAX_LINE])
def test_no_cut_of_any_short_text_matters(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of three kinds of bytes, cut in two everywhere."""
    monkeypatch.setattr(splitter, "MAX_LINE", longest)
    for length in range(1, 9):
        for letters in product(b"a\r\n", repeat=length):
            whole = bytes(letters)
            wanted = split(whole)
            for cut in range(1, length):
                reader = Splitter()
                first = list(reader.feed(whole[:cut]))
                rest = list(reader.feed(whole[cut:]))
                assert [*first, *rest, *reader.finish()] == wanted, (whole, cut)


def test_what_is_read_is_what_the_stored_log_shows() -> None:
    for length in range(1, 9):
        for letters in product(b"a\r\n", repeat=length):
            store = LogStore()
            store.append(bytes(letters))
            shown = [line for line in store.lines(0, store.end) if line]
            assert [line.data for line in split(bytes(letters))] == shown
