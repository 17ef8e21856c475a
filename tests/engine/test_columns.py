"""Decode lines read column by column: a block at once, and the same as line by line."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.engine.amounts import amounts
from eagletui.engine.columns import Numbers, form_key
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
        super().__init__(columns_after=0)
        self.by_line = b""

    def _by_shape(self, block: bytes) -> Steady | None:
        self.by_line += block
        return super()._by_shape(block)


def in_columns() -> SteadyReader:
    return SteadyReader(columns_after=0)


def taken_by_form(block: bytes, first: bytes) -> bool:
    """Whether no decode line of the block was looked at alone, once `first` was read."""
    reader = Watched()
    assert reader.read(first) is not None
    reader.by_line = b""
    assert reader.read(block) is not None
    return b"Decode batch" not in reader.by_line


CHANGES: list[dict[str, Any]] = [
    {"running": 250}, {"running": 0}, {"running": 12345678}, {"mark": b"."}, {"graph": b"False"},
    {"rank": b" TP7"}, {"speed": b"0.31"}, {"speed": b"12345.00"},
    {"accept": b"accept len: 9.99, accept rate: 1.00, "},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_from_line_to_line_is_of_the_same_form(change: dict[str, Any]) -> None:
    block = decode() + OTHERS[0] + decode(**change) + OTHERS[4]
    assert taken_by_form(block, decode())
    reader = in_columns()
    reader.read(decode())
    by_line = SteadyReader().read(block)
    by_form = reader.read(block)
    assert by_form is not None
    assert by_line is not None
    assert by_form._replace(left=[]) == by_line._replace(left=[])


OTHER_FORMS: list[dict[str, Any]] = [
    {"day": b"2026-02-25"}, {"millis": b".250"}, {"rank": b" DP1 TP0"}, {"accept": b""},
    {"speed": b"412.091"}, {"tail": b""},
]  # fmt: skip
NO_FORMS: list[dict[str, Any]] = [
    {"day": b"2026-02-31"}, {"accept": b"accept len: 02.41, accept rate: 0.47, "},
    {"accept": b"accept len: 12.41, accept rate: 0.47, "}, {"graph": b"None"},
    {"graph": b"Tru"}, {"graph": b"Falsey"}, {"speed": b"123456.09"}, {"speed": b"4:2.09"},
    {"speed": b".09"}, {"speed": b"412,09"}, {"speed": b""}, {"running": 123456789},
    {"rank": b" TP:"}, {"tail": b", \r"}, {"tail": b",\0"}, {"mark": b"-"},
]  # fmt: skip


@pytest.mark.parametrize("change", OTHER_FORMS + NO_FORMS)
def test_another_form_is_not_taken_for_it(change: dict[str, Any]) -> None:
    reader = in_columns()
    assert reader.read(decode()) is not None
    assert reader._form is not None
    assert reader._form.take(decode() + decode(**change) + decode()).samples == 2
    blocks = [decode() * 2, decode() + decode(**change), decode()]
    assert summarise(blocks, columns_after=0) == summarise(blocks, fast=False)


TENS = {12: b"012", 15: b"012345", 18: b"012345"}  # of hours, minutes, seconds


def may_stand(line: bytes, place: int) -> set[int]:
    """The bytes that may stand at this place of a decode line of the same form."""
    byte = line[place : place + 1]
    if line[:place].endswith(b"Decode batch"):
        return {*b".,"}
    if not byte.isdigit() or place < len("[2026-02-24 "):
        return {*byte}
    return {*TENS.get(place, b"0123456789")}


@pytest.mark.parametrize("place", range(len(decode()) - 1))
def test_no_byte_of_a_line_is_overlooked(place: int) -> None:
    line = decode()
    reader = in_columns()
    reader.read(line)
    assert reader._form is not None
    usual = may_stand(line, place)
    others = [line[:place] + bytes([byte]) + line[place + 1 :] for byte in {*range(256)} - usual]
    assert reader._form.take(b"".join(others)).left == [(0, b"".join(others))]
    usuals = b"".join(line[:place] + bytes([byte]) + line[place + 1 :] for byte in usual)
    assert reader._form.take(usuals).left == []
    assert summarise([line, usuals], columns_after=0) == summarise([line, usuals], fast=False)


@pytest.mark.parametrize("change", OTHER_FORMS)
def test_the_next_form_is_learned(change: dict[str, Any]) -> None:
    assert taken_by_form(decode(**change), decode(**change))


def iteration(number: int) -> bytes:
    return decode().replace(b"batch,", b"batch [%d]," % number)


# Both have the same texts; the second is not taken for the first, and mostly the first for it.
WIDER: list[tuple[bytes, bytes]] = [
    (decode(), decode(accept=b"accept len: 12.41, accept rate: 0.47, ")),
    (iteration(99_999), iteration(100_000)),
    (decode(rank=b" DP9 TP9"), decode(rank=b" DP10 TP10")),
    (decode(speed=b"412.09"), decode(speed=b"412.091")),
]  # fmt: skip


@pytest.mark.parametrize(("first", "later"), WIDER)
def test_what_a_form_leaves_is_learned(first: bytes, later: bytes) -> None:
    reader = Watched()
    for block in (first, first * 2 + later):
        assert reader.read(block) is not None
    reader.by_line = b""
    assert reader.read(later) is not None
    assert reader.by_line == b""


def test_a_line_without_a_form_hinders_no_other() -> None:
    reader = Watched()
    for line in (decode(speed=b"123456.09"), decode()):
        assert reader.read(line) is not None
    reader.by_line = b""
    assert reader.read(decode()) is not None
    assert reader.by_line == b""


def test_where_forms_are_mixed_none_is_looked_for() -> None:
    reader = in_columns()
    mixed = decode(rank=b" DP9 TP9") + decode(rank=b" DP10 TP10")
    looked_for = []
    for _ in range(12):
        assert reader.read(mixed) is not None
        looked_for.append(reader.reads_columns)
    assert looked_for == [True] * 4 + [False] * 8


def test_a_form_met_now_and_then_does_not_stop_the_search() -> None:
    reader = in_columns()
    usual, other = decode(), decode(day=b"2026-02-25")
    for _ in range(12):
        for block in (usual, usual, usual + other):
            assert reader.read(block) is not None
            assert reader.reads_columns


def test_a_form_seen_before_is_not_made_again() -> None:
    reader = in_columns()
    days = (b"2026-02-24", b"2026-02-25")
    for _ in range(2):
        for day in days:
            assert reader.read(decode(day=day) + decode(day=day, **CHANGES[0])) is not None
    assert list(reader._forms) == [form_key(decode(day=day)[:-1]) for day in days]


@pytest.mark.parametrize("change", [*CHANGES, *OTHER_FORMS])
def test_the_key_of_a_form_tells_forms_apart(change: dict[str, Any]) -> None:
    reader = in_columns()
    reader.read(decode())
    assert reader._form is not None
    same = form_key(decode(**change)[:-1]) == form_key(decode()[:-1])
    taken = bool(reader._form.take(decode(**change)).samples)
    assert taken == (change in CHANGES)
    # A number below ten has a form of its own, and is taken for a longer one too.
    assert same == (taken and change != {"speed": b"0.31"})


def test_long_logs_are_read_by_form() -> None:
    blocks = list(made_blocks(900_000, decode=0.9))
    assert taken_by_form(blocks[1], blocks[0])


def test_columns_are_not_read_before_it_pays() -> None:
    block = decode() * 10
    reader = SteadyReader(columns_after=2 * len(block))
    ready = []
    for _ in range(3):
        reader.read(block)
        ready.append(reader.reads_columns)
    assert ready == [False, False, True]
    never = SteadyReader()
    never.read(block)
    assert not never.reads_columns


def test_what_loads_slowly_is_loaded_when_it_is_needed() -> None:
    code = (
        "import sys, eagletui.cli.log, eagletui.engine.catchup, eagletui.tui.app;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


USUAL_BETWEEN = [
    OTHERS[0], OTHERS[4], OTHERS[0].replace(b"127.0.0.1:40100", b":::1"),
    OTHERS[0].replace(b"/generate", b"/" * (256 - len(OTHERS[0]) + 9)),
]  # fmt: skip
UNUSUAL_BETWEEN = [
    OTHERS[0].replace(b"POST", b"PO\rST"), OTHERS[0].replace(b"POST", b"PO\x1b[1mST"),
    OTHERS[0].replace(b"POST", b"[2026-02-24 10:00:01] POST"), OTHERS[0].replace(b" 127", b" x"),
    OTHERS[0].replace(b"POST", "Ω".encode()), OTHERS[0].replace(b"-24 ", b"-25 "),
    OTHERS[4].replace(b"TP0", b"TPA"), OTHERS[4].replace(b"Prefill", b"PREFILL"),
    OTHERS[0].replace(b"10:00:09", b"30:00:09"), OTHERS[0].replace(b"/generate", b"/" * 300),
    OTHERS[0].replace(b"/generate", b"/" * (256 - len(OTHERS[0]) + 10)),
]  # fmt: skip


@pytest.mark.parametrize("line", USUAL_BETWEEN + UNUSUAL_BETWEEN)
def test_what_means_nothing_is_taken_out_too(line: bytes) -> None:
    reader = in_columns()
    reader.read(decode())
    assert reader._form is not None
    taken = reader._form.take(decode() + line + decode() + line)
    assert taken.lines == 4
    assert taken.left == ([] if line in USUAL_BETWEEN else [(1, line), (2, line)])


@given(st.lists(st.integers(0, 99_999_999), min_size=1), st.integers(0, 5))
def test_columns_amount_to_what_the_floats_do(scaled: list[int], decimals: int) -> None:
    floats = [float(f"{number}e-{decimals}") for number in scaled]
    column = Numbers(np.array(scaled, np.int64), decimals)
    told, expected = column.amounts(), amounts(floats)
    assert told is not None
    assert expected is not None
    assert told[2:] == expected[2:]
    assert told.total == pytest.approx(expected.total, rel=1e-15)
    for limit in (1.05, floats[0], floats[-1]):
        assert column.below(limit) == [number < limit for number in floats]


@pytest.mark.parametrize("seed", [11, 19, 21, 23, 65, 67, 74, 75, 79, 90])
def test_a_mean_between_two_roundings_is_the_same(seed: int) -> None:
    chance = random.Random(seed)
    scaled = [chance.randrange(4000, 600_000) for _ in range(256)]
    by_line = amounts([number / 100 for number in scaled])
    by_form = Numbers(np.array(scaled, np.int64), 2).amounts()
    assert by_line is not None
    assert by_form is not None
    assert by_line.mean == by_form.mean


def test_odd_lines_keep_their_places() -> None:
    reader = in_columns()
    first = reader.read(decode())
    assert first is not None
    block = OTHERS[1] + decode() * 3 + OTHERS[0] + OTHERS[1] + OTHERS[3] + decode() + OTHERS[1]
    steady = reader.read(block)
    assert steady is not None
    odd, bar = OTHERS[1][:-1], OTHERS[3][:-1]
    assert list(places(steady, steady.others)) == [(0, odd), (5, odd), (6, bar), (8, odd)]
    assert list(places(steady, steady.others[2:])) == [(6, bar), (8, odd)]
    assert (steady.samples, steady.lines) == (4, 9)
    assert steady.left == [(0, OTHERS[1]), (4, OTHERS[1] + OTHERS[3]), (5, OTHERS[1])]


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
    slow = summarise([data], fast=False)
    assert summarise(chunks) == slow
    assert summarise(chunks, columns_after=0) == slow
