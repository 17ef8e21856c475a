"""Fields of a row that may be damaged: what is not what was written costs its own row alone.

SQLite checks its pages, not their content; a field can be of any type, whatever its column says.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

import msgspec

_T = TypeVar("_T")


class Unreadable(ValueError):
    """It is not what was written."""


def typed(row: Sequence[object], kind: type[_T]) -> _T:
    """A row as the named tuple that it was written from.

    Raises:
        Unreadable: a field is of another type.
    """
    try:
        return msgspec.convert(row, kind)
    except msgspec.MsgspecError as error:
        raise Unreadable(str(error)) from error


def document(data: bytes, kind: type[_T], *, packed: bool = True) -> _T:
    """What a document holds.

    Raises:
        Unreadable: it is something else.
    """
    try:
        return msgspec.json.decode(zlib.decompress(data) if packed else data, type=kind)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise Unreadable(str(error)) from error


def words(text: str) -> tuple[str, ...]:
    """A list of words.

    Raises:
        Unreadable: it is something else.
    """
    return document(text.encode(), tuple[str, ...], packed=False)


def shown_text(field: object) -> str:
    """A text that is shown although its row is damaged; "" where it is none."""
    return field if isinstance(field, str) else ""


def shown_moment(field: object) -> float:
    """Seconds since 1970 that are shown although their row is damaged; 0 where it is no number."""
    return float(field) if isinstance(field, (int, float)) else 0.0
