"""One streamed reply: counts from the server, gaps shared among a chunk's tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.hostside.stream_meter import FEWEST, TAIL, StreamMeter, distinct_bigrams
from eagletui.model import loops
from eagletui.model.loops import LOOPED_BELOW


def event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def chat(text: str, count: int | None, field: str = "content") -> bytes:
    delta = {"role": "assistant", "content": None, "reasoning_content": None, field: text}
    value: dict[str, Any] = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if count is not None:
        value["usage"] = {"prompt_tokens": 128, "total_tokens": 128, "completion_tokens": count}
    return event(value)


def usage(count: int) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": 128, "completion_tokens": count}})


DONE = b"data: [DONE]\n\n"


def measured(*reads: tuple[float, bytes], native: bool = False) -> dict[str, Any]:
    meter = StreamMeter(native, 10.0)
    for now, data in reads:
        meter.feed(data, now)
    return meter.result()


def test_a_chunk_of_n_tokens_gives_n_gaps_of_a_nth() -> None:
    found = measured(
        (10.5, chat("", 1)),
        (10.6, chat(" two", 3)),
        (10.9, chat(" five", 6)),
        (10.91, usage(6) + DONE),
    )
    assert found["ttft"] == pytest.approx(0.5)
    assert found["latency"] == pytest.approx(0.9)
    assert found["gaps"] == [[100000, 2], [300000, 3]]
    assert (found["output_tokens"], found["prompt_tokens"]) == (6, 128)
    assert (found["error"], found["counted"]) == ("", True)


def test_what_one_read_brings_is_one_arrival() -> None:
    found = measured((11.0, chat("a", 1)), (11.5, chat("b", 2) + chat("c", 5)), (11.6, DONE))
    assert found["gaps"] == [[500000, 4]]


def test_reasoning_counts_as_the_first_token() -> None:
    found = measured(
        (10.2, chat("hm", None, "reasoning_content")), (12.0, chat("x", None)), (12.1, DONE)
    )
    assert found["ttft"] == pytest.approx(0.2)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_usage_only_at_the_end_is_no_arrival(at_once: bool) -> None:
    """Releases without continuous usage: the total is known, the chunks' sizes are not."""
    last = [(11.2, chat("c", None) + usage(40) + DONE)] if at_once else [
        (11.2, chat("c", None)), (11.9, usage(40) + DONE)
    ]  # fmt: skip
    found = measured((11.0, chat("a", None)), (11.1, chat("b", None)), *last)
    assert found["gaps"] == [[100000, 0], [100000, 0]]
    assert found["output_tokens"] == 40
    assert found["latency"] == pytest.approx(1.2)
    assert not found["counted"]


def test_an_empty_role_chunk_is_no_token() -> None:
    found = measured((10.1, chat("", None)), (11.0, chat("a", None)), (11.1, usage(1) + DONE))
    assert found["ttft"] == pytest.approx(1.0)


def native(text: str, count: int, **meta: Any) -> bytes:
    return event(
        {
            "text": text,
            "meta_info": {
                "prompt_tokens": 9,
                "completion_tokens": count,
                "cached_tokens": 4,
                **meta,
            },
        }
    )


def test_generate_tells_drafts_and_repeats_its_text() -> None:
    found = measured(
        (10.1, native("one", 1)),
        (10.2, native("one two", 3)),
        (
            10.3,
            native(
                'one two "three" one two',
                6,
                spec_verify_ct=3,
                spec_accept_histogram=[1, 0, 2],
                spec_correct_drafts_histogram=[1, 0, 2],
            ),
        ),
        (10.4, DONE),
        native=True,
    )
    assert (found["verify_steps"], found["accepted"]) == (3, [1, 0, 2])
    assert (found["prompt_tokens"], found["cached_tokens"]) == (9, 4)
    # one two | two " | " three | three " | " one | one two
    assert found["distinct_bigrams"] == pytest.approx(5 / 6)


def test_generate_may_send_only_what_is_new() -> None:
    meter = StreamMeter(True, 0.0)
    for at, piece in enumerate(("one ", "two ", "one ", "two"), 1):
        meter.feed(native(piece, at), float(at))
    meter.feed(DONE, 9.0)
    assert meter.text() == "one two one two"


def test_openai_replies_tell_drafts_where_the_release_can() -> None:
    details = {"spec_verify_ct": 17, "spec_correct_drafts_histogram": [9, 5, 2, 1]}
    special = event({"choices": [], "sglext": {"spec_tokens_details": details}})
    found = measured((10.1, chat("a", 1)), (10.2, special + usage(30)), (10.2, DONE))
    assert (found["verify_steps"], found["accepted"]) == (17, [9, 5, 2, 1])


