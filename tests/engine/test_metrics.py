from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.metrics import (
    MAX_BODY,
    MAX_LINES,
    MAX_SERIES,
    MetricsReader,
    NotMetrics,
    TooLarge,
    not_metrics,
)
from eagletui.engine.scrapes import split_scrapes
from eagletui.model.readings import RankCounters, Reading
from tests.engine.recorded import readings, unpacked


def read(text: str) -> Reading:
    return MetricsReader().read(text.encode(), at=1.0)


def test_reads_a_release_0_5_16_with_device_timer() -> None:
    reading = readings("spec5_t1.prom")[19]
    assert (reading.engine, reading.model_name, reading.engine_type) == (
        "sglang",
        "/models/dense",
        "unified",
    )
    assert (reading.samples, reading.dp_ranks, reading.ranks) == (410, 1, ())
    assert (reading.num_steps, reading.num_draft_tokens) == (5, 6)
    assert (reading.accept_length, reading.accept_rate) == (2.225, 0.245)
    assert reading.gen_throughput == pytest.approx(338.0947, abs=1e-4)
    assert (reading.running, reading.queued, reading.retracted) == (1.0, 0.0, 0.0)
    assert (reading.passes_total, reading.decode_tokens_total) == (1725.0, 4084.0)
    assert (reading.prefill_tokens_total, reading.generation_tokens_total) == (34.0, 3712.0)
    assert (reading.requests_total, reading.verify_calls_total) == (9.0, 1565.0)
    assert reading.verify_seconds_total == pytest.approx(9.171375, abs=1e-6)
    assert reading.draft_seconds_total == pytest.approx(1.283810, abs=1e-6)
    assert reading.draft_extend_seconds_total == pytest.approx(0.407063, abs=1e-6)
    assert reading.itl is not None
    assert (reading.itl.bounds[:2], reading.itl.total) == ((0.002, 0.004), 2784.0)
    assert reading.ttft is not None
    assert (reading.ttft.counts[:4], reading.ttft.total) == ((0.0, 5.0, 5.0, 7.0), 10.0)
    assert math.isinf(reading.ttft.bounds[-1])


def test_never_sums_tensor_ranks_but_sums_streaming() -> None:
    reading = MetricsReader().read(unpacked("plain_tp2_load05_metrics.txt"), at=1.0)
    assert (reading.running, reading.queued, reading.token_usage) == (32.0, 8.0, 0.31)
    assert (reading.passes_total, reading.decode_tokens_total) == (132.0, 2240.0)
    assert (reading.generation_tokens_total, reading.requests_total) == (68.0, 4.0)
    assert reading.ttft is not None
    assert reading.ttft.total == 36.0
    # a server without speculation says 0 for all of it
    assert (reading.accept_length, reading.accept_rate) == (None, None)
    assert (reading.num_steps, reading.num_draft_tokens) == (None, None)


def test_reads_a_tree_of_0_5_23() -> None:
    reading = MetricsReader().read(unpacked("nextn_tree_after_metrics.txt"), at=1.0)
    assert (reading.num_steps, reading.num_draft_tokens) == (4, 8)
    assert reading.accept_length is not None
    assert 1.0 <= reading.accept_length <= 5.0
    assert reading.passes_total is not None


def test_sums_dp_ranks_and_weighs_accept_length_by_running_requests() -> None:
    rows = []
    for dp, (running, length, usage) in enumerate([(3, 2.0, 0.2), (1, 3.0, 0.9)]):
        for tp in (2 * dp, 2 * dp + 1):
            labels = f'dp_rank="{dp}",pp_rank="0",tp_rank="{tp}"'
            rows += [
                f"sglang:num_running_reqs{{{labels}}} {running}",
                f"sglang:spec_accept_length{{{labels}}} {length}",
                f"sglang:token_usage{{{labels}}} {usage}",
                f"sglang:gen_throughput{{{labels}}} 100",
                f'sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",{labels}}} {10 + dp}',
                f'sglang:cuda_graph_passes_total{{mode="decode_none",{labels}}} 5',
                f'sglang:cuda_graph_passes_total{{mode="prefill_none",{labels}}} 7',
            ]
    reading = read("\n".join(reversed(rows)) + "\n")
    assert reading.dp_ranks == 2
    assert reading.running == 4.0
    assert reading.gen_throughput == 200.0
    assert reading.accept_length == 2.25
    assert reading.token_usage == 0.9
    assert reading.passes_total == 31.0
    assert reading.ranks == (RankCounters(passes_total=15.0), RankCounters(passes_total=16.0))


