"""The server's own `--help`, read back."""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.flags.help import parse_help, untold
from eagletui.engine.flags.known import listed_flags
from eagletui.engine.flags.table import HIDDEN
from eagletui.model.finding import Option

RECORDED = Path(__file__).parent.parent / "recordings" / "help" / "0.5.23.txt.xz"


def recorded() -> str:
    return lzma.decompress(RECORDED.read_bytes()).decode()


def test_the_help_of_a_real_server_is_read_whole() -> None:
    options = parse_help(recorded())
    assert len(options) == 530
    told = {(o.flags, o.takes_value, o.nargs, tuple(sorted(o.choices))) for o in options}
    kept = {
        (flag.names, flag.kind != "switch", flag.nargs, tuple(sorted(flag.choices)))
        for flag in listed_flags()
        if HIDDEN.isdisjoint(flag.names)
    }
    assert told == kept


def test_a_help_that_breaks_off_is_seen_to() -> None:
    whole = recorded()
    assert untold(whole, parse_help(whole)) == ()
    begin, end = whole.index("\noptions:"), len(whole)
    for part in (0.1, 0.5, 0.9, 0.99):
        half = whole[: int(begin + (end - begin) * part)]
        options = parse_help(half)
        missing = untold(half, options)
        assert missing
        assert len(options) + len(missing) == 530
    assert untold("no usage at all\n  --flag X\n", ()) == ()
    usage = "usage: x [-h] --a A [--b | --no-b] [-c {d,-e}] [--f-g [F ...]] h-i\n\n --j"
    assert untold(usage, ()) == ("-h", "--a", "--b", "-c", "--f-g")


@pytest.mark.parametrize(
    "started",
    ["launch_server.py", "python3 -m sglang.launch_server", "env -i python --x -m sglang"],
)
def test_how_it_was_started_is_no_option(started: str) -> None:
    """argparse names the whole command from Python 3.14 on."""
    assert untold(f"usage: {started} [-h] --model-path MODEL\n\n", ()) == ("-h", "--model-path")


def test_each_way_of_writing() -> None:
    by_flag = {flag: option for option in parse_help(recorded()) for flag in option.flags}
    assert by_flag["--enable-metrics"] == Option(flags=("--enable-metrics",), takes_value=False)
    assert by_flag["--tp-size"] == Option(flags=("--tp-size", "--tensor-parallel-size"))
    assert by_flag["--numa-node"].nargs == "+"
    assert by_flag["--lora-paths"].nargs == "*"
    assert by_flag["--tokenizer-mode"].choices == ("auto", "slow")
    assert by_flag["--no-enable-tf32-matmul"].flags[0] == "--enable-tf32-matmul"


def test_the_newer_way_that_tells_the_value_once() -> None:
    (option,) = parse_help("  -t, --tp-size, --tensor-parallel-size N  How many.\n")
    assert option == Option(flags=("-t", "--tp-size", "--tensor-parallel-size"))


def test_this_pythons_own_help() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--mode", "--way", choices=["a", "b"])
    parser.add_argument("--maybe", nargs="?")
    parser.add_argument("--many", nargs="*", help="--not-this one is an option")
    parser.add_argument("--on", action="store_true", help="  --nor this")
    assert parse_help(parser.format_help()) == (
        Option(flags=("--mode", "--way"), choices=("a", "b")),
        Option(flags=("--maybe",), nargs="?"),
        Option(flags=("--many",), nargs="*"),
        Option(flags=("--on",), takes_value=False),
    )


def test_something_else_has_no_options() -> None:
    assert parse_help("Traceback (most recent call last):\n  File ...\nModuleNotFoundError\n") == ()


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    untold("usage:" + text, parse_help(text))
    parse_help(f"options:\n  --{text}\n  -{text}, --b X")
