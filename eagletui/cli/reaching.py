"""A host for one command: connected, asked on the terminal, closed again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from eagletui.cli.asking import TerminalAsker

if TYPE_CHECKING:
    from eagletui.host.base import Host
    from eagletui.model.finding import HostFacts
    from eagletui.model.profile import StartPlan


@asynccontextmanager
async def connected(target: str | None, ssh_config: Sequence[str]) -> AsyncIterator[Host]:
    """The host while it is needed; None is this machine."""
    from eagletui.host.open import open_host

    host = open_host(target, asker=TerminalAsker(), config=list(ssh_config) or None)
    try:
        await host.connect()
        yield host
    finally:
        await host.close()


async def facts_for(host: Host, plan: StartPlan) -> HostFacts:
    """What a check may know of this host, what runs on the plan's port being about to go."""
    from eagletui.monitor.preflight import host_facts, loading_beside, replaced
    from eagletui.store.installations import InstallationMemory
    from eagletui.store.places import installations_folder

    memory = InstallationMemory(installations_folder())
    leaving = await replaced(host, plan.port)
    loading = await loading_beside(host, leaving)
    return await host_facts(host, plan, memory=memory, loading=loading, leaving=leaving)
