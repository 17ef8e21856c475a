"""JSON that others wrote."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value of a JSON document that may hold anything.

    Raises:
        ValueError: it is no JSON, is nested deeper than can be read, or holds half of a character,
            which no file and no terminal takes.
    """
    try:
        return whole_characters(json.loads(text), text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def whole_characters(value: Any, text: str | bytes) -> Any:
    """The value read from this text, where each of its characters is whole.

    Raises:
        ValueError: an escape such as `\\ud800` stands alone.
    """
    escape: str | bytes = "\\ud" if isinstance(text, str) else b"\\ud"
    if escape in text.lower():  # type: ignore[operator]
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half of a character (a lone surrogate)") from None
    return value
