"""What every part of a restart's work has: the host, its agent, and what is known so far."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from eagletui.control.agent import Agent, AgentRefused
from eagletui.control.api import Detached, Limits, Owner
from eagletui.control.facts import Facts
from eagletui.control.problems import GARBLED, LOST
from eagletui.host.base import Host
from eagletui.model.events import Event
from eagletui.model.restart import Happened, Standing

DONE = Happened(kind="done")
PATIENCE = 100.0
"""Seconds for docker and systemd to do what they are told."""

Tell = Callable[[str, "Event | None"], None]


class Job:
    """One restart on one host.

    Args:
        standing: where the machine stands when it is asked.
        tell: shows a detail or an event of the log.
    """

    def __init__(
        self,
        host: Host,
        facts: Facts,
        *,
        agent: Agent,
        owner: Owner,
        limits: Limits,
        standing: Callable[[], Standing],
        tell: Tell,
    ) -> None:
        pythons = [facts.plan.argv[0]] if facts.plan is not None and facts.plan.argv else []
        pythons += [facts.old.python] if facts.old is not None else []
        self.host = host
        self.facts = facts
        self.limits = limits
        self.standing = standing
        self.tell = tell
        self._agent = agent
        self._agent.know(pythons)
        self._owner = owner

    async def ask(self, do: str, *, patience: float = 0.0, **request: Any) -> dict[str, Any]:
        """What the agent says to a request about this launch.

        Raises:
            Detached: the lock is no longer ours, which the host saw before it did anything.
        """
        owner = msgspec.to_builtins(self._owner)
        try:
            return await self._agent.ask(
                do, launch=self.facts.launch, owner=owner, patience=patience, **request
            )
        except AgentRefused as refused:
            if refused.diagnosis.code != LOST:
                raise
            raise Detached(
                refused.what,
                meaning="They may be at the same server; nothing more is done here, and this "
                "restart is left where it is.",
                advice=refused.advice,
            ) from refused

    async def asked(self, do: str, **request: Any) -> Happened:
        """The same, as the end of a state."""
        try:
            await self.ask(do, note=self.noted(), **request)
        except AgentRefused as refused:
            return failed(refused)
        return DONE

    async def note(self) -> None:
        """Write down where the restart stands.

        Raises:
            Detached: the lock is no longer ours.
        """
        with contextlib.suppress(AgentRefused):  # a full disk stops no restart
            await self.ask("note", note=self.noted())

    def noted(self) -> dict[str, object]:
        """What is written down of it."""
        plan = self.facts.plan
        return {
            "standing": msgspec.to_builtins(self.standing()),
            "profile": plan.profile if plan is not None else "",
            "port": self.facts.port,
            "again": self.facts.again,
        }

    def say(self, detail: str) -> None:
        """Show what happens."""
        self.tell(detail, None)

    @property
    def which(self) -> str:
        """Which server is being started: the new one, or what ran before."""
        return "back" if self.standing().rolling_back else "new"

    @property
    def mark(self) -> str:
        """What the processes of that one carry."""
        return f"{self.facts.launch}-back" if self.which == "back" else self.facts.launch


def failed(refused: AgentRefused) -> Happened:
    """A refusal as the end of a state.

    Raises:
        AgentRefused: there was no answer, so it may have been done: asking again finds out.
    """
    if refused.diagnosis.code == GARBLED:
        raise refused
    return Happened(kind="failed", problem=refused.diagnosis)
