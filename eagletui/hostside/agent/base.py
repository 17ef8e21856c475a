"""What every part of the agent uses."""

from __future__ import annotations

import json
import os
from typing import Any, Dict  # noqa: UP035

MARK = "EAGLETUI_LAUNCH"
"""Carried by every process of a server that was started from here."""
OURS = (MARK, "EAGLETUI_STATE", "EAGLETUI_LOCK")

LARGEST = 64 << 20
"""Bytes; what is kept of a launch is a few kilobytes."""

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


def record(path: str) -> Json:
    """The table in a JSON file; {} where there is none, whatever else may stand there."""
    try:
        return table_of(read(path)) if os.stat(path).st_size <= LARGEST else {}
    except OSError:
        return {}


def table_of(text: bytes) -> Json:
    """The table in a JSON text; {} where it is something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
