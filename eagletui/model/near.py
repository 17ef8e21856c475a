"""The name that was meant, perhaps."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str], *, cutoff: float = 0.75) -> str:
    """The name most like this one, or "" where none is like it."""
    import difflib  # costs what nobody who spells well need pay

    found = difflib.get_close_matches(word, list(names), n=1, cutoff=cutoff)
    return found[0] if found else ""
