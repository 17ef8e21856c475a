"""The summary of whole logs: the contract, the recordings' numbers, and fast equal to slow."""

from __future__ import annotations

import re
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.engine.steady import SteadyReader
from eagletui.engine.summary import SMALL, LogSummary, Summariser, summarise
from tests.engine.logs import NAMES, in_bulk, recorded
from tests.engine.made_log import made_blocks

LAUNCH = recorded("dense_k3")[:30_000]
# Fed first: until a decode line was seen, bars matter and blocks are read in full.
SERVES = next(iter(made_blocks(1, decode=1.0))).partition(b"\n")[0] + b"\n"


def chunked(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_log(name: str) -> None:
    data = recorded(name)
    summary = summarise(chunked(data, 10_000))
    accept = [float(x) for x in re.findall(rb"Decode batch, .*?accept len: ([\d.]+)", data)]
    throughput = [float(x) for x in re.findall(rb"gen throughput \(token/s\): ([\d.]+)", data)]
    running = [int(x) for x in re.findall(rb"Decode batch, #running-req: (\d+)", data)]
    assert summary.decode.samples == len(throughput)
    assert summary.decode.running_max == max(running, default=None)
    for column, values in (
        (summary.decode.accept_length, accept),
        (summary.decode.gen_throughput, throughput),
    ):
        if not values:
            assert column is None
            continue
        assert column is not None
        assert column.mean == pytest.approx(fmean(values), abs=1e-9)
        assert (column.min, column.max, column.last) == (min(values), max(values), values[-1])


@pytest.mark.parametrize("name", NAMES)
def test_fast_and_slow_agree_on_recordings(name: str) -> None:
    data = recorded(name)
    slow = summarise([data], fast=False)
    for size in (997, 1 << 16, 1 << 20):
        assert in_bulk(chunked(data, size)) == slow


@pytest.mark.parametrize("speculative", [True, False])
@pytest.mark.parametrize("decode", [0.05, 0.5, 0.97])
def test_fast_and_slow_agree_on_long_logs(decode: float, speculative: bool) -> None:
    made = b"".join(made_blocks(700_000, decode=decode, speculative=speculative))
    data = LAUNCH[: LAUNCH.rindex(b"\n") + 1] + made + b"[2026-11-29 12:39:35] SIGTERM received.\n"
    slow = summarise([data], fast=False)
    assert slow.decode.samples == data.count(b"Decode batch")
    for size in (4096, 1 << 16, 300_000):
        assert in_bulk(chunked(data, size)) == slow


def test_long_logs_really_take_the_fast_way() -> None:
    block = next(iter(made_blocks(1, decode=0.9)))
    steady = SteadyReader().read(block)
    assert steady is not None
    assert steady.samples == block.count(b"Decode batch")
    assert steady.lines == block.count(b"\n")


def test_docker_stamps_do_not_hinder() -> None:
    plain = next(iter(made_blocks(1, decode=0.9)))
    stamped = b"".join(
        b"2026-01-20T02:40:29.123456789Z " + line + b"\n" for line in plain.split(b"\n")[:-1]
    )
    steady = SteadyReader().read(stamped)
    assert steady is not None
    assert steady.samples == plain.count(b"Decode batch")
    assert summarise([stamped]).decode == summarise([plain]).decode


# Each is put into the middle of a block whose other lines are usual.
ODD_PLACES = {
    "glued to a bar": b"\rLoading: 50%|##| 1/2 [00:01<00:01][2026-01-20 02:40:29] ",
    "glued to an error": b"Segmentation fault (core dumped)[2026-01-20 02:40:29 TP0] ",
    "two on a line": b"[2026-01-20 02:40:29 TP0] Decode batch, #running-req: 7, #token: 9, token"
    b" usage: 0.10, accept len: 2.50, accept rate: 0.50, cuda graph: True, gen throughput"
    b" (token/s): 80.00, #queue-req: 1, [2026-01-20 02:40:29 TP1] ",
    "after a line cut short": b"[2026-01-20 02:40:29 TP0] Decode batch, #running-req: 7, #tok\n"
    b"[2026-01-20 02:40:29 TP0] ",
    "after a bracket left open": b"[2026 never closed\n[2026-01-20 02:40:29 TP0] ",
    "without a prefix": b"",
    "after a prefill line with an error": b"[2026-01-20 02:40:29 TP0] Prefill batch, #new-seq: 1,"
    b" #new-token: 1[2026-01-20 02:40:29] SIGTERM received.\n[2026-01-20 02:40:29] ",
}
ODD_NUMBERS = {
    "no number": (b"accept len: 2.50", b"accept len: nan"),
    "one more": (b"accept len: 2.50", b"cap len: 9.00, accept len: 2.50"),
    "none accepted": (b"accept len: 2.50, ", b""),
    "leading zeros": (b"80.00", b"0080.00"),
    "two points": (b"80.00", b"80.00.1"),
    "carriage return": (b"#queue-req: 1, ", b"#queue-req: 1, \r"),
    "bar behind": (b"#queue-req: 1, ", b"#queue-req: 1, \rLoading: 50%|##| 1/2 [00:01<00:01]"),
    "colour": (b"80.00", b"\x1b[1m80.00\x1b[0m"),
    "no queue": (b", #queue-req: 1, ", b", "),
}
# As many lines as stand well before and after the odd one; 140 whole blocks take half a minute.
USUAL = b"\n".join(next(iter(made_blocks(1, decode=0.9))).split(b"\n")[:300]) + b"\n"
DECODE = (
    b"Decode batch, #running-req: 999, #token: 9, token usage: 0.10, accept len: 2.50, accept rate:"
    b" 0.50, cuda graph: True, gen throughput (token/s): 80.00, #queue-req: 1, "
)


@pytest.mark.parametrize("place", ODD_PLACES)
@pytest.mark.parametrize("numbers", ["as usual", *ODD_NUMBERS])
@pytest.mark.parametrize("stamped", [False, True])
def test_odd_decode_lines_count_the_same_either_way(
    place: str, numbers: str, stamped: bool
) -> None:
    usual, _, rest = USUAL.partition(b"\n[2026-02-24 10:00:09")
    odd = ODD_PLACES[place] + DECODE.replace(*ODD_NUMBERS.get(numbers, (b"", b"")))
    data = b"\n".join((usual, odd, rest))
    if stamped:
        data = b"".join(b"2026-01-20T02:40:29.1Z " + ln + b"\n" for ln in data.split(b"\n")[:-1])
    assert in_bulk([SERVES, data]) == summarise([SERVES, data], fast=False)


def test_windows_line_ends_do_not_hinder() -> None:
    data = b"".join(made_blocks(200_000)).replace(b"\n", b"\r\n")
    assert SteadyReader().read(data) is None
    assert in_bulk(chunked(data, 1 << 16)) == summarise([data], fast=False)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 6000), st.integers(0, 40), st.sampled_from(
    [b"", b"\n", b"\r", b"[", b"]", b",", b": ", b"9", b".", b"Decode batch, ", b"\x1b[0m", b"\0"]
))  # fmt: skip
def test_decode_lines_damaged_anywhere(place: int, lost: int, noise: bytes) -> None:
    made = next(iter(made_blocks(1, decode=0.8)))[:9000]
    data = made[:place] + noise + made[place + lost :]
    assert in_bulk([SERVES, data]) == summarise([SERVES, data], fast=False)


