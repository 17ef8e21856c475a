"""The table of flags, and command lines read as argparse reads them."""

from __future__ import annotations

import argparse
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.flags.argv import (
    Arguments,
    Complaint,
    Given,
    fits,
    is_sglang,
    read_arguments,
    split_command,
)
from eagletui.engine.flags.known import Known, KnownFlags, flags_of, listed_flags
from eagletui.engine.flags.table import CHOICES, FLAGS, RELEASES, Choices, Flag, Kind
from eagletui.engine.releases import Range, Version

_FORMAT = "--log-requests-format"
NEWEST = Version("0.5.23")


def read(line: str, release: str = "0.5.23") -> Arguments:
    return read_arguments(line.split(), flags_of(Version(release)))


def complaint(line: str, release: str = "0.5.23") -> Complaint:
    (found,) = read(line, release).complaints
    return found


# --- the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", FLAGS, ids=lambda row: row.name)
def test_a_row_agrees_with_the_complete_list_of_the_newest_release(row: Flag) -> None:
    listed = {name: flag for flag in listed_flags() for name in flag.names}
    if NEWEST not in Range(row.since, row.until):
        assert not any(name in listed for name in row.names.split())
        return
    flag = listed[row.name]
    assert (set(flag.names), flag.kind, flag.nargs) == (set(row.names.split()), row.kind, row.nargs)


@pytest.mark.parametrize("row", CHOICES, ids=lambda row: f"{row.flag} {row.since}")
def test_choices_agree_with_the_newest_release(row: Choices) -> None:
    listed = {name: flag for flag in listed_flags() for name in flag.names}
    if NEWEST in Range(row.since, row.until):
        assert listed[row.flag].choices == row.values


def test_what_a_flag_became_exists_when_the_flag_is_gone() -> None:
    names = {name: row for row in FLAGS for name in row.names.split()}
    for row in FLAGS:
        if row.until:
            assert row.now or row.note
        if row.now:
            new = names[row.now]
            assert not new.since or not row.gone or Version(new.since) <= Version(row.gone)


def test_releases_stand_in_order() -> None:
    assert sorted(RELEASES, key=Version) == list(RELEASES)


# --- reading -----------------------------------------------------------------------------------


def test_values_follow_or_are_joined() -> None:
    found = read(
        "--model-path m --tp-size=8 --enable-metrics --cuda-graph-bs-decode 1 2 4 --port 1"
    )
    assert found == Arguments(
        (
            Given("--model-path", "--model-path", ("m",)),
            Given("--tp-size", "--tp-size", ("8",)),
            Given("--enable-metrics", "--enable-metrics"),
            Given("--cuda-graph-bs-decode", "--cuda-graph-bs-decode", ("1", "2", "4")),
            Given("--port", "--port", ("1",)),
        ),
        (),
    )


def test_a_beginning_that_means_one_flag_is_accepted() -> None:
    assert read("--tp 8").given == (Given("--tp-size", "--tp", ("8",)),)
    assert read("--pp 2", "0.5.3").complaints == ()


@pytest.mark.parametrize(
    ("line", "release", "near"),
    [
        ("--pp 2", "0.5.5", ("--pp-size", "--pp-max-micro-batch-size")),
        (
            "--cuda-graph-max-bs 8",
            "0.5.23",
            ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill"),
        ),
    ],
)
def test_a_beginning_that_means_several_is_refused(
    line: str, release: str, near: tuple[str, ...]
) -> None:
    found = complaint(line.split()[0], release)
    assert (found.trouble, found.near) == ("ambiguous", near)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--no-such 3", [Complaint("unknown", "--no-such"), Complaint("stray", "3")]),
        ("--enable-metrics=1", [Complaint("value for a switch", "--enable-metrics", "1")]),
        ("--enable-metrics 1", [Complaint("stray", "1")]),
        ("--tp-size", [Complaint("no value", "--tp-size")]),
        ("--tp-size --port 1", [Complaint("no value", "--tp-size")]),
        ("--tp-size two", [Complaint("no number", "--tp-size", "two")]),
        ("--tp-size 8 8", [Complaint("stray", "8")]),
        ("--log-requests-format xml", [Complaint("no choice", _FORMAT, "xml", ("text", "json"))]),
        ("--random-seed -1", []),
        ("--context-length 128k --mem-fraction-static .8", []),
        ("--cuda-graph-bs-decode", [Complaint("no value", "--cuda-graph-bs-decode")]),
        ("--uvicorn-access-log-exclude-prefixes", []),
        ("-- --tp-size", [Complaint("stray", "--tp-size")]),
    ],
)  # fmt: skip
def test_what_the_parser_refuses(line: str, expected: list[Complaint]) -> None:
    assert list(read(line).complaints) == expected


