"""What a column of numbers amounts to, in constant memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Amounts(NamedTuple):
    """Numbers in the order in which they came; there is at least one."""

    numbers: int
    total: float
    least: float
    greatest: float
    last: float

    @property
    def mean(self) -> float:
        """Rounded, and the sum before: sums of blocks and sums of lines then agree."""
        return round(float(f"{self.total:.14g}") / self.numbers, 9)


def amounts(values: Sequence[float]) -> Amounts | None:
    """What these numbers amount to; None for none."""
    if not values:
        return None
    return Amounts(len(values), math.fsum(values), min(values), max(values), values[-1])


class Running:
    """Amounts of many pieces, one after the other; their mean is that of the numbers."""

    def __init__(self) -> None:
        self._whole: Amounts | None = None
        self._totals: list[float] = []

    def add(self, piece: Amounts | None) -> None:
        """The next piece; None for nothing."""
        if piece is None:
            return
        self._totals.append(piece.total)
        if len(self._totals) > 4096:
            self._totals = [math.fsum(self._totals)]
        whole = self._whole or piece._replace(numbers=0)
        self._whole = Amounts(
            whole.numbers + piece.numbers,
            piece.total,
            min(whole.least, piece.least),
            max(whole.greatest, piece.greatest),
            piece.last,
        )

    @property
    def whole(self) -> Amounts | None:
        """What was added, together."""
        if self._whole is None:
            return None
        return self._whole._replace(total=math.fsum(self._totals))
