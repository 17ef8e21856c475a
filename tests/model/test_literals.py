"""A server's own secrets, hidden wherever a text is cut and however they are spelled."""

from __future__ import annotations

import html
import itertools
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eagletui.model.literals import Literals, LiteralStream, literals_of
from tests.engine.recorded import unpacked

KEY = "s3cr3t/ü\\'\"&+ k%y"


def test_what_a_server_keeps_is_hidden_whatever_stands_around_it() -> None:
    argv = ["sglang", "serve", "--api-key", "hunter2Zq", "--admin-api-key=adminXy9", "--port", "1"]
    literals = literals_of(
        argv, {"HF_TOKEN": "hfAbCdEf", "NCCL_ALGO": "Ring-tree"}, "given-K3y", None
    )
    text = b"xhunter2Zqy adminXy9 (hfAbCdEf) given-K3y Ring-tree serve hunter2Z"
    assert (
        literals.hide(text) == b"x*********y ******** (********) ********* Ring-tree serve hunter2Z"
    )
    assert literals.hide_text("ühunter2Zqü") == "ü*********ü"
    assert "hunter2" not in repr(literals)


@pytest.mark.parametrize(
    "value",
    [
        *("EMPTY", "none", "sk-local", "password", "test", "Dummy", "12345", "1234567890", "abcde"),
        *("decode", "running-req", "Accept", "scheduler", "throughput", " test ", "TOKEN", ""),
    ],
)
def test_ordinary_words_are_no_literals(value: str) -> None:
    assert not Literals([value])


@pytest.mark.parametrize("value", ["abcdef", "123456789012", "decoder", "test-1", "sk-local2"])
def test_others_are(value: str) -> None:
    assert Literals([value]).hide(f"<{value}>".encode()) == b"<" + b"*" * len(value) + b">"


def test_a_models_name_is_none() -> None:
    argv = [
        "sglang",
        "serve",
        "/models/Qwen3-8B/",
        "--api-key",
        "Qwen3-8B",
        "--served-model-name=m-large",
    ]
    assert not literals_of(argv)
    assert not literals_of([*argv[:3], "--served-model-name=m-large", "--api-key", "m-large"])
    assert not literals_of(["sglang", "--api-key", "NCCL-x"], {"NCCL_ALGO": "NCCL-x"})
    assert literals_of([*argv[:3], "--api-key", "Qwen3-8C"])


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        json.dumps(KEY).replace("/", "\\/"),
        json.dumps(json.dumps({"k": KEY})),
        repr(KEY),
        repr({"k": KEY.encode()}),
        quote(KEY),
        quote(KEY, safe=""),
        quote_plus(KEY).lower(),
        quote(KEY, safe="/:@!$&'()*+,;="),
        html.escape(KEY),
    ],
)
def test_every_spelling_counts(spelled: str) -> None:
    shown = Literals([KEY]).hide(spelled.encode())
    assert len(shown) == len(spelled.encode())
    assert b"cr3t" not in shown
    assert b"k%" not in shown
    assert shown.strip(b"\"'{}kb: \\") == b"*" * shown.count(b"*")


def test_a_key_of_several_lines_is_hidden_line_by_line() -> None:
    literals = literals_of((), {"HF_TOKEN": "first-line\nsecond-one\nx"})
    assert literals.hide(b"a first-line\r\nsecond-one x") == b"a **********\r\n********** x"


def test_any_value_may_be_a_key() -> None:
    for value in ("\ud800abcdef", "\udcffabcdef", "\0abcdef", "ü" * 6, "a" * 100_000, " \n\r"):
        assert value not in repr(Literals([value]))
    assert Literals(["\udcffabcdef"]).hide(b"<\xffabcdef> %FFabcdef") == b"<*******> *********"
    assert Literals(["\ud800abcdef"]).hide(b"<\\ud800abcdef>") == b"<************>"


def test_recorded_logs_stay_as_they_are() -> None:
    log = unpacked("logs/spec5.log")
    literals = literals_of(["sglang", "--api-key", "hunter2Zq"], {"HF_TOKEN": "hfAbCdEf"})
    assert literals.hide(log) is log


LETTERS = st.text("ab*", min_size=0, max_size=12)
SECRETS = st.lists(st.text("ab", min_size=6, max_size=9), min_size=1, max_size=3)
PIECE = st.one_of(LETTERS, st.sampled_from(["\n", "ü", "ababab", "aaaaaaa"]))


@given(
    SECRETS,
    st.lists(PIECE, max_size=10),
    st.lists(st.integers(0, 80), max_size=8),
    st.integers(0, 9),
)
@example(["abaaaa", "aaaabb"], ["abaaaa", "bb"], [6], 0)
@example(["ababababa", "bababa"], ["bababab"], [7], 0)
def test_a_text_may_be_cut_anywhere(
    secrets: list[str], pieces: list[str], cuts: list[int], start: int
) -> None:
    """What comes out is what the whole would give, at its offsets; whole lines come at once."""
    literals = Literals(secrets)
    data = "".join([*pieces, "\n"]).encode()
    stream = LiteralStream(literals)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    out = b""
    for begin, end in itertools.pairwise(edges):
        shown = stream.feed(start + begin, data[begin:end])
        assert shown.start == start + len(out)
        out += shown.data
        assert len(out) == end or not data[:end].endswith(b"\n")
    assert stream.cut() == (start + len(out), b"")
    lost = literals.ended(data) if start else 0
    assert out == b"*" * lost + literals.hide(data)[lost:]
    for secret in secrets:
        assert secret.encode() not in out


def test_what_is_cut_off_is_hidden_as_far_as_it_tells() -> None:
    stream = LiteralStream(Literals(["abcdefghij"]))
    assert stream.feed(0, b"a abcdefgh") == (0, b"a ")
    assert stream.cut() == (2, b"********")
    assert stream.feed(500, b"efghij b abcd") == (500, b"****** b ")
    assert stream.cut() == (509, b"abcd")
    assert stream.feed(0, b"efghij at the beginning of a file\n").data.startswith(b"efghij")
