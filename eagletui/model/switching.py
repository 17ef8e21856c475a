"""Changing what a host runs, as a screen sees it: masked, and without the host.

A screen chooses rows of a `Menu`, is given a `Preview` of what would happen, and watches `Moment`s
while it happens. The plan with its secrets stays behind the `Switcher`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError
from eagletui.model.finding import Finding
from eagletui.model.profile import Guard
from eagletui.model.restart import Standing

Part = Literal["server", "speculative", "environment"]
PARTS: tuple[Part, ...] = ("server", "speculative", "environment")

Where = Literal["command", "flag", "environment", "plan"]


class Change(Data, frozen=True):
    """One difference between two starts, masked.

    Attributes:
        name: the flag as it is spelt, the variable, or the plan's field.
        before, after: None on the side that does not have it, "" for a switch that is given.
    """

    where: Where
    name: str
    before: str | None
    after: str | None


class Row(Data, frozen=True):
    """One profile that can be chosen.

    Attributes:
        name: the profile's; "" leaves that part as it is.
        runs: whether what runs now already is so.
        whole: whether it says a server by itself; else it is laid over the one that runs.
    """

    name: str = ""
    title: str = ""
    note: str = ""
    runs: bool = False
    whole: bool = False


class Choice(Data, frozen=True):
    """A combination of rows; "" leaves a part as it is (or as the chosen server's profile says).

    Attributes:
        back: the last start that was ready before the present one; the rest does not count then.
    """

    server: str = ""
    speculative: str = ""
    environment: str = ""
    back: bool = False


class Before(Data, frozen=True):
    """What is gone back to.

    Attributes:
        name: of its profile.
        at: user's clock when it was ready, or, where it is not `ours`, when it was replaced.
        ours: whether eagletui started it.
    """

    name: str
    at: float
    ours: bool = True


class Lock(Data, frozen=True):
    """Who restarts something on the host right now.

    Attributes:
        who: user and machine.
        what: what they do.
        since: user's clock; None where the lock does not say.
        quiet: seconds since its last sign of life.
        stale: whether whoever has it seems to be gone.
        damaged: whether there is something that no eagletui wrote, and so nobody to be asked.
    """

    who: str
    what: str
    since: float | None
    quiet: float
    stale: bool
    damaged: bool = False


class Menu(Data, frozen=True):
    """What can be chosen.

    Attributes:
        runs: what runs now in a few words; "" where nothing does.
        problems: profiles that cannot be read, one sentence each.
        back: what `Choice.back` would bring; "" where nothing ran before.
    """

    servers: tuple[Row, ...] = ()
    speculative: tuple[Row, ...] = ()
    environments: tuple[Row, ...] = ()
    runs: str = ""
    problems: tuple[str, ...] = ()
    back: str = ""

    def rows(self, part: Part) -> tuple[Row, ...]:
        """The rows of one part."""
        if part == "server":
            return self.servers
        return self.speculative if part == "speculative" else self.environments


class Measured(Data, frozen=True):
    """What a run said of a combination.

    Attributes:
        name: of the run.
        began: when, user's clock.
        concurrency: requests at once; of several, the lowest.
        accept_length: None where it does not speculate, or nothing said.
        partial: whether it was cancelled or ended early; no whole one is known then.
    """

    name: str
    began: float
    concurrency: int
    tok_s: float
    accept_length: float | None = None
    partial: bool = False


class Preview(Data, frozen=True):
    """What a choice would do; nothing of it is a secret.

    Attributes:
        name: the combination in a few words.
        problem: why it cannot be started at all; "" when it can. `advice` says what to do.
        changes: against what runs on that port now.
        command, environment: of the start.
        port: where it will answer.
        replaces: the process that has to go first; None where the port is free.
        findings: of the check, the worst first.
        asked: whether the host was asked, or only the tables of releases.
        load: seconds that launches of this model took here, None where nothing was learned.
        launches: how many launches `load` comes from.
        measured: the last run of this model, speculation and NCCL environment on this host.
        before: what is gone back to, for `Choice.back`.
    """

    choice: Choice
    name: str = ""
    problem: str = ""
    advice: str = ""
    changes: tuple[Change, ...] = ()
    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    port: int = 0
    replaces: int | None = None
    findings: tuple[Finding, ...] = ()
    asked: bool = False
    guard: Guard = Guard()
    load: float | None = None
    launches: int = 0
    measured: Measured | None = None
    before: Before | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What would make the server refuse, crash, or not do what was asked."""
        return tuple(finding for finding in self.findings if finding.severity == "error")


class Moment(Data, frozen=True):
    """Where a restart stands.

    Attributes:
        at, began: user's clock.
        name: what is started, in a few words.
        detail: one line about what happens in this state.
        detached: why it is no longer watched, in words; the host goes on.
    """

    at: float
    began: float
    launch: str
    name: str
    standing: Standing
    detail: str = ""
    detached: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more is told."""
        return self.standing.final or bool(self.detached)


class Unfinished(Data, frozen=True):
    """A launch on the host that did not come to its end.

    Attributes:
        began: the host's clock.
        busy: who is at it right now, in words; "" where nobody is.
        unattended: whether it was meant to be left (`--no-wait`).
    """

    launch: str
    name: str
    began: float
    standing: Standing
    busy: str = ""
    unattended: bool = False


class Kept(Data, frozen=True):
    """What runs, written down as a profile of the person's.

    Attributes:
        path: where it lies.
        notes: what to know of it, one sentence each.
    """

    name: str
    path: str
    notes: tuple[str, ...] = ()


class ProfileTaken(EagletuiError):
    """There is a profile of that name already, at `path`."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(
            f"There is a profile called {name} already: {path}.",
            advice="Give the import another name, or --force to write over it.",
        )
        self.path = path


