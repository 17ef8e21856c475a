from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.command import CommandLine, parse_command
from eagletui.model.speculative import Speculative


def test_an_eagle3_server() -> None:
    line = parse_command(
        shlex.split(
            "/opt/venv/bin/python -m sglang.launch_server --model-path /models/dense --host 0.0.0.0"
            " --port 30001 --enable-metrics --tp-size 8 --speculative-algorithm EAGLE3"
            " --speculative-draft-model-path /models/draft --speculative-num-steps 5"
            " --speculative-eagle-topk 1 --speculative-num-draft-tokens 6 --api-key sesame"
        )
    )
    assert line == CommandLine(
        model="/models/dense",
        host="0.0.0.0",
        port=30001,
        tp_size=8,
        metrics=True,
        api_key="sesame",
        speculative=Speculative(
            algorithm="EAGLE3",
            num_steps=5,
            eagle_topk=1,
            num_draft_tokens=6,
            draft_model="/models/draft",
        ),
    )
    assert line.url == "http://127.0.0.1:30001"


@pytest.mark.parametrize(
    ("words", "tp"),
    [("--tp 4", 4), ("--tp=4", 4), ("--tp-size 2", 2), ("--tensor-parallel-size=16", 16), ("", 1)],
)
def test_spellings_of_one_flag(words: str, tp: int) -> None:
    assert parse_command(words.split()).tp_size == tp


def test_the_last_of_two_wins_as_in_argparse() -> None:
    assert parse_command(["--port", "1", "--port=2"]).port == 2


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("fd00::7", "[fd00::7]"), ("gpu1", "gpu1")],
)
def test_the_address_is_one_that_can_be_called(host: str, url: str) -> None:
    assert parse_command(["--host", host]).url == f"http://{url}:30000"


def test_no_speculation_leaves_no_settings_behind() -> None:
    line = parse_command(["--speculative-num-steps", "3"])
    assert line.speculative == Speculative()


def test_a_served_name_is_not_a_model() -> None:
    assert parse_command(["--served-model-name", "x"]).model == ""


@given(st.lists(st.text()))
def test_any_words_are_read(words: list[str]) -> None:
    parse_command(words)
