"""The drop-in's text, read back by the rules of systemd.syntax(7) and of systemd's source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.hostside.agent.base import Refused
from eagletui.hostside.agent.unit_file import drop_in, environment_file, exec_start, quoted

ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
           "\\": "\\", '"': '"', "'": "'", "s": " "}  # fmt: skip
HOSTILE = ("; rm -rf /", ";", "$(x) `y` $HOME ${HOME} $$ $", 'it\'s "q" \\',
           "a\nb\tc\x01\x7f", "%n %% %", "東京",
           "", "\\x41", "trailing\\", " lead ", "#", "@", "-", "=")  # fmt: skip
text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
words = st.one_of(st.sampled_from(HOSTILE), text)


def split(value: str) -> list[str]:
    """Words of a setting: quotes, C escapes, then specifiers and variables."""
    found: list[str] = []
    word: str | None = None
    quote = ""
    letters = iter(value)
    for letter in letters:
        if letter == "\\":
            word = (word or "") + escape(letters)
        elif quote:
            if letter == quote:
                quote = ""
            else:
                word = (word or "") + letter
        elif letter in "'\"":
            quote, word = letter, word or ""
        elif letter in " \t\n\r":
            if word is not None:
                found.append(word)
            word = None
        else:
            word = (word or "") + letter
    assert not quote
    return found if word is None else [*found, word]


def escape(letters: object) -> str:
    letter = next(letters)  # type: ignore[call-overload]
    if letter == "x":
        return chr(int(next(letters) + next(letters), 16))  # type: ignore[call-overload]
    return ESCAPED[letter]


def specified(word: str) -> str:
    """What is left of a word; any other use of a specifier or a variable is a failure."""
    for sign in "%$":
        assert sign not in word.replace(sign * 2, ""), word
        word = word.replace(sign * 2, sign)
    return word


@given(st.lists(words, min_size=1, max_size=6))
def test_every_word_is_read_back_as_it_was(argv: list[str]) -> None:
    value = exec_start("/usr/bin/python3", ["/usr/bin/python3", *argv])
    assert "\n" not in value
    program, *rest = split(value)
    assert program == "/usr/bin/python3"
    assert [specified(word) for word in rest] == argv
    # A lone semicolon would begin a second command.
    assert not any(part == ";" for part in value.split(" "))


@given(words)
def test_a_name_of_its_own_is_given_to_the_program(name: str) -> None:
    value = exec_start("/opt/a b%/python", [name, "-m", "x"])
    program, first, *rest = split(value)
    assert program.startswith("@")
    assert program[1:].replace("%%", "%") == "/opt/a b%/python"
    assert [specified(first), *rest] == [name, "-m", "x"]


@pytest.mark.parametrize("program", ["/opt/it's/python", '/opt/"/x', "/opt/a\\b", "/opt/a\nb"])
def test_a_path_that_systemd_does_not_take_is_started_by_env(program: str) -> None:
    first, *rest = split(exec_start(program, ["python", "-m", "x"]))
    assert first == "/usr/bin/env"
    assert [specified(word) for word in rest] == [program, "-m", "x"]


def variables(text: str) -> dict[str, str]:
    """`EnvironmentFile=` as parse_env_file() of systemd 252 reads it."""
    found: dict[str, str] = {}
    name, value, state = "", "", "name"
    for letter in text:
        if state == "name":
            if letter == "=":
                state = "value"
            elif letter != "\n":
                name += letter
        elif state == "value":
            if letter == '"':
                state = "quoted"
            elif letter == "\n":
                found[name] = value
                name, value, state = "", "", "name"
            else:
                raise AssertionError(letter)
        elif state == "quoted":
            if letter == "\\":
                state = "escaped"
            elif letter == '"':
                state = "value"
            else:
                value += letter
        else:
            # Before 239 the backslash was dropped before any character.
            assert letter in '"\\'
            value += letter
            state = "quoted"
    assert state == "name"
    return found


names = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z")
printable = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\t\n"))


@given(st.dictionaries(names, st.one_of(st.sampled_from(HOSTILE[:4] + HOSTILE[5:]), printable)))
def test_every_variable_is_read_back_as_it_was(given_: dict[str, str]) -> None:
    assert variables(environment_file(given_)) == given_


@pytest.mark.parametrize(
    ("name", "value"),
    [("A", "\x07"), ("A", "\r"), ("A", "\udcff"), ("a-b", "x"), ("1", "x"), ("", "x"), ("é", "x")],
)
def test_what_systemd_would_drop_is_refused(name: str, value: str) -> None:
    with pytest.raises(Refused) as refused:
        environment_file({name: value})
    assert refused.value.code == "unit-cannot"


@pytest.mark.parametrize("path", ["relative", "/a\nb", "/trailing ", "/\udcff"])
def test_a_path_that_cannot_be_told_is_refused(path: str) -> None:
    with pytest.raises(Refused):
        drop_in(argv=["/x"], program="/x", environment_file="/e", workdir=path)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Refused) as refused:
        exec_start("/x", ["/x", "\udcff"])
    assert refused.value.about == {"what": "a word of the command line"}


def test_the_whole_file() -> None:
    made = drop_in(
        argv=["/usr/bin/python3", "-m", "sglang.launch_server", "--x", '50% of "$A"'],
        program="/usr/bin/python3",
        environment_file="/etc/systemd/system/a.service.d/50-eagletui.env",
        unset=["NCCL_ALGO", "NCCL_PROTO"],
        workdir="/srv/100%",
        log="/var/log/a b.log",
    )
    assert made.splitlines()[1:] == [
        "[Service]",
        "ExecStart=",
        'ExecStart="/usr/bin/python3" "-m" "sglang.launch_server" "--x" "50%% of \\"$$A\\""',
        "EnvironmentFile=/etc/systemd/system/a.service.d/50-eagletui.env",
        "UnsetEnvironment=NCCL_ALGO NCCL_PROTO",
        "WorkingDirectory=/srv/100%%",
        "StandardOutput=append:/var/log/a b.log",
        "StandardError=append:/var/log/a b.log",
    ]


def test_systemd_itself_finds_nothing_wrong(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    unit = tmp_path / "eagletui-test.service"
    head = "[Unit]\nDefaultDependencies=no\n"
    unit.write_text(
        head
        + drop_in(
            argv=["/bin/sh", *HOSTILE],
            program="/bin/sh",
            environment_file="/e",
            workdir="/",
            log="/var/log/a b.log",
        )
    )
    verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    done = subprocess.run(verify, capture_output=True, text=True)
    assert "eagletui-test.service" not in done.stderr, done.stderr
    unit.write_text(head + f"[Service]\nExecStart=/bin/sh {quoted('x')[:-1]}\n")
    done = subprocess.run(verify, capture_output=True, text=True)
    assert "eagletui-test.service" in done.stderr
