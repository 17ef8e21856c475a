"""What was measured and watched before, as a screen sees it: lists, comparisons, sessions.

A `RunShelf` reads and writes the database; a screen never waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from eagletui.model.base import Data
from eagletui.model.compare import Comparison
from eagletui.model.series import Window

ReportForm = Literal["md", "html"]

OVERLAID = ("tok_s", "accept_length")
"""The series that are drawn over each other."""


class KeptCell(Data, frozen=True):
    """One concurrency of a run, its repeats together; None is what nothing said."""

    concurrency: int
    tok_s: float | None = None
    accept_length: float | None = None


class KeptRun(Data, frozen=True):
    """A run in a list.

    Attributes:
        began: seconds since 1970.
        profile: what the server was started with, "" unknown.
        speculative: in short.
        doubts: what spoiled cells of it, a word each: `looped`, `kv-full`.
        damaged: whether its figures can't be read.
    """

    id: str
    name: str = ""
    began: float = 0.0
    host: str = ""
    model: str = ""
    profile: str = ""
    speculative: str = ""
    prompts: str = ""
    cells: tuple[KeptCell, ...] = ()
    partial: bool = False
    doubts: tuple[str, ...] = ()
    notes: str = ""
    tags: tuple[str, ...] = ()
    damaged: bool = False


class KeptSession(Data, frozen=True):
    """A server that was watched for a while.

    Attributes:
        server: its place on the host.
        tok_s, accept_length: means of the time in which it worked and was seen; of an old one it is
            nearly that. None unknown.
    """

    id: str
    host: str
    server: str
    began: float
    ended: float
    model: str = ""
    speculative: str = ""
    version: str = ""
    tok_s: float | None = None
    accept_length: float | None = None


class KeptComparison(Data, frozen=True):
    """Runs that were put side by side under a name."""

    name: str
    runs: tuple[str, ...]
    baseline: str


class Kept(Data, frozen=True):
    """Everything that a list shows, the newest first."""

    runs: tuple[KeptRun, ...] = ()
    comparisons: tuple[KeptComparison, ...] = ()
    sessions: tuple[KeptSession, ...] = ()


class RunShelf(Protocol):
    """What is kept. Every call may raise an `EagletuiError`."""

    async def kept(self) -> Kept:
        """All of it, in short."""
        ...

    async def compare(self, runs: Sequence[str], baseline: str | None) -> Comparison:
        """Runs side by side, by id; None lets the runs choose their baseline."""
        ...

    async def save(self, name: str, runs: Sequence[str], baseline: str) -> None:
        """Keep a comparison under a name, in the place of one that is called the same."""
        ...

    async def report(self, comparison: Comparison, form: ReportForm) -> str:
        """Write a report into the folder that eagletui was started in; its path."""
        ...

    async def annotate(
        self,
        run: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Other words for a run; None leaves them as they are."""
        ...

    async def series(
        self, runs: Sequence[str], sessions: Sequence[str] = ()
    ) -> Mapping[str, Mapping[str, Window]]:
        """What is kept of how runs and sessions went: `OVERLAID` by id and name, a few hundred
        points each."""
        ...

    async def session(self, session: str) -> Mapping[str, Window]:
        """The series of a session by name, whole."""
        ...
