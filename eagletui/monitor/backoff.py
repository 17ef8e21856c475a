"""How long to wait before the next try."""

from __future__ import annotations

FIRST = 1.0
LONGEST = 30.0


def delay(attempt: int) -> float:
    """Seconds to wait before try number `attempt` (1 is the first retry): 1, 2, 4 … 30."""
    return min(LONGEST, FIRST * 2.0 ** max(0, min(attempt - 1, 16)))
