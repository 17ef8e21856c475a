"""Where a benchmark stands, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from eagletui.bench.load import Moving, Reply
from eagletui.bench.plan import CellPlan
from eagletui.model.base import Data


class Progress(Data, frozen=True):
    """Where a benchmark stands.

    Attributes:
        cell: number of the cell under way, from 1; the warm-up counts to the cell after it.
        remaining: seconds to the end, None while nothing tells.
    """

    cell: int
    cells: int
    concurrency: int
    repeat: int
    repeats: int
    done: int
    requests: int
    tokens: int
    seconds: float
    warming: bool = False
    remaining: float | None = None

    @property
    def tok_s(self) -> float | None:
        """Tokens a second of this cell so far; None before its first token."""
        return self.tokens / self.seconds if self.tokens and self.seconds > 0.5 else None


class Counting:
    """Counts one cell's requests for whoever watches."""

    def __init__(
        self,
        first: Progress,
        said: Callable[[Progress], None],
        clock: Callable[[], float],
        eta: Eta,
    ) -> None:
        self._now = first
        self._said = said
        self._clock = clock
        self._eta = eta
        self._began = clock()
        self._tell()

    def heard(self, item: Reply | Moving) -> None:
        if isinstance(item, Reply):
            self._now = replace(self._now, done=self._now.done + 1)
        else:
            self._now = replace(self._now, tokens=item.tokens)
        self._tell()

    def _tell(self) -> None:
        seconds = self._clock() - self._began
        share = 0.0 if self._now.warming else self._now.done / max(self._now.requests, 1)
        self._now = replace(
            self._now, seconds=seconds, remaining=self._eta.remaining(share, seconds)
        )
        self._said(self._now)


class Eta:
    """How long the rest takes: cells of a known concurrency take what they took, others what a
    request of the nearest known one took for each of their rounds."""

    def __init__(self, cells: tuple[CellPlan, ...]) -> None:
        self._left = dict(enumerate(cells))
        self._now: CellPlan | None = None
        self._took: dict[int, float] = {}

    def begin(self, number: int) -> None:
        """This cell is under way."""
        self._now = self._left.pop(number)

    def skip(self, number: int) -> None:
        """This cell is left out."""
        self._left.pop(number)

    def end(self, seconds: float) -> None:
        """The cell under way is over."""
        assert self._now is not None
        self._took[self._now.concurrency] = seconds / self._rounds(self._now)

    def remaining(self, share: float, seconds: float) -> float | None:
        """Seconds to the end.

        Args:
            share: of the cell's requests that are over.
            seconds: since the cell began.
        """
        assert self._now is not None
        took = dict(self._took)
        if share > 0.0 and self._now.concurrency not in took:
            took[self._now.concurrency] = seconds / share / self._rounds(self._now)
        if not took:
            return None
        whole = self._seconds(self._now, took)
        rest = max(whole - seconds, 0.0) if share == 0.0 else seconds / share - seconds
        return rest + sum(self._seconds(cell, took) for cell in self._left.values())

    def _seconds(self, cell: CellPlan, took: dict[int, float]) -> float:
        nearest = min(took, key=lambda known: abs(known - cell.concurrency))
        return took[nearest] * self._rounds(cell)

    @staticmethod
    def _rounds(cell: CellPlan) -> float:
        return cell.requests / cell.concurrency