def test_an_unread_release_lets_other_flags_pass() -> None:
    found = read("--some-thing a b --tp-size 2", "0.5.16")
    assert found.complaints == ()
    assert found.given[0] == Given("--some-thing", "--some-thing", ("a", "b"))
    assert found.given[1].values == ("2",)


@pytest.mark.parametrize(
    ("argv", "command", "ours"),
    [
        ("python3 -m sglang.launch_server --a 1", 3, True),
        ("sglang serve --a 1", 2, True),
        ("env X=1 python /opt/sglang/launch_server.py --a", 4, False),
        ("/opt/sglang/launch_server.py --a", 1, True),
        ("./run.sh big --a 1", 2, False),
        ("./run.sh", 1, False),
        ("", 0, False),
    ],
)
def test_where_the_flags_begin(argv: str, command: int, ours: bool) -> None:
    words = argv.split()
    left, right = split_command(words)
    assert (len(left), [*left, *right]) == (command, words)
    assert is_sglang(words) is (ours or "sglang/launch_server.py" in argv)


def test_serve_takes_the_model_without_a_flag() -> None:
    assert split_command(["sglang", "serve", "m"])[1] == ("--model-path", "m")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", ["1", "-1", "+2", "1_000"], ["", "1.0", "1k", "x"]),
        ("float", ["1", "0.8", "1e-3", "nan"], ["", "x", "1k"]),
        ("size", ["8192", "128k", "25.6k", "1Mi"], ["", "k", "1.5Ki", "x"]),
        ("json", ["{}", "[1]", "3"], ["", "{", "x"]),
        ("text", ["", "x"], []),
    ],
)
def test_kinds(kind: Kind, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if not fits(kind, value)] == []
    assert [value for value in bad if fits(kind, value)] == []


# --- as argparse does it -----------------------------------------------------------------------

_TOY = (
    Known(("--size", "--total-size"), "int"),
    Known(("--size-of-page",), "int"),
    Known(("--quiet",), "switch"),
    Known(("--quick",), "switch"),
    Known(("--names",), "text", "+"),
    Known(("--rest",), "text", "*"),
    Known(("--mode",), "text", "", ("a", "b")),
    Known(("--one",), "text", "?"),
)


class _Refused(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False)
    for flag in _TOY:
        if flag.kind == "switch":
            parser.add_argument(*flag.names, action="store_true")
        else:
            parser.add_argument(
                *flag.names,
                type=int if flag.kind == "int" else str,
                nargs=flag.nargs or None,
                choices=flag.choices or None,
            )
    return parser


_LINE = (
    "--size --size=3 --siz --size-of --tot --quiet --qui --quie --quiet=1 --names --names=x --rest "
    "--mode --mode=a --one a b 3 -3 -x --nope --nope=1 x=1 -"
)
_WORDS = st.sampled_from([*_LINE.split(), "", "a b", "--a b"])


@given(st.lists(_WORDS, max_size=6))
def test_what_argparse_takes_is_taken_and_nothing_else(words: list[str]) -> None:
    found = read_arguments(words, KnownFlags(_TOY, complete=True))
    try:
        values = vars(_parser().parse_args(words))
    except _Refused:
        assert found.complaints
        return
    assert found.complaints == ()
    for flag in _TOY:
        last = [given.values for given in found.given if given.flag == flag.names[0]][-1:]
        value = values[flag.names[0][2:].replace("-", "_")]
        if flag.kind == "switch":
            assert value is bool(last)
        elif last:
            expected = value if isinstance(value, list) else [] if value is None else [value]
            assert [*last[0]] == [str(v) for v in expected]
        else:
            assert value is None


@given(st.lists(st.text(max_size=20), max_size=8), st.sampled_from(RELEASES))
def test_any_words_are_read(words: list[str], release: str) -> None:
    read_arguments(words, flags_of(Version(release)))
    split_command(words)
