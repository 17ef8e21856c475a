"""Measuring what a host runs, as a screen sees it: without the host, its keys and its requests.

A screen makes a `Wish` and watches `Moment`s while it is measured; a `Benchmarker` does the work.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Protocol

from eagletui.model.base import Data
from eagletui.model.run import StopReason

MOST_CONCURRENT = 4096
"""Requests that one benchmark has under way at once."""


class Wish(Data, frozen=True):
    """What is to be measured.

    Attributes:
        prompts: a shipped set's name, or a file's path on the user's machine.
        concurrencies: requests at once, a cell each.
        output_tokens: of each request, exactly.
        repeats: of all cells, interleaved.
        requests: of each cell; None for as many as make a result.
        name: of the run; "" for one made of set and time.
    """

    prompts: str = "chat"
    concurrencies: tuple[int, ...] = (1, 8)
    output_tokens: int = 256
    repeats: int = 3
    requests: int | None = None
    temperature: float = 0.0
    name: str = ""

    def cells(self) -> Iterator[tuple[int, int]]:
        """(concurrency, repeat from 0) of each cell in the order in which they are measured."""
        for repeat in range(self.repeats):
            for concurrency in self.concurrencies:
                yield concurrency, repeat


class Subject(Data, frozen=True):
    """The server that is measured: by its pid where it has one, else by its address.

    Attributes:
        name: its model, in short.
        setting: what it drafts with, as short as it can be said: `k=2`, `k=5 topk=4`, `off`.
    """

    pid: int | None = None
    url: str = ""
    name: str = ""
    setting: str = ""


class CellLine(Data, frozen=True):
    """The figures of a cell that was measured; None is what nothing said. Times in ms.

    Attributes:
        tok_s: of all requests together; `tok_s_each` of one.
        stopped: why it ended early.
        doubt: what keeps it from being trusted although it is whole.
        why: either of them in words.
    """

    concurrency: int
    repeat: int
    tok_s: float | None = None
    tok_s_each: float | None = None
    accept_length: float | None = None
    ttft_p50: float | None = None
    ttft_p99: float | None = None
    tpot_p50: float | None = None
    tpot_p99: float | None = None
    verify_ms: float | None = None
    step_ms: float | None = None
    joules: float | None = None
    failed: int = 0
    stopped: StopReason = ""
    doubt: StopReason = ""
    why: str = ""
    warnings: tuple[str, ...] = ()


class Under(Data, frozen=True):
    """The cell under way.

    Attributes:
        number: from 1.
        remaining: seconds to the end of the whole, None while nothing tells.
    """

    number: int
    concurrency: int
    repeat: int
    done: int = 0
    requests: int = 0
    tok_s: float | None = None
    warming: bool = False
    remaining: float | None = None


class Moment(Data, frozen=True):
    """Where a benchmark stands.

    Attributes:
        began: user's clock.
        under: the cell under way; None before the first, and at the end.
        measured: cells that are over.
        said: lines for the person, in order: from where requests are sent, what is to be known.
        cancelling: whether it was cancelled and ends with what it has.
        over: whether nothing more comes.
        partial: whether cells are missing or ended early, once it is over.
        run: the id under which it is kept; "" while nothing is.
        problem: why it could not be measured; with `advice`.
    """

    wish: Wish
    subject: Subject
    began: float
    at: float
    under: Under | None = None
    measured: tuple[CellLine, ...] = ()
    said: tuple[str, ...] = ()
    cancelling: bool = False
    over: bool = False
    partial: bool = False
    run: str = ""
    problem: str = ""
    advice: str = ""

    @property
    def cells(self) -> int:
        """How many there are in all."""
        return len(self.wish.concurrencies) * self.wish.repeats

    @property
    def short(self) -> str:
        """`bench 3/12`, for a header."""
        number = self.under.number if self.under is not None else len(self.measured)
        return f"bench {number}/{self.cells}"


class Benchmarker(Protocol):
    """Measures servers of one host."""

    def begin(self, wish: Wish, subject: Subject) -> AsyncGenerator[Moment, None]:
        """Measure; each cell is kept as soon as it was measured.

        Whatever goes wrong is said in the last moment. Leaving the iteration ends the measuring.
        """
        ...

    def cancel(self) -> None:
        """End it; what was measured is kept and called partial."""
        ...
