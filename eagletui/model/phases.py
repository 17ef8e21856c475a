"""The ladder from the command line to ready, as data."""

from __future__ import annotations

from typing import Literal

from eagletui.model.base import Data

PhaseName = Literal[
    "arguments",
    "distributed init",
    "weights",
    "kv cache",
    "prefill graphs",
    "graphs",
    "extend graphs",
    "warm-up",
    "ready",
]
Role = Literal["", "target", "draft"]
RungStatus = Literal["pending", "running", "done", "failed"]


class Rung(Data, frozen=True):
    """One phase of one launch.

    Times are log time: seconds since the epoch as the host's clock wrote them, naive of its zone.

    Attributes:
        begun, ended: log time of the first and last line of the phase.
        seconds: how long it took; the server's own `elapsed=` where it says so.
        done, total: shards or batches, None where the phase has no count.
        moved_at: user's clock (epoch) when this rung last moved; what a stall is judged by.
        ranks: rank tag → done, for ranks that were seen in this phase ("" for a single rank).
    """

    name: PhaseName
    role: Role = ""
    status: RungStatus = "pending"
    begun: float | None = None
    ended: float | None = None
    seconds: float | None = None
    done: int | None = None
    total: int | None = None
    detail: str = ""
    moved_at: float | None = None
    ranks: dict[str, bool] = {}

    @property
    def key(self) -> str:
        """`weights/target`: the name under which durations are learned."""
        return f"{self.name}/{self.role}" if self.role else self.name

    @property
    def title(self) -> str:
        """`target weights`: the phase as a person reads it."""
        return f"{self.role} {self.name}" if self.role else self.name

    @property
    def fraction(self) -> float | None:
        """Part done, 0 to 1, where the phase counts something."""
        if self.status == "done":
            return 1.0
        if not self.total or self.done is None:
            return None
        return max(0.0, min(1.0, self.done / self.total))


class PhaseExperience(Data, frozen=True):
    """What earlier launches of this model on this host took for one phase, in seconds."""

    typical: float
    longest: float
    launches: int = 0