@pytest.mark.parametrize("made", [b"\x1b[0m", b"x", b"5"])
@pytest.mark.parametrize("speculative", [True, False])
def test_one_damaged_character_is_noticed(made: bytes, speculative: bool) -> None:
    lines = next(iter(made_blocks(1, decode=0.8, speculative=speculative))).split(b"\n")[:2]
    data = b"\n".join(lines) + b"\n"
    assert SteadyReader().read(data) is not None
    for place in range(len(data)):
        damaged = [SERVES, data[:place] + made + data[place + 1 :]]
        assert in_bulk(damaged) == summarise(damaged, fast=False), damaged[1]


def test_decode_lines_of_other_shapes_are_read_in_full() -> None:
    lines = (
        b"[2026-01-20 02:40:29 TP0] Decode batch, #running-req: 3, #full token: 9, full token"
        b" usage: 0.10, #swa token: 4, swa token usage: 0.20, accept len: 2.50, accept rate: 0.50,"
        b" cuda graph: True, gen throughput (token/s): 80.00, #queue-req: 1\n"
        b"[2026-01-20 02:40:30 TP0] Decode batch [12], #running-req: 4, #token: 9, token usage:"
        b" 0.10, pre-allocated usage: 0.00, #prealloc-req: 0, npu graph: False,"
        b" gen throughput (token/s): 60.00, #queue-req: 1, est. decode TFLOPS/s (per GPU): 1.00\n"
    )
    decode = summarise([lines]).decode
    assert decode.samples == 2
    assert decode.running_max == 4
    assert decode.accept_length is not None
    assert decode.accept_length.mean == 2.5
    assert decode.gen_throughput is not None
    assert decode.gen_throughput.mean == 70.0


