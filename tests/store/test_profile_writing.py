from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eagletui.engine.flagwords import same_flag
from eagletui.engine.import_server import import_server
from eagletui.model.errors import UsageError
from eagletui.model.profile import Guard, Profile, ServerPart, SpeculativePart
from eagletui.store.profiles.lines import key_lines
from eagletui.store.profiles.shelf import Profiles
from eagletui.store.profiles.writing import changed, profile_text, template
from tests.engine.test_start_plan import COMMANDS, FLAGS

MINE = """\
# why this file is here
title = "mine"   # short

[server]
port = 30000     # behind nginx

[server.flags]
tp-size = 8      # all of them
"""


def read(text: str) -> Profile:
    profiles = Profiles((Path("/nowhere"),), same_flag)
    profile = profiles.read(text, name="x", path=Path("/nowhere/x.toml"))
    return replace(profile, source="")


def test_a_value_changes_and_every_comment_stays() -> None:
    text = changed(
        MINE,
        {
            "server.port": "30001",
            "server.flags.tp": "4",
            "server.flags.cuda-graph-bs": "[1, 2]",
            "server.flags.a.b": "true",
            "server.flags.chat-template": "true story",
            "server.flags.x": "1e5",
            "server.flags.y": '"5"',
            "title": "17",
            "environment.NCCL_MIN_NCHANNELS": "16",
            "speculative.num-steps": "2",
        },
        same=same_flag,
    )
    assert text.startswith(
        "# why this file is here\n"
        'title = "17"   # short\n\n'
        "[server]\nport = 30001     # behind nginx\n\n"
        "[server.flags]\ntp-size = 4      # all of them\n"
    )
    profile = read(text)
    assert profile.server.flags == {
        "tp-size": 4,
        "cuda-graph-bs": ("1", "2"),
        "a.b": True,
        "chat-template": "true story",
        "x": "1e5",
        "y": "5",
    }
    assert (profile.title, profile.server.port) == ("17", 30001)
    assert profile.environment == {"NCCL_MIN_NCHANNELS": "16"}
    assert profile.speculative.flags == {"num-steps": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "title='x'",
        "[server]\nflags.tp = 8 # c\n",
        "server = {port = 1, flags = {tp = 8}} # c\n",
        "server.port = 1\nserver.flags.tp = 2\n[environment]\nA='1'\n",
        "[server.flags]\ntp=1\n[environment]\nA='1'\n[server]\nport=2\n",
        "[environment]\n\n# end\n",
    ],
)
def test_keys_are_set_however_a_file_is_laid_out(text: str) -> None:
    sets = {
        "server.port": "5",
        "server.flags.tp": "9",
        "server.flags.new": "x",
        "title": "T",
        "environment.B": "2",
    }
    profile = read(changed(text, sets, same=same_flag))
    assert (profile.title, profile.server.port) == ("T", 5)
    assert profile.server.flags == {"tp": 9, "new": "x"}
    assert profile.environment["B"] == "2"
    assert set(profile.environment) <= {"A", "B"}


def test_a_key_is_taken_out_under_any_spelling() -> None:
    text = changed(MINE, {}, ["server.flags.tensor-parallel-size", "title"], same=same_flag)
    assert "tp-size" not in text
    assert "title" not in text
    assert "# why this file is here\n" in text
    with pytest.raises(UsageError, match=r"server\.python is not set"):
        changed(MINE, {}, ["server.python"], same=same_flag)


@pytest.mark.parametrize("key", ["port", "server", "server.flags", "server.flags.", "x.y", ""])
def test_a_key_that_no_profile_has_is_wrong_usage(key: str) -> None:
    with pytest.raises(UsageError, match="No profile has a key"):
        changed(MINE, {key: "1"}, same=same_flag)


def test_a_new_profile_is_valid_with_and_without_its_comments() -> None:
    assert read(template()) == Profile(name="x")
    filled = "\n".join(line.removeprefix("# ") for line in template().splitlines())
    profile = read(filled)
    assert profile.speculative.flags["num-draft-tokens"] == 3
    assert profile.guard == Guard(protected=True)
    text = template(extends="kimi", include=["a", "b"])
    assert 'extends = "kimi"\ninclude = ["a", "b"]\n' in text
    assert set(key_lines(text)) == {("title",), ("note",), ("extends",), ("include",)}


WHOLE = Profile(
    name="x",
    title='a "title"',
    note="two\nlines",
    server=ServerPart(
        model="/m",
        port=1,
        command=("a b", "$(c)"),
        runner="systemd",
        unit="x.service",
        user_unit=True,
        flags={"x": True, "tp=": 8, "l#2": ("1", ""), "f": 0.5},
        order=("--x", "--model="),
    ),
    speculative=SpeculativePart(flags={"num-steps": 3}),
    environment={"A": "1", "B": "ü\x1b\n'"},
    guard=Guard(read_only=True, drain_seconds=1.5, start_seconds=2.0, roll_back="never"),
)


def test_a_whole_profile_is_written_and_read_back() -> None:
    text = profile_text(WHOLE, heading=["imported"])
    assert text.startswith("# imported\n")
    assert read(text) == WHOLE
    off = replace(WHOLE, speculative=SpeculativePart(off=True), server=ServerPart(flags={"x": 1}))
    assert read(profile_text(off)) == off
    assert read(profile_text(Profile(name="x"))) == Profile(name="x")


@settings(max_examples=60)
@given(
    COMMANDS,
    st.lists(FLAGS, max_size=6),
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,6}", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufffd")),
        max_size=3,
    ),
)
def test_what_was_imported_is_the_same_on_disk(
    command: list[str], flags: list[list[str]], environment: dict[str, str]
) -> None:
    argv = [*command, *(word for flag in flags for word in flag)]
    profile = import_server(argv, name="x", environment=environment).profile
    text = profile_text(profile)
    assert read(text) == profile
    lines = key_lines(text)
    for name in profile.environment:
        assert text.split("\n")[lines["environment", name] - 1].startswith(name)
