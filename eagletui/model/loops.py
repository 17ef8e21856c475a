"""One rule for outputs that loop, whoever measured them.

What repeats is drafted right far more often than what people ask for: its speed and accept length
are those of the loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

TAIL = 128
"""Words, or tokens, at an output's end that are looked at: most begin well."""

FEWEST = 64
"""Words of which it can be said whether they loop."""

LOOPED_BELOW = 0.2
"""Distinct pairs of neighbours over all of an output's last 128. Of 5,600 such pieces of the
standard library's source 99 of 100 have 0.28 or more, of prose all have 0.6; of a small model that
loops at temperature 0 (recorded on an H200) they have 0.01 to 0.02, and 0.57 to 0.82 at temperature
1; its token numbers say the same."""

LOOPED_SHARE = 0.25
"""Share of a cell's outputs, `FEW` at the least, above which its figures are those of a loop."""

FEW = 3
SO = "Accept length and speed are those of a loop."


def tail_bigrams(words: Sequence[Hashable]) -> float | None:
    """Distinct pairs of neighbours over all at an output's end; None for a short one.

    `hostside.stream_meter` reckons the same where requests are sent from.
    """
    if len(words) < FEWEST:
        return None
    pairs = list(pairwise(words[-TAIL:]))
    return len(set(pairs)) / len(pairs)


class Loops:
    """Counts the outputs of a cell that loop."""

    def __init__(self) -> None:
        self._served = 0
        self._looped: list[float] = []

    def add(self, tail: float | None) -> None:
        """One more output that was served, by its `tail_bigrams`."""
        self._served += 1
        if tail is not None and tail < LOOPED_BELOW:
            self._looped.append(tail)

    @property
    def too_many(self) -> bool:
        """Whether the cell's figures are those of a loop."""
        return len(self._looped) >= FEW and len(self._looped) > LOOPED_SHARE * self._served

    @property
    def words(self) -> str:
        """What was seen, as a sentence; "" where nothing looped."""
        if not self._looped:
            return ""
        return (
            f"{len(self._looped)} of {self._served} outputs loop: at their end "
            f"{min(self._looped):.2f} to {max(self._looped):.2f} of the pairs of words are "
            f"distinct, and below {LOOPED_BELOW:g} it is a loop."
        )
