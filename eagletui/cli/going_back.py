"""What ran before, by the records of launches that the host keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from eagletui.cli.profile_import import imported_server
from eagletui.control.agent import Agent
from eagletui.engine.running_profile import with_secrets
from eagletui.host.processes import RELEVANT, RawServer
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.launches import Earlier, Id, earlier
from eagletui.model.profile import Profile, StartPlan
from eagletui.model.server import LogPlace
from eagletui.model.switching import Before, SwitchRefused
from eagletui.model.text import visible

BEFORE = "what ran before"


class GoingBack:
    """The last start that was ready before the present one.

    Args:
        agent: of the host that is looked at.
        place: that host's name.
        plan_of: a profile made exact.
        clock: the user's, seconds since the epoch.
    """

    def __init__(
        self,
        agent: Agent,
        place: str,
        plan_of: Callable[[Profile], StartPlan],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._agent, self._place, self._plan_of, self._clock = agent, place, plan_of, clock
        self._found: Earlier | None = None
        self.before: Before | None = None
        """What `plan` would bring, after `look`; None where nothing ran before."""

    async def look(self, port: int | None, present: Id | None) -> None:
        """Ask the host what it keeps; one that does not say has nothing to go back to.

        Args:
            port: the server's; None takes that of the newest launch.
        """
        self._found = self.before = None
        try:
            kept = await self._agent.ask("list")
        except HostError:
            raise
        except EagletuiError:
            return
        records = kept["launches"]
        ports = [record.get("port") for record in records] if port is None else [port]
        if ports:
            self._found = earlier(records, ports[0], present)
        if self._found is not None:
            self.before = Before(
                name=visible(self._found.name) or BEFORE,
                at=self._clock() - max(0.0, float(kept["now"]) - self._found.at),
                ours=self._found.source == "plan",
            )

    async def plan(self) -> StartPlan:
        """The start itself, secrets included.

        Raises:
            SwitchRefused: nothing ran before, or the host no longer has it whole.
        """
        found = self._found
        if found is None:
            raise SwitchRefused(
                "Nothing ran here before, as far as this host's launches say.",
                advice="Choose a profile.",
            )
        answer = await self._agent.ask(
            "kept", launch=found.launch, source=found.source, names=RELEVANT.pattern
        )
        try:
            return self._read(answer["kept"], found)
        except (KeyError, TypeError, ValueError) as error:
            raise SwitchRefused(
                f"What the host keeps of launch {visible(found.launch)} cannot be read.",
                advice="Choose a profile.",
            ) from error

    def _read(self, kept: dict[str, Any], found: Earlier) -> StartPlan:
        if not kept.get("whole_environment"):
            return msgspec.convert(kept, StartPlan)
        argv, environment = tuple(kept["argv"]), dict(kept["environment"])
        log = str(kept.get("output", ""))
        raw = RawServer(
            key="",
            pid=0,
            start_ticks=0,
            argv=argv,
            environment=environment,
            cwd=str(kept["workdir"]),
            path=str(kept.get("path", "")),
            log=LogPlace(kind="file" if log else "none", target=log),
        )
        imported = imported_server(raw, name=None, place=self._place)
        plan = self._plan_of(with_secrets(imported, argv, environment))
        return replace(plan, profile=found.name)
