"""Prefixes, pairs and bars of all releases."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.logline import graph_used, number, read_bars, read_batch, read_record, whole

STAMP = 1768876829.0


@pytest.mark.parametrize(
    ("line", "stamp", "rank", "text"),
    [
        ("[2026-01-20 02:40:29] hi", STAMP, "", "hi"),
        ("[2026-01-20 02:40:29 TP7] hi", STAMP, "TP7", "hi"),
        ("[2026-01-20 02:40:29 DP1 TP3 EP3 PP0] hi", STAMP, "DP1 TP3 EP3 PP0", "hi"),
        (
            "[2026-01-20 02:40:29 DP1 PP0 ATTN_CP0 MOE_DP0 TP3 EP3] hi",
            STAMP,
            "DP1 PP0 ATTN_CP0 MOE_DP0 TP3 EP3",
            "hi",
        ),
        ("[2026-01-20 02:40:29.250 TP0] hi", STAMP + 0.25, "TP0", "hi"),
        ("[2026-01-20 02:40:29] ", STAMP, "", ""),
        ("[2026-13-41 02:40:29] hi", None, "", "hi"),
        ("Traceback (most recent call last):", None, "", "Traceback (most recent call last):"),
    ],
)
def test_record(line: str, stamp: float | None, rank: str, text: str) -> None:
    assert read_record(line) == (stamp, rank, text)


# release → a decode line as it writes it, and running, accept length, throughput, queue, graph
DECODE = {
    "0.4.6": (
        "Decode batch. #running-req: 1, #token: 812, token usage: 0.01, accept len: 2.91, "
        "cuda graph: True, gen throughput (token/s): 143.20, #queue-req: 0",
        (1, 2.91, 143.2, 0, True),
    ),
    "0.4.10": (
        "Decode batch. #running-req: 2, #token: 812, token usage: 0.01, accept len: 2.91, "
        "cuda graph: False, gen throughput (token/s): 143.20, #queue-req: 3, ",
        (2, 2.91, 143.2, 3, False),
    ),
    "0.5.5": (
        "Decode batch, #running-req: 1, #token: 812, token usage: 0.01, accept len: 2.91, "
        "accept rate: 0.73, cuda graph: True, gen throughput (token/s): 1.00, #queue-req: 0, ",
        (1, 2.91, 1.0, 0, True),
    ),
    "0.5.23 with a tail": (
        "Decode batch, #running-req: 1, #token: 812, token usage: 0.01, accept len: 2.91, accept "
        "rate: 0.64, cpu graph: False, gen throughput (token/s): 9.00, #queue-req: 0, "
        "est. decode TFLOPS/s (per GPU): 1.25, fwd occupancy: 91.20%",
        (1, 2.91, 9.0, 0, False),
    ),
    "iterations": (
        "Decode batch [4711], #running-req: 5, #token: 9, token usage: 0.01, npu graph: True, "
        "gen throughput (token/s): 7.00, #queue-req: 1",
        (5, None, 7.0, 1, True),
    ),
    "hybrid": (
        "Decode batch, #running-req: 6, #full token: 9, full token usage: 0.10, #swa token: 3, "
        "swa token usage: 0.30, mamba num: 2, mamba usage: 0.20, accept len: 1.50, cuda graph: True"
        ", gen throughput (token/s): 7.00, #queue-req: 1",
        (6, 1.5, 7.0, 1, True),
    ),
    "PD": (
        "Decode batch, #running-req: 6, #token: 9, token usage: 0.10, pre-allocated usage: 0.02, "
        "#prealloc-req: 1, #transfer-req: 2, #retracted-req: 0, cuda graph: True, "
        "gen throughput (token/s): 7.00, #queue-req: 4",
        (6, None, 7.0, 4, True),
    ),
    "DSpark": (
        "Decode batch, #running-req: 6, #token: 9, token usage: 0.10, accept len: 3.25, cap len: "
        "4.00, block accept len: 5.00, accept rate: 0.50, cuda graph: True, "
        "gen throughput (token/s): 7.00, #queue-req: 4",
        (6, 3.25, 7.0, 4, True),
    ),
}


@pytest.mark.parametrize("release", DECODE)
def test_decode(release: str) -> None:
    line, expected = DECODE[release]
    batch = read_batch(line)
    assert batch is not None
    kind, pairs = batch
    assert kind == "Decode"
    assert (
        whole(pairs, "#running-req"),
        number(pairs, "accept len"),
        number(pairs, "gen throughput (token/s)"),
        whole(pairs, "#queue-req"),
        graph_used(pairs),
    ) == expected


def test_prefill() -> None:
    batch = read_batch(
        "Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 7, token usage: 0.00, "
        "#running-req: 0, #queue-req: 0, cuda graph: False, input throughput (token/s): nan"
    )
    assert batch is not None
    assert batch[0] == "Prefill"
    assert whole(batch[1], "#new-token") == 512
    assert number(batch[1], "input throughput (token/s)") is None


BARS = {
    "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:00<00:00,  3.33it/s]": (
        "Loading safetensors checkpoint shards", 1, 4, 0.0,
    ),
    "Multi-thread loading shards:  96% Completed | 156/163 [13:54<00:37,  5.32s/it]": (
        "Multi-thread loading shards", 156, 163, 834.0,
    ),
    "Capturing batches (bs=8 avail_mem=12.35 GB):  25%|██▌       | 1/4 [00:00<00:00,  4.9it/s]": (
        "Capturing batches (bs=8 avail_mem=12.35 GB)", 1, 4, 0.0,
    ),
    "  0%|          | 0/8 [00:00<?, ?it/s]": ("", 0, 8, 0.0),
    "DeepGEMM warmup:  12%|█▏        | 1902/16384 [1:02:03<09:00, 26.8it/s]": (
        "DeepGEMM warmup", 1902, 16384, 3723.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", BARS)
def test_bar(text: str) -> None:
    assert list(read_bars(text)) == [BARS[text]]


def test_glued_bars_are_all_read() -> None:
    text = "".join(BARS)
    assert [bar.done for bar in read_bars(text)] == [1, 156, 1, 0, 1902]


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    read_record(text)
    read_batch("Decode batch, " + text)
    list(read_bars(text))
    list(read_bars("10%|" + text + "| 1/4 [00:00<00:01]"))


@pytest.mark.parametrize("digits", [10, 5000])
def test_numbers_without_end_are_no_bar(digits: int) -> None:
    nines = "9" * digits
    for text in (f"x: 50%|█| 1/{nines} [00:01<00:01]", f"x: 50%|█| 1/2 [{nines}:01<00:01]"):
        assert list(read_bars(text)) == []


@pytest.mark.parametrize("piece", ["1", "5%|", " ", "5% |x", "%", "|", "]", "9/9 ["])
def test_no_line_costs_more_than_its_length(piece: str) -> None:
    # What goes back and forth over the line takes a minute for one of these.
    before = time.process_time()
    assert list(read_bars(piece * (200_000 // len(piece)) + "%/")) == []
    assert time.process_time() - before < 5.0


def test_what_a_bar_is_of_ends_where_the_one_before_does() -> None:
    text = (
        "A b: 5%|x| 1/2 [00:01<00:02, 3it/s]C ::  7% Completed | 3/59 [01:02<?] d|e]"
        "f:100%|| 2/2 [1:00:00<00:00]"
    )
    assert [(bar.text, bar.done, bar.total, bar.elapsed) for bar in read_bars(text)] == [
        ("A b", 1, 2, 1.0),
        ("C :", 3, 59, 62.0),
        ("f", 2, 2, 3600.0),
    ]