def test_a_text_cannot_pass_for_a_count() -> None:
    text = '"completion_tokens":9999,"prompt_tokens":5 {"error":"x"}'
    found = measured((10.1, chat(text, 2)), (10.2, usage(2) + DONE))
    assert (found["output_tokens"], found["prompt_tokens"], found["error"]) == (2, 128, "")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (chat("a", 1), "the stream ended before it was complete"),
        (event({"error": {"message": "no memory", "code": 500}}), "the server said: no memory"),
        (event({"object": "error", "message": "too long"}), "the server said: too long"),
        (
            native("a", 1, finish_reason={"type": "abort", "message": "x"}) + DONE,
            "the server aborted it",
        ),
    ],
)
def test_what_went_wrong_is_said_and_there_is_no_latency(reply: bytes, words: str) -> None:
    found = measured((11.0, reply), native=b"meta_info" in reply)
    assert (found["error"], found["latency"]) == (words, None)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.data())
def test_however_bytes_are_cut_the_count_is_the_same(sizes: list[int], data: Any) -> None:
    total, reply = 0, b""
    for size in sizes:
        total += size
        reply += chat('é" \\n' * size, total)
    reply += usage(total) + DONE
    reply = reply.replace(b"\n", b"\r\n") if data.draw(st.booleans()) else reply
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reply)), max_size=30)))
    meter = StreamMeter(False, 0.0)
    for at, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(reply)], strict=True)):
        meter.feed(reply[begin:end], float(at))
    found = meter.result()
    assert (found["output_tokens"], found["error"]) == (total, "")
    first = total - sum(tokens for _, tokens in found["gaps"])
    assert 0 < first <= total
    assert meter.text() == "".join('é" \\n' * size for size in sizes)


@given(st.lists(st.binary(max_size=200), max_size=10), st.booleans())
def test_any_bytes_are_survived(reads: list[bytes], native: bool) -> None:
    meter = StreamMeter(native, 0.0)
    for at, data in enumerate(reads):
        meter.feed(data, float(at))
    json.dumps(meter.result())


def test_distinct_bigrams() -> None:
    assert distinct_bigrams([]) is None
    assert distinct_bigrams(["one"]) is None
    assert distinct_bigrams(list("ababa")) == 0.5


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("a b " * 31 + "a", None),
        ("a b " * 32, 2 / 63),
        # The end alone is judged, and each sign of a script without spaces is a word.
        (" ".join(map(str, range(500))) + " a b" * 64, 2 / 127),
        ("水火" * 40, 2 / 79),
        (" ".join(map(str, range(500))), 1.0),
    ],
)
def test_a_loop_shows_at_the_end(text: str, tail: float | None) -> None:
    found = measured((10.1, chat(text, 1)), (10.2, DONE))
    assert found["tail_bigrams"] == (None if tail is None else pytest.approx(tail))


@given(st.lists(st.sampled_from("abc"), max_size=200))
def test_what_runs_on_the_host_and_what_reads_imports_call_the_same_a_loop(
    words: list[str],
) -> None:
    assert (TAIL, FEWEST) == (loops.TAIL, loops.FEWEST)
    there = distinct_bigrams(words[-TAIL:]) if len(words) >= FEWEST else None
    assert loops.tail_bigrams(words) == there


RECORDED = [
    ("spec5_t0", 256, [0, 256], True),
    ("spec5_t0", 86, [0, 0, 0, 0, 0, 86], True),
    ("spec5_t1", 221, [96, 42, 40, 16, 14, 13], False),
    ("spec5_t1", 211, [85, 51, 26, 16, 12, 21], False),
    ("dense_k3_c8", 222, [77, 59, 25, 61], False),
]


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_replies_of_a_real_server(recordings: Path, number: int) -> None:
    """SGLang 0.5.16 with EAGLE-3 on an H200: at temperature 0 the small model looped, at 1 not."""
    line = (recordings / "generate_replies.jsonl").read_text(encoding="utf-8").splitlines()[number]
    recorded = json.loads(line)
    name, steps, histogram, looped = RECORDED[number]
    assert recorded["from"] == name
    whole = recorded["reply"]
    begun = {"text": whole["text"][:9], "meta_info": {**whole["meta_info"], "completion_tokens": 4}}
    found = measured((10.1, event(begun)), (10.9, event(whole)), (11.0, DONE), native=True)
    assert (found["verify_steps"], found["accepted"]) == (steps, histogram)
    assert (found["output_tokens"], found["gaps"]) == (512, [[800000, 508]])
    assert (found["error"], sum(histogram)) == ("", steps)
    assert (found["tail_bigrams"] < LOOPED_BELOW) == looped