def test_ranks_are_numbers_not_text() -> None:
    reading = read(
        'sglang:num_running_reqs{tp_rank="10"} 1\nsglang:num_running_reqs{tp_rank="9"} 2\n'
    )
    assert reading.running == 2.0


def test_priorities_and_doubles_count_once() -> None:
    reading = read(
        'sglang:num_queue_reqs{priority="1"} 2\nsglang:num_queue_reqs{priority=""} 5\n'
        'sglang:num_running_reqs{tp_rank="0"} 1\nsglang:num_running_reqs{tp_rank="0"} 3\n'
        'sglang:num_retracted_reqs{pid="7"} 4\nsglang:num_retracted_reqs{pid="8"} 6\n'
        'sglang:num_requests_total{is_streaming="true"} 1\n'
        'sglang:num_requests_total{is_streaming="true"} 2\n'
    )
    assert (reading.queued, reading.running, reading.retracted) == (5.0, 3.0, 6.0)
    assert reading.requests_total == 2.0


def test_what_is_not_finite_is_not_said() -> None:
    reading = read(
        "sglang:gen_throughput NaN\nsglang:num_running_reqs +Inf\nsglang:token_usage x\n"
        'sglang:realtime_tokens_total{mode="decode"} NaN\n'
        'sglang:inter_token_latency_seconds_bucket{le="0.1"} NaN\n'
    )
    assert reading.samples == 5
    assert (reading.gen_throughput, reading.running, reading.token_usage) == (None, None, None)
    assert (reading.decode_tokens_total, reading.itl) == (None, None)


def test_the_timer_of_0_5_7_is_a_whole_step() -> None:
    reading = read('sglang:gpu_execution_seconds_total{category="forward_decode",tp_rank="0"} 4\n')
    assert reading.decode_seconds_total == 4.0
    assert reading.verify_seconds_total is None


def test_names_other_engines_and_reads_nothing_of_them() -> None:
    reading = read("vllm:num_requests_running 3\nvllm:gpu_cache_usage_perc 0.5\n")
    assert (reading.engine, reading.samples, reading.running) == ("vllm", 2, None)
    assert read("node_load1 0.5\n").engine == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b" \n \n", "empty"),
        (b"<!DOCTYPE html><html>\n<body>hi\x1b[2J</body>", "HTML"),
        (b'{"detail":"Not Found"}', "JSON"),
        (b"Not found\n", "other text"),
        ("Seite nicht gefunden: prüfe die Adresse\n".encode(), "other text"),
        (("Seite nicht gefunden\n" * 20 + "ü").encode()[:-1], "other text"),
        (bytes(range(256)) * 8, "binary"),
        (bytes(range(128, 256)) * 8, "binary"),
        ("Страница не найдена".encode("cp1251"), "binary"),
    ],
)
def test_says_what_came_instead(body: bytes, words: str) -> None:
    with pytest.raises(NotMetrics, match=words) as caught:
        MetricsReader().read(body, at=0.0)
    assert caught.value.advice
    assert "\x1b" not in str(caught.value)
    assert "\ufffd" not in f"{caught.value} {caught.value.meaning}"


@given(st.binary(max_size=600))
def test_random_bytes_are_not_shown(body: bytes) -> None:
    assert not_metrics(body).meaning.count("\ufffd") <= 0.05 * 512


