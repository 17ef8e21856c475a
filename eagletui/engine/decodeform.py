"""One decode line made into an expression that reads every line of its form, a block at a time.

A server writes its decode lines in one form for as long as it runs: only digits, `True` and `False`
change. A line that the reader has understood gives that form. Its expression takes nothing else, so
that whatever it matches the reader would have read in the same way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

# Nothing that follows digits here could be a digit, so they need not be given back: Python 3.11 can
# be told, and saves a tenth.
_KEPT = b"+" if sys.version_info >= (3, 11) else b""


def digits(least: int, most: int) -> bytes:
    """An expression for so many digits, followed by something else."""
    return b"[0-9]{%d,%d}%b" % (least, most, _KEPT)


# No rank, iteration or pair of a known release has more digits in one place.
_DIGITS = digits(1, 15)
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
    "graph": rb"(?:Tru|Fals)e",
}
_ACCESS = rb"\] INFO:     [0-9:]"
_PREFILL = rb"\] Prefill batch[.,] #"
# No bracket: a record might begin there.
_ANY_TEXT = rb"[ -Z\\-~]*"


class Number(NamedTuple):
    """A number to be cut out: where it stands, and how it may look (an expression)."""

    start: int
    end: int
    form: bytes


class DecodeForm(NamedTuple):
    """The lines of one form.

    Attributes:
        expression: one line with its end; a group for each number.
        plain: what stands between them most often, a prefill line of these ranks or an access line
            of this day; with its end, and not looked into.
        empty: which numbers its lines have not got.
    """

    expression: re.Pattern[bytes]
    plain: re.Pattern[bytes]
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
    stamp = re.escape(begin["day"]) + _CLOCK
    if begin["millis"]:
        stamp += re.escape(begin["millis"][:1]) + rb"[0-9]{3}"
    expression = stamp
    position = begin.end()
    for number in numbers:
        expression += _text(line[position : number.start]) + b"(" + number.form + b")"
        position = number.end
    expression += _text(line[position:]) + rb"\n"
    empty = frozenset(index for index, number in enumerate(numbers) if not number.form)
    rank = _text(line[begin.end() : line.index(b"]", begin.end())])
    plain = stamp + b"(?:" + _ACCESS + b"|" + rank + _PREFILL + b")" + _ANY_TEXT + rb"\n"
    return DecodeForm(re.compile(expression), re.compile(plain), empty)


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