def test_a_draft_that_never_hits_is_found_either_way() -> None:
    line = b"[2026-01-20 02:40:%02d] Decode batch, #running-req: 1, #token: 9, token usage: 0.10, "
    tail = (
        b"accept len: %s, accept rate: 0.00, cuda graph: True, gen throughput (token/s): 9.00, \n"
    )
    data = b"".join(line % (i % 60) + tail % (b"1.02" if i >= 30 else b"2.00") for i in range(60))
    fast, slow = in_bulk([data]), summarise([data], fast=False)
    assert fast == slow
    (verdict,) = fast.diagnosis
    assert verdict.code == "accept-length-one"
    assert verdict.line == 40
    assert "accept len: 1.02" in verdict.evidence


def test_the_last_launch_counts() -> None:
    data = recorded("dense_k7") + recorded("dense_k1") + recorded("crash_badflag")
    summary = summarise([data])
    assert summary.launches == 3
    assert [verdict.code for verdict in summary.diagnosis] == ["bad-flag"]
    assert summary.decode.samples == 0
    two = summarise([recorded("dense_k7") + recorded("dense_k1")])
    assert two.speculative.num_steps == 1
    assert two.decode == summarise([recorded("dense_k1")]).decode
    assert two.ready_after_s == 36.0


def test_document_is_the_contract() -> None:
    document = summarise([recorded("dense_k3")]).document()
    assert list(document) == [
        "version", "phase", "ready", "ready_after_s", "server_args", "speculative", "phases",
        "decode", "diagnosis",
    ]  # fmt: skip
    assert document["speculative"] == {
        "algorithm": "EAGLE3",
        "num_steps": 3,
        "eagle_topk": 1,
        "num_draft_tokens": 4,
    }
    assert document["phases"][2] == {
        "name": "weights",
        "role": "target",
        "seconds": 2.6,
        "done": 59,
        "total": 59,
    }
    assert list(document["decode"]) == ["samples", "accept_length", "gen_throughput", "running_max"]
    assert list(document["decode"]["accept_length"]) == ["mean", "min", "max", "last"]
    assert list(document["diagnosis"][0]) == [
        "code", "severity", "title", "line", "evidence", "advice",
    ]  # fmt: skip
    assert document["ready"] is True


def test_unknown_is_null() -> None:
    document = LogSummary().document()
    assert document["version"] is None
    assert document["speculative"]["algorithm"] is None
    assert document["decode"]["accept_length"] == dict.fromkeys(("mean", "min", "max", "last"))


def test_secrets_of_the_arguments_are_masked() -> None:
    data = (
        b"[2026-01-20 02:40:29] server_args=ServerArgs(model_path='m', api_key='sesame-opens',"
        b" admin_api_key='also-secret', speculative_algorithm=None)\n"
    )
    summary = summarise([data])
    assert "sesame" not in repr(summary)
    assert "also-secret" not in repr(summary)
    assert summary.server_args["model_path"] == "m"


def test_ten_megabytes_without_a_newline() -> None:
    summary = summarise([b"x" * (1 << 16)] * 160)
    assert summary.lines == 1
    assert not summary.known


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.integers(1, 90), st.integers(0, 20_000))
def test_any_bytes_anywhere(noise: bytes, size: int, place: int) -> None:
    data = LAUNCH[:place] + noise + LAUNCH[place : place + 3000]
    assert in_bulk(chunked(data, size * 50)) == summarise([data], fast=False)


class Counting(Summariser):
    """How many bytes were read line by line."""

    slowly = 0

    def _read(self, data: bytes) -> None:
        self.slowly += len(data)
        super()._read(data)


@pytest.mark.parametrize("columns_after", [0, 1 << 30])
@pytest.mark.parametrize(
    "notable",
    [b"Traceback (most recent call last):\nOSError: x", b"server_args=", b"Decode batch, #x: 1"],
)
def test_little_of_a_large_block_is_read_line_by_line(columns_after: int, notable: bytes) -> None:
    usual = b"".join(made_blocks(1 << 20, decode=1.0))
    summariser = Counting(columns_after=columns_after)
    summariser.feed(usual)
    before = summariser.slowly
    middle = usual.find(b"\n", len(usual) // 2) + 1
    summariser.feed(usual[:middle] + b"[2026-02-24 10:00:01] " + notable + b"\n" + usual[middle:])
    assert 0 < summariser.slowly - before <= 2 * SMALL
