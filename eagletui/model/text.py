"""Remote bytes made safe to show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"
)
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Drop escape sequences, show other control and direction-changing characters as `·`.

    Tabs become four spaces. What remains cannot move the cursor or reorder a line.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPES.sub("", text).replace("\t", "    ")
    return _UNSAFE.sub("·", text)


def counted(number: int, what: str) -> str:
    """`1 line`, `3 lines`: of what takes an `s`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def is_text(text: str) -> bool:
    """Whether it can be written: bytes that are no UTF-8 become characters that cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def visible_value(value: Any) -> Any:
    """A JSON-like value with every text in it made safe, all the way down."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible_value(key): visible_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(visible_value(item) for item in value)
    return value


def visible_bytes(data: bytes, limit: int = 8192) -> str:
    """A line of a log as text; more than `limit` bytes are cut with a note of how many."""
    cut = len(data) - limit
    text = visible(data[:limit].decode("utf-8", "replace"))
    return f"{text} … (+{cut} bytes)" if cut > 0 else text
