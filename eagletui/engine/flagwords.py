"""A command line as flags with their values, such that every word can be put back.

A *key* is a flag as a profile spells it (`model.profile.FLAG_KEY`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eagletui.engine.command import canonical_flag
from eagletui.model.base import Data
from eagletui.model.profile import FlagValue

_FLAG = re.compile(r"(?as)(?P<dashes>--?)(?P<name>[A-Za-z][\w.-]*)(?:(?P<joined>=)(?P<value>.*))?")
_LONG = re.compile(r"(?a)--[A-Za-z]")
# Digits that come out of a TOML number as they went in.
_INT = re.compile(r"(?a)0|-?[1-9]\d{0,15}")
_FLOAT = re.compile(r"(?a)-?\d{1,15}\.\d{1,15}")


class Flag(Data, frozen=True):
    """One flag of a command line: its key, and the words of its value (() for a switch)."""

    key: str
    values: tuple[str, ...] = ()


def split_command(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[Flag, ...]]:
    """The words before the first `--flag`, and the flags.

    All words after a flag are its values up to the next flag; `-1`, `-` and what has spaces are
    values, as for argparse.
    """
    start = next((i for i, word in enumerate(argv) if i and _LONG.match(word)), len(argv))
    found: list[tuple[str, list[str]]] = []
    seen: dict[str, int] = {}
    for word in argv[start:]:
        match = _FLAG.fullmatch(word)
        if match is None:
            # A word like `--größe` begins as a flag does and is none: it goes to the command.
            if not found:
                found.append(("", []))
            found[-1][1].append(word)
            continue
        spelt = ("-" if match["dashes"] == "-" else "") + match["name"] + (match["joined"] or "")
        seen[spelt] = count = seen.get(spelt, 0) + 1
        key = spelt if count == 1 else f"{spelt}#{count}"
        found.append((key, [match["value"]] if match["joined"] else []))
    command = tuple(argv[:start])
    if found and found[0][0] == "":
        command, found = (*command, *found[0][1]), found[1:]
    return command, tuple(Flag(key=key, values=tuple(values)) for key, values in found)


def words_of(key: str, values: Sequence[str]) -> tuple[str, ...]:
    """A flag's words: the flag, then its values, the first joined to it where the key says so."""
    spelt = spelling(key)
    if spelt.endswith("="):
        return (spelt + (values[0] if values else ""), *values[1:])
    return (spelt, *values)


def spelling(key: str) -> str:
    """The flag as the server takes it, with its dashes."""
    name = key.partition("#")[0]
    return name if name.startswith("-") else f"--{name}"


def same_flag(key: str) -> str:
    """One name for all keys that set the same thing: `tp`, `tp-size=` and `tp#2` are one."""
    return canonical_flag(spelling(key).rstrip("="))


def texts(value: FlagValue) -> tuple[str, ...]:
    """A flag's value as words; () for a switch."""
    if value is True:
        return ()
    if isinstance(value, tuple):
        return value
    return (str(value),)


def value_of(words: Sequence[str]) -> FlagValue:
    """The most natural value that gives these words again."""
    if not words:
        return True
    if len(words) > 1:
        return tuple(words)
    (word,) = words
    if _INT.fullmatch(word):
        return int(word)
    if _FLOAT.fullmatch(word) and repr(float(word)) == word:
        return float(word)
    return word
