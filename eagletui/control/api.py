"""What control offers: a restart that can be watched, cancelled, answered and resumed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

import msgspec

from eagletui.control.owner import Owner
from eagletui.host.processes import RawServer
from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.events import Event
from eagletui.model.profile import StartPlan
from eagletui.model.restart import Standing

__all__ = [
    "Detached",
    "Limits",
    "Outcome",
    "Owner",
    "Progress",
    "ReadOnly",
    "Running",
    "refuse_what_cannot_be",
]


class Running(Data, frozen=True):
    """A server that runs and is to go. Command line and environment are unmasked: never shown.

    Attributes:
        container, unit, user_unit: what it was seen in; the host's agent finds out whether that
            is what would bring it back.
        beside: the other servers of the host, by id and start: one script may have started both.
        answers: the port of the host that leads to it, where that is another one; 0 is `port`.
    """

    pid: int
    start_ticks: int
    port: int
    argv: tuple[str, ...] = ()
    python: str = ""
    environment: dict[str, str] = {}
    container: str = ""
    unit: str = ""
    user_unit: bool = False
    beside: tuple[tuple[int, int], ...] = ()
    answers: int = 0

    def __repr__(self) -> str:
        """Without the command line: a traceback may show it."""
        return f"Running(pid={self.pid}, port={self.port})"

    @classmethod
    def of(cls, raw: RawServer, port: int, found: Iterable[RawServer] = ()) -> Running:
        """A server as it was found, among others."""
        return cls(
            pid=raw.pid,
            start_ticks=raw.start_ticks,
            port=port,
            argv=raw.argv,
            python=raw.exe or raw.python,
            environment=raw.environment or {},
            container=raw.container,
            unit=raw.unit,
            user_unit=raw.user_unit,
            beside=tuple((one.pid, one.start_ticks) for one in found if one.pid != raw.pid),
        )

    @property
    def target(self) -> dict[str, object]:
        """What the host's agent is told of it."""
        return {
            "pid": self.pid,
            "start": self.start_ticks,
            "port": self.port,
            "container": self.container,
            "unit": self.unit,
            "user_unit": self.user_unit,
            "beside": self.beside,
        }


class Limits(Data, frozen=True):
    """How long things may take, seconds. What a profile's guard says is in the plan.

    Attributes:
        stall: without one byte of log while loading.
        first_token: for the first generation after the ready line.
        settle: how long a server that serves is watched before it counts as started.
        orphans: how long workers may outlive their server before they are ended.
        gone: for processes, port and GPU memory to be free.
        kill: for what was sent SIGKILL to go.
        lost: how long a lost connection is tried again.
        answer: for the question whether to put back what ran before; None waits.
        poll: between two looks at a process.
        renew: between two signs of life at the lock.
    """

    stall: float = 900.0
    first_token: float = 120.0
    settle: float = 60.0
    orphans: float = 5.0
    gone: float = 180.0
    kill: float = 30.0
    lost: float = 300.0
    answer: float | None = None
    poll: float = 1.0
    renew: float = 15.0


class Progress(Data, frozen=True):
    """One thing to show.

    Attributes:
        at: user's clock.
        launch: the launch's id, by which it can be resumed.
        standing: where the restart stands.
        detail: one line about what happens in this state, "" where the title says it all.
        event: what the new server's log says (phases, diagnoses), for a ladder.
    """

    at: float
    launch: str
    standing: Standing
    detail: str = ""
    event: Event | None = None


class Outcome(Data, frozen=True):
    """How a restart ended.

    Attributes:
        account: where things stand now, in words.
        pid, log: of the server that serves now; None and "" where none was started.
        phases: seconds by phase of the last start.
        seconds: how long the restart took.
    """

    launch: str
    standing: Standing
    account: str
    pid: int | None = None
    log: str = ""
    phases: dict[str, float] = {}
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether what was asked for was done."""
        return self.standing.state in ("ready", "stopped")


class Detached(HostError):
    """The host is out of reach, or somebody else took over; the restart can be resumed."""


class ReadOnly(EagletuiError):
    """The guard forbids every change."""


def refuse_what_cannot_be(plan: StartPlan) -> None:
    """Raise for what is not started from here.

    Raises:
        ReadOnly: the profile's guard is read-only.
    """
    if plan.guard.read_only:
        raise ReadOnly(
            "The profile's guard is read-only: nothing on the host is changed.",
            advice="Take `read-only` out of its [guard], if that is what you want.",
        )


def new_launch_id() -> str:
    """Sortable, and unlike any other."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def plan_document(plan: StartPlan) -> dict[str, object]:
    """The plan as it travels to the host and is kept there."""
    document: dict[str, object] = msgspec.to_builtins(plan)
    return document
