"""Runs that a comparison names and that were removed since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Gone(NamedTuple):
    """A run that was to be compared and is not kept any more.

    Attributes:
        name: what it was called, "" unknown.
        baseline: whether the others were to be measured against it.
    """

    id: str
    name: str = ""
    baseline: bool = False


def gone_words(gone: Sequence[Gone]) -> str:
    """Which they are, in one sentence; "" for none."""
    runs = (
        f"{one.id}{f' ({one.name})' if one.name else ''}{', the baseline' if one.baseline else ''}"
        for one in gone
    )
    return f"Removed meanwhile and missing here: {'; '.join(runs)}." if gone else ""
