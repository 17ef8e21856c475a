"""A server's arguments, read as argparse reads them, every trouble named.

As Python 3.10 to 3.12 do it: beginnings of flags are accepted where they are unambiguous, values
may be joined with `=`, words that look like flags are no values unless they are negative numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from eagletui.engine.flags.known import Known, KnownFlags
from eagletui.engine.flags.table import Kind

Trouble = Literal[
    "unknown", "ambiguous", "no value", "value for a switch", "stray", "no number", "no choice"
]

_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")
_SIZE = re.compile(r"[-+]?\d+|\d+(?:\.\d+)?[kMGT]|\d+[KMGT]i")
_INT = re.compile(r"\s*[-+]?\d+(?:_\d+)*\s*")


class Given(NamedTuple):
    """A flag on the command line.

    Attributes:
        flag: the first of its spellings.
        word: as it was written.
        values: its words.
    """

    flag: str
    word: str
    values: tuple[str, ...] = ()


class Complaint(NamedTuple):
    """What the server's parser would refuse.

    Attributes:
        trouble: its kind.
        word: the flag as it was written, or the stray word.
        value: the word that is no number or no choice.
        near: flags that were meant perhaps, or the choices.
    """

    trouble: Trouble
    word: str
    value: str = ""
    near: tuple[str, ...] = ()


class Arguments(NamedTuple):
    """A command line that was read."""

    given: tuple[Given, ...]
    complaints: tuple[Complaint, ...]


def read_arguments(words: Sequence[str], known: KnownFlags) -> Arguments:
    """Read the words after `sglang.launch_server`."""
    given: list[Given] = []
    complaints: list[Complaint] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            complaints += [Complaint("stray", rest) for rest in words[index:]]
            break
        if not _is_flag(word, known):
            complaints.append(Complaint("stray", word))
            continue
        name, flag, value, trouble = _look_up(word, known)
        if trouble is not None:
            complaints.append(trouble)
            continue
        if flag is None:
            # Nobody knows whether it takes a value.
            taken = _values(words, index, known, "*")
            given.append(Given(name, name, taken if value is None else (value,)))
            index += 0 if value is not None else len(taken)
            continue
        values: tuple[str, ...] = ()
        if flag.kind == "switch":
            if value is not None:
                complaints.append(Complaint("value for a switch", name, value))
                continue
        elif value is not None:
            values = (value,)
        else:
            values = _values(words, index, known, flag.nargs)
            index += len(values)
            if not values and flag.nargs in ("", "+"):
                complaints.append(Complaint("no value", name))
                continue
        given.append(Given(flag.names[0], name, values))
        complaints += _refused(flag, name, values)
    return Arguments(tuple(given), tuple(complaints))


def split_command(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command and its flags: (`python -m sglang.launch_server`, `--model-path …`).

    Of a command that is not SGLang's own the flags begin with the first word that is one.
    """
    words = tuple(argv)
    for index, word in enumerate(words):
        end = index + 1
        if word == "serve" and index and words[index - 1].rpartition("/")[2] == "sglang":
            # `sglang serve MODEL` is taken for `--model-path MODEL`.
            if words[end : end + 1] and not words[end].startswith("-"):
                return words[:end], ("--model-path", *words[end:])
            return words[:end], words[end:]
        if word == "sglang.launch_server" or word.endswith("sglang/launch_server.py"):
            return words[:end], words[end:]
    first = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    return words[:first], words[first:]


def is_sglang(argv: Sequence[str]) -> bool:
    """Whether the command is SGLang's own, and not a script around it."""
    command, _ = split_command(argv)
    last = command[-1] if command else ""
    return last in ("sglang.launch_server", "serve") or last.endswith("sglang/launch_server.py")


def fits(kind: Kind, value: str) -> bool:
    """Whether argparse's type takes this value."""
    if kind == "int":
        return _INT.fullmatch(value) is not None
    if kind == "size":
        return _SIZE.fullmatch(value.strip()) is not None
    try:
        if kind == "float":
            float(value)
        elif kind == "json":
            json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


def _look_up(
    word: str, known: KnownFlags
) -> tuple[str, Known | None, str | None, Complaint | None]:
    flag = known.exact(word)
    if flag is not None:
        return word, flag, None, None
    name, joined, text = word.partition("=")
    value = text if joined else None
    flag = known.exact(name)
    if flag is not None:
        return name, flag, value, None
    found = known.beginning(name) if name.startswith("--") else ()
    if len(found) > 1:
        return name, None, None, Complaint("ambiguous", name, near=found)
    if found:
        return name, known.exact(found[0]), value, None
    if known.complete:
        return name, None, None, Complaint("unknown", name)
    return name, None, value, None


def _is_flag(word: str, known: KnownFlags) -> bool:
    if not word.startswith("-") or len(word) == 1:
        return False
    if known.exact(word) is not None or known.exact(word.partition("=")[0]) is not None:
        return True
    if _NUMBER.match(word):
        return False
    return " " not in word or bool(
        word.startswith("--") and known.beginning(word.partition("=")[0])
    )


def _values(words: Sequence[str], index: int, known: KnownFlags, nargs: str) -> tuple[str, ...]:
    limit = 1 if nargs in ("", "?") else len(words)
    end = index
    while end < len(words) and end - index < limit and not _is_flag(words[end], known):
        end += 1
    return tuple(words[index:end])


def _refused(flag: Known, name: str, values: tuple[str, ...]) -> list[Complaint]:
    complaints = []
    for value in values:
        if not fits(flag.kind, value):
            complaints.append(Complaint("no number", name, value))
        elif flag.choices and flag.sure and value not in flag.choices:
            complaints.append(Complaint("no choice", name, value, flag.choices))
    return complaints