def test_refuses_fifty_megabytes() -> None:
    with pytest.raises(TooLarge, match="50,000,000 bytes"):
        MetricsReader().read(b"x" * 50_000_000, at=0.0)
    assert MAX_BODY == 8 << 20


def test_refuses_more_series_and_lines_than_any_server_has() -> None:
    def page(count: int) -> str:
        return "".join(f'sglang:num_running_reqs{{x="{i}"}} 1\n' for i in range(count))

    assert read(page(MAX_SERIES)).samples == MAX_SERIES
    with pytest.raises(TooLarge, match="20,000"):
        read(page(MAX_SERIES + 1))
    with pytest.raises(TooLarge, match="100,000"):
        read("a 1\n" * (MAX_LINES + 1))


def test_a_cut_page_says_so() -> None:
    body = unpacked("eagle3_load03_metrics.txt")
    reader = MetricsReader()
    assert not reader.read(body, at=0.0).truncated
    cut = reader.read(body[: len(body) // 2 + 7], at=1.0)
    assert cut.truncated
    assert 0 < cut.samples < 600


def test_a_thousand_labels() -> None:
    labels = ",".join(f'l{i}="{i}"' for i in range(1000))
    assert read(f"sglang:num_running_reqs{{{labels}}} 7\n").running == 7.0


def test_splits_scrapes_at_their_stamps() -> None:
    scrapes = split_scrapes(b"### 10.5\nup 1\n### 11\r\nup 2\n")
    assert scrapes == [(10.5, b"up 1\n"), (11.0, b"up 2\n")]
    assert split_scrapes(b"up 1\n") == [(None, b"up 1\n")]


def finite(reading: Reading) -> bool:
    return all(
        math.isfinite(value)
        for name in reading.__struct_fields__
        if isinstance(value := getattr(reading, name), float)
    )


piece = st.sampled_from(
    [
        b"sglang:num_running_reqs",
        b"sglang:spec_accept_length",
        b'sglang:spec_num_steps{tp_rank="1"}',
        b'sglang:spec_num_draft_tokens{tp_rank="x",dp_rank="-3"}',
        b'sglang:inter_token_latency_seconds_bucket{le="0.1"}',
        b'sglang:inter_token_latency_seconds_bucket{le="nan"}',
        b'sglang:cuda_graph_passes_total{mode="decode_none",dp_rank="1"}',
        b" ",
        b"\n",
        b"\r\n",
        b"1e308",
        b"-1",
        b"NaN",
        b"+Inf",
        b"1_0",
        b"{",
        b"}",
        b'"',
        b"\\",
        b"#",
        b"\xff",
    ]
)


@given(st.lists(st.one_of(st.binary(max_size=8), piece), max_size=40).map(b"".join))
def test_any_bytes_give_a_reading_or_a_typed_error(body: bytes) -> None:
    try:
        reading = MetricsReader().read(body, at=0.0)
    except (NotMetrics, TooLarge):
        return
    assert reading.samples > 0
    assert finite(reading)


@pytest.mark.parametrize("value", ["-1", "-2.3", "-0.5"])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("spec_accept_length", "accept_length"),
        ("spec_num_steps", "num_steps"),
        ("num_running_reqs", "running"),
        ("token_usage", "token_usage"),
    ],
)
def test_what_cannot_be_below_zero_is_none_there(name: str, field: str, value: str) -> None:
    page = f"sglang:{name} {value}\nsglang:spec_num_draft_tokens 4\n".encode()
    assert getattr(MetricsReader().read(page, at=1.0), field) is None


def test_a_page_that_is_too_large_is_told_in_one_unit() -> None:
    with pytest.raises(TooLarge) as caught:
        MetricsReader().read(b" " * (MAX_BODY + 1), at=1.0)
    assert "8,388,609 bytes, more than the 8,388,608 read" in caught.value.what