class SwitchRefused(EagletuiError):
    """A change that is not begun."""


class LockHeld(EagletuiError):
    """Somebody else restarts something on this host."""


class Switcher(Protocol):
    """Changes what one host runs. Every call may raise an `EagletuiError`."""

    async def menu(self, pid: int | None, version: str = "") -> Menu:
        """What can be chosen in the place of this server, or, with None, beside what runs.

        Args:
            version: its SGLang, as far as it is known.
        """
        ...

    async def preview(self, choice: Choice, *, ask: bool) -> Preview:
        """What a choice would do; with `ask` the host is asked, which takes a moment."""
        ...

    def begin(self, choice: Choice, *, break_lock: bool = False) -> AsyncGenerator[Moment, None]:
        """Do what was last shown for this choice; leaving the iteration stops nothing.

        Args:
            break_lock: take the host's lock away from whoever has it.

        Raises:
            SwitchRefused: another change goes on, or this one was never shown.
        """
        ...

    def cancel(self) -> None:
        """Undo what was begun; the standing's `on_cancel` says what that means."""
        ...

    def answer(self, put_back: bool) -> None:
        """Whether what ran before is put back."""
        ...

    async def unfinished(self) -> tuple[Unfinished, ...]:
        """Launches that somebody left, newest first."""
        ...

    def resume(self, launch: str, *, break_lock: bool = False) -> AsyncGenerator[Moment, None]:
        """Go on with one of them.

        Raises:
            LockHeld: somebody else is at it, and `break_lock` is not given.
        """
        ...

    async def lock(self) -> Lock | None:
        """Who restarts something on the host; None for nobody."""
        ...

    async def profile_name(self, pid: int) -> str:
        """What a profile of this server would be called."""
        ...

    async def keep(self, pid: int, name: str, *, over: bool = False) -> Kept:
        """Write this server down as a profile of the person's; its secrets are left out.

        Raises:
            ProfileTaken: there is one of that name, and `over` is not given.
        """
        ...
