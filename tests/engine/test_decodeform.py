"""Decode lines read by their form: a block at once, and the same as line by line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.engine.decodeform import form_key
from eagletui.engine.steady import Steady, SteadyReader, places
from eagletui.engine.summary import summarise
from tests.engine.made_log import made_blocks

OTHERS = (
    b'[2026-02-24 10:00:09] INFO:     127.0.0.1:40100 - "POST /generate HTTP/1.1" 200 OK\n',
    b"[2026-02-24 10:00:09 TP0] Cache flushed successfully!\n",
    b"\n",
    b"\rCapturing batches:  50%|##| 4/8 [00:01<00:01]\n",
    b"[2026-02-24 10:00:09 TP0] Prefill batch, #new-seq: 5, #new-token: 4618, #cached-token: 2289,"
    b" token usage: 0.76, #running-req: 9, #queue-req: 0, \n",
)


def decode(
    *,
    day: bytes = b"2026-02-24",
    millis: bytes = b"",
    rank: bytes = b" TP0",
    mark: bytes = b",",
    running: int = 3,
    accept: bytes = b"accept len: 2.41, accept rate: 0.47, ",
    graph: bytes = b"True",
    speed: bytes = b"412.09",
    tail: bytes = b", ",
) -> bytes:
    return (
        b"[%b 10:00:01%b%b] Decode batch%b #running-req: %d, #token: 9012, token usage: 0.10, %b"
        b"cuda graph: %b, gen throughput (token/s): %b, #queue-req: 0%b\n"
        % (day, millis, rank, mark, running, accept, graph, speed, tail)
    )


class Watched(SteadyReader):
    """Remembers what was read line by line."""

    def __init__(self) -> None:
        super().__init__()
        self.by_line = b""

    def _by_shape(self, block: bytes) -> Steady | None:
        self.by_line += block
        return super()._by_shape(block)


def taken_by_form(block: bytes, first: bytes) -> bool:
    """Whether no decode line of the block was looked at alone, once `first` was read."""
    reader = Watched()
    assert reader.read(first) is not None
    reader.by_line = b""
    assert reader.read(block) is not None
    return b"Decode batch" not in reader.by_line


@pytest.mark.parametrize("change", [
    {"running": 250}, {"mark": b"."}, {"graph": b"False"}, {"rank": b" TP7"},
    {"speed": b"0.31"}, {"speed": b"12345.00"},
    {"accept": b"accept len: 12.00, accept rate: 1.00, "},
])  # fmt: skip
def test_what_changes_from_line_to_line_is_of_the_same_form(change: dict[str, Any]) -> None:
    block = decode() + OTHERS[0] + decode(**change) + OTHERS[4]
    assert taken_by_form(block, decode())
    reader = SteadyReader()
    reader.read(decode())
    by_line = SteadyReader().read(block)
    by_form = reader.read(block)
    assert by_form is not None
    assert by_line is not None
    assert by_form[:6] == by_line[:6]


@pytest.mark.parametrize("change", [
    {"day": b"2026-02-25"}, {"day": b"2026-02-31"}, {"millis": b".250"}, {"rank": b" DP1 TP0"},
    {"accept": b""}, {"speed": b"412.091"}, {"tail": b""},
    {"accept": b"accept len: 02.41, accept rate: 0.47, "}, {"graph": b"None"},
])  # fmt: skip
def test_another_form_is_not_taken_for_it(change: dict[str, Any]) -> None:
    reader = SteadyReader()
    assert reader.read(decode()) is not None
    assert reader._form is not None
    assert not reader._form.expression.search(decode(**change))
    blocks = [decode() * 2, decode() + decode(**change), decode()]
    assert summarise(blocks) == summarise(blocks, fast=False)


@pytest.mark.parametrize("change", [
    {"day": b"2026-02-25"}, {"millis": b".250"}, {"rank": b" DP1 TP0"}, {"accept": b""},
    {"speed": b"412.091"}, {"tail": b""},
])  # fmt: skip
def test_the_next_form_is_learned(change: dict[str, Any]) -> None:
    assert taken_by_form(decode(**change), decode(**change))


def test_a_form_seen_before_is_not_made_again() -> None:
    reader = SteadyReader()
    for _ in range(3):
        for day in (b"2026-02-24", b"2026-02-25"):
            assert reader.read(decode(day=day)) is not None
    assert list(reader._forms) == [form_key(decode(day=day)[:-1]) for day in (
        b"2026-02-24", b"2026-02-25"
    )]  # fmt: skip


def test_long_logs_are_read_by_form() -> None:
    blocks = list(made_blocks(900_000, decode=0.9))
    assert taken_by_form(blocks[1], blocks[0])


def test_odd_lines_keep_their_places() -> None:
    reader = SteadyReader()
    first = reader.read(decode())
    assert first is not None
    block = OTHERS[1] + decode() * 3 + OTHERS[0] + OTHERS[1] + OTHERS[2] + decode() + OTHERS[1]
    steady = reader.read(block)
    assert steady is not None
    odd = OTHERS[1][:-1]
    assert list(places(steady, steady.others)) == [(0, odd), (5, odd), (6, b""), (8, odd)]
    assert list(places(steady, steady.others[2:])) == [(6, b""), (8, odd)]
    assert (steady.samples, steady.lines) == (4, 9)


LINES = st.lists(
    st.one_of(
        st.sampled_from(OTHERS),
        st.builds(
            decode,
            day=st.sampled_from([b"2026-02-24", b"2026-02-25"]),
            rank=st.sampled_from([b"", b" TP0", b" DP1 TP0"]),
            running=st.integers(0, 10**10),
            accept=st.sampled_from([b"", b"accept len: 1.00, ", b"accept len: 10.50, "]),
            speed=st.sampled_from([b"1.00", b"00.1", b"9e5", b"nan", b"77.125", b"12\r"]),
        ),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(LINES, st.integers(50, 3000), st.integers(0, 3000), st.binary(max_size=6))
def test_lines_of_many_forms_in_any_order(
    lines: list[bytes], size: int, place: int, noise: bytes
) -> None:
    data = decode() * 2 + b"".join(lines)
    data = data[:place] + noise + data[place:]
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert summarise(chunks) == summarise([data], fast=False)
