"""Numbers as a person types them: what every other program would read from them, and no more.

Python's own `int` and `float` take more than that (`1_0`, digits of every script, blanks, `nan`),
and its `int` fails on thousands of digits.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST = 40


def whole(text: str) -> int:
    """A whole number.

    Raises:
        ValueError: it is none, or is longer than any that is meant.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError("no whole number")
    return int(text)


def decimal(text: str) -> float:
    """A number with or without a point and an exponent; `inf` where it is too large.

    Raises:
        ValueError: it is none, or is longer than any that is meant.
    """
    if len(text) > _LONGEST or not _DECIMAL.fullmatch(text):
        raise ValueError("no number")
    return float(text)


def wholes(text: str, least: int, most: int) -> tuple[int, ...]:
    """Whole numbers with commas between, such as `1,8,32`, in their order and each once.

    Raises:
        ValueError: with what is wrong, for the person.
    """
    try:
        found = tuple(dict.fromkeys(whole(part.strip(" ")) for part in text.split(",")))
    except ValueError:
        raise ValueError("Numbers with commas between, such as 1,8,32.") from None
    if not all(least <= number <= most for number in found):
        raise ValueError(f"Each must be {least} to {most}.")
    return found


def shortened(text: str) -> str:
    """A text that is none, for a message of one line."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
