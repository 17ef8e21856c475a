"""One decode line made into an expression that reads every line of its form, a block at a time.

A server writes its decode lines in one form for as long as it runs: only digits, `True` and `False`
change. A line that the reader has understood gives that form. Its expression takes nothing else, so
that whatever it matches the reader would have read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

# No rank, iteration or pair of a known release has more digits in one place.
_DIGITS = rb"[0-9]{1,15}"
# The day is taken to the letter: days that no calendar has are thereby excluded.
_BEGIN = re.compile(
    rb"(?P<day>\[[0-9]{4}-[0-9]{2}-[0-9]{2} )[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
    rb"(?P<millis>[.,][0-9]{3})?(?=[ \]])"
)
_CLOCK = rb"[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
_CHANGES = re.compile(
    rb"(?P<fraction>(?<=[0-9])\.[0-9]+)|(?P<digits>[0-9]+)"
    rb"|(?P<mark>(?<=\] Decode batch)[.,])|(?P<graph>True|False)"
)
# What a changing piece may be in another line.
_MAY_BE = {
    "digits": _DIGITS,
    "mark": rb"[.,]",  # with the release; one file may hold the logs of two
    "graph": rb"(?:True|False)",
}


class Number(NamedTuple):
    """A number to be cut out: where it stands, and how it may look (an expression)."""

    start: int
    end: int
    form: bytes


class DecodeForm(NamedTuple):
    """The lines of one form.

    Attributes:
        expression: one line with its end; a group for each number.
        empty: which numbers its lines have not got.
    """

    expression: re.Pattern[bytes]
    empty: frozenset[int]


def form_key(line: bytes) -> bytes:
    """Lines with the same key have the same form; the reverse holds but for `True` and `False`."""
    return line[:12] + line.translate(None, b"0123456789")


def form_of(line: bytes, pairs: Mapping[str, str], numbers: list[Number]) -> DecodeForm | None:
    """The form of a decode line (without its end); None where digits decide how it is read.

    Args:
        line: as written, and without anything before its record.
        pairs: what the reader read in it.
        numbers: what to cut out, in order.
    """
    begin = _BEGIN.match(line)
    if begin is None or not line.isascii() or any(map(_has_digit, pairs)):
        return None
    expression = re.escape(begin["day"]) + _CLOCK
    if begin["millis"]:
        expression += re.escape(begin["millis"][:1]) + rb"[0-9]{3}"
    position = begin.end()
    for number in numbers:
        expression += _text(line[position : number.start]) + b"(" + number.form + b")"
        position = number.end
    expression += _text(line[position:]) + rb"\n"
    empty = frozenset(index for index, number in enumerate(numbers) if not number.form)
    return DecodeForm(re.compile(expression), empty)


def looks_like(text: bytes, whole: bytes) -> bytes:
    """How a number like this one looks: as many digits after the point, `whole` before it."""
    if not text:
        return b""
    _, point, fraction = text.partition(b".")
    return whole + re.escape(point) + b"[0-9]" * len(fraction)


def _text(text: bytes) -> bytes:
    """An expression for what stands between two numbers."""
    made, position = b"", 0
    for change in _CHANGES.finditer(text):
        made += re.escape(text[position : change.start()])
        kind = change.lastgroup or ""
        if kind == "fraction":
            made += rb"\." + b"[0-9]" * (len(change["fraction"]) - 1)
        else:
            made += _MAY_BE[kind]
        position = change.end()
    return made + re.escape(text[position:])


def _has_digit(name: str) -> bool:
    return any(character.isdigit() for character in name)
