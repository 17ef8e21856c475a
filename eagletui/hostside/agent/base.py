"""What every part of the agent uses."""

from __future__ import annotations

import json
from typing import Any, Dict  # noqa: UP035

MARK = "EAGLETUI_LAUNCH"
"""Carried by every process of a server that was started from here."""
OURS = (MARK, "EAGLETUI_STATE", "EAGLETUI_LOCK")

Json = Dict[str, Any]  # noqa: UP006 - evaluated, also by Python 3.8


class Refused(Exception):
    """Something that is not done, by a code and what belongs to it."""

    def __init__(self, code: str, **about: Any) -> None:
        super().__init__(code)
        self.code = code
        self.about = about


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def load(path: str) -> Any:
    """A JSON file; None where there is none."""
    try:
        return json.loads(read(path))
    except (OSError, ValueError):
        return None
