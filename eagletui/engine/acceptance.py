"""Whether the draft is of any use, judged from decode lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import and_

from eagletui.engine.diagnosis import diagnosis
from eagletui.model.diagnosis import Diagnosis

USELESS_BELOW = 1.05
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

    def add_column(self, low: Sequence[bool]) -> int | None:
        """Take in many; the index of the one that completes the proof.

        Args:
            low: of each whether it is below `USELESS_BELOW`.
        """
        if not low:
            return None
        # A run that is long enough stands on two of these that follow each other.
        sampled = low[self.needed // 2 - 1 :: self.needed // 2]
        begun = self._streak and low[0]
        if not begun and not any(map(and_, sampled, sampled[1:])):
            self._streak = sum(1 for _ in takewhile(bool, reversed(low)))
            return None
        proof = None
        for index, is_one in enumerate(low):
            self._streak = self._streak + 1 if is_one else 0
            if self._streak == self.needed and proof is None:
                proof = index
        return proof

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
