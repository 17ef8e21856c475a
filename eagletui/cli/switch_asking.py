"""What a host says of a start, asked once however often the choice changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from eagletui.control.agent import Agent
from eagletui.control.api import Owner, Running
from eagletui.control.problems import refusal
from eagletui.control.restart import Restart
from eagletui.engine.check.asked import Question, question
from eagletui.engine.command import parse_command
from eagletui.host.base import Host
from eagletui.host.containers import named
from eagletui.host.processes import RawServer, find_servers
from eagletui.model.base import Data
from eagletui.model.finding import Finding, HostFacts
from eagletui.model.profile import StartPlan
from eagletui.monitor.preflight import host_facts, loading_beside
from eagletui.store.installations import InstallationMemory

_Key = tuple[Question, str, str, tuple[str, ...]]


class Asked(Data, frozen=True):
    """What the host said of a start. Unmasked: never to be shown."""

    replaced: RawServer | None
    facts: HostFacts
    notes: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Without the command line: a traceback may show it."""
        return "Asked()"


class HostAsking:
    """Asks one host, and remembers what it said until `forget`."""

    def __init__(self, host: Host, agent: Agent, installations: InstallationMemory) -> None:
        self._host = host
        self._agent = agent
        self._installations = installations
        self._asking: dict[_Key, asyncio.Task[Asked]] = {}

    def forget(self) -> None:
        """Something may have changed there."""
        self._asking.clear()

    async def asked(self, plan: StartPlan, watched: str) -> Asked:
        """What the host says of this start; asked once, however often the choice changes."""
        key = _key(plan)
        task = self._asking.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._asking[key] = asyncio.ensure_future(self._ask(plan, watched))
        return await asyncio.shield(task)

    def said(self, plan: StartPlan) -> Asked | None:
        """The same, where it has been said already."""
        task = self._asking.get(_key(plan))
        good = task is not None and task.done() and not task.cancelled() and not task.exception()
        return task.result() if task is not None and good else None

    async def _ask(self, plan: StartPlan, watched: str) -> Asked:
        replaced, servers = await self.on_port(plan.port, watched)
        leaving = replaced.pids if replaced is not None else ()
        loading = await loading_beside(self._host, leaving)
        facts, notes = await asyncio.gather(
            host_facts(
                self._host, plan, memory=self._installations, loading=loading, leaving=leaving
            ),
            self._runner_s(plan, replaced, servers),
        )
        return Asked(replaced=replaced, facts=facts, notes=notes)

    async def _runner_s(
        self, plan: StartPlan, old: RawServer | None, servers: Sequence[RawServer]
    ) -> tuple[Finding, ...]:
        """What docker, systemd or a script cannot do; a plain process has nothing to say."""
        if plan.runner == "process" and (old is None or not (old.container or old.unit)):
            return ()
        replaces = Running.of(old, plan.port, servers) if old is not None else None
        restart = Restart(
            self._host, plan, replaces=replaces, owner=Owner.here(""), agent=self._agent
        )
        problem = await restart.check_only()
        return (refusal(problem),) if problem is not None else restart.notes

    async def on_port(
        self, port: int, watched: str
    ) -> tuple[RawServer | None, tuple[RawServer, ...]]:
        """The server that has this port, and all; where several want it, the one watched.

        Args:
            watched: its key; "" for none.
        """
        found = await find_servers(self._host)
        there = [server for server in found.servers if parse_command(server.argv).port == port]
        there.sort(key=lambda server: server.key != watched)
        return (await named(self._host, there[0]) if there else None), tuple(found.servers)


def _key(plan: StartPlan) -> _Key:
    """What the host's answer depends on."""
    return question(plan), plan.runner, plan.container or plan.unit, plan.argv[:1]
