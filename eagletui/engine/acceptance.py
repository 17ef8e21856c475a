"""Whether the draft is of any use, judged from decode lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import and_

from eagletui.engine.diagnosis import diagnosis
from eagletui.model.diagnosis import Diagnosis

USELESS_BELOW = 1.05
_USELESS_TEXT = b"%.2f" % USELESS_BELOW
STEPS_NEEDED = 400
LINES_NEEDED = 10
DEFAULT_INTERVAL = 40


class AcceptanceWatch:
    """Looks for an accept length that stays at 1 (sglang#24795, SpecForge#310).

    Args:
        interval: steps between two decode lines (`--decode-log-interval`).
    """

    def __init__(self, interval: int = DEFAULT_INTERVAL) -> None:
        self.needed = max(LINES_NEEDED, -(-STEPS_NEEDED // max(1, interval)))
        self._streak = 0
        self._interval = interval

    def add(self, accept_length: float) -> bool:
        """Take in one value; whether it completes the proof."""
        self._streak = self._streak + 1 if accept_length < USELESS_BELOW else 0
        return self._streak == self.needed

    def add_column(self, accept_lengths: Sequence[bytes]) -> int | None:
        """Take in many as they are written; the index of the one that completes the proof.

        Decimals of one integer digit compare as text as they do as numbers, and longer ones are
        greater, because the point stands before every digit.
        """
        if not accept_lengths:
            return None
        # A run that is long enough stands on two of these that follow each other.
        sampled = accept_lengths[self.needed // 2 - 1 :: self.needed // 2]
        begun = self._streak and accept_lengths[0] < _USELESS_TEXT
        if not begun and not _holds_two_low(sampled):
            at_end = takewhile(_USELESS_TEXT.__gt__, reversed(accept_lengths))
            self._streak = sum(1 for _ in at_end)
            return None
        previous = -1
        low = [i for i, value in enumerate(accept_lengths) if value < _USELESS_TEXT]
        for index in low:
            self._streak = self._streak + 1 if index == previous + 1 else 1
            previous = index
            if self._streak == self.needed:
                return index
        if previous != len(accept_lengths) - 1:
            self._streak = 0
        return None

    def verdict(self, evidence: str, line: int | None) -> Diagnosis:
        """The words for it."""
        return diagnosis(
            "accept-length-one",
            "warning",
            f"The draft is useless: accept length stays near 1 over {self.needed * self._interval} "
            "steps",
            line=line,
            evidence=evidence,
            advice="Every draft is thrown away, so speculation only costs. Check that the draft "
            "was made for this target and this release (an update of SGLang can break it), or "
            "switch speculation off.",
        )


def _holds_two_low(accept_lengths: Sequence[bytes]) -> bool:
    """Whether two that follow each other are as those of a useless draft."""
    if min(accept_lengths, default=_USELESS_TEXT) >= _USELESS_TEXT:
        return False
    low = [value < _USELESS_TEXT for value in accept_lengths]
    return any(map(and_, low, low[1:]))
