"""Everything a check may know of a host, asked side by side."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection

import msgspec

from eagletui.engine.check.asked import Question, question
from eagletui.engine.command import parse_command
from eagletui.engine.flags.help import parse_help, untold
from eagletui.host.base import Host
from eagletui.host.gpus import GpuProcess, GpuReader
from eagletui.host.installation import Look, look_at, read_help
from eagletui.host.listening import listeners, listens
from eagletui.host.processes import find_servers
from eagletui.host.topology import all_linked
from eagletui.model.errors import HostError
from eagletui.model.finding import GpuHolder, HostFacts, Option
from eagletui.model.profile import StartPlan
from eagletui.model.text import visible
from eagletui.store.installations import InstallationMemory

FEW_OPTIONS = 100
"""A help with fewer options is not SGLang's."""


async def host_facts(
    host: Host,
    plan: StartPlan,
    *,
    memory: InstallationMemory,
    loading: tuple[str, ...] = (),
    leaving: Collection[int] = (),
) -> HostFacts:
    """Ask a connected host.

    Args:
        memory: where the options of installations are kept.
        loading: servers that load right now (`loading_beside`).
        leaving: processes that go before this start: the port and the memory that they hold are
            free by then.

    Raises:
        HostError: the connection is gone.
    """
    processes, count, nvlink = await asyncio.gather(_processes(host), _count(host), _linked(host))
    holders = [process for process in processes if process.pid not in leaving]
    asked = question(plan)
    asked = msgspec.structs.replace(asked, pids=tuple(process.pid for process in holders))
    wanted = {k: v for k, v in msgspec.structs.asdict(asked).items() if k != "environment"}
    found = await look_at(host, asked.python, wanted, environment=dict(asked.environment))
    options, problem = await _options(host, found, asked, memory)
    return HostFacts(
        version=found.version,
        problem=_problem(found, asked),
        options=options,
        options_problem=visible(problem),
        target=found.target,
        draft=found.draft,
        port_holder=_port_holder(found, leaving, plan),
        nvlink=nvlink,
        gpu_count=count,
        holders=tuple(_holder(process, found) for process in holders),
        loading=loading,
        log_free=found.log_free,
        readable=found.readable,
    )


def _problem(found: Look, asked: Question) -> str:
    if found.sglang_problem:
        return visible(found.sglang_problem)
    # Where the command's Python is not known, ours was only a guess.
    return found.problem if asked.sglang else ""


def _port_holder(found: Look, leaving: Collection[int], plan: StartPlan) -> str | None:
    # A published port is held by docker's own proxy; the runner looks where it leads.
    if found.port_taken is None or (leaving and plan.runner == "docker"):
        return None
    if not found.port_taken or found.port_pid in leaving:
        return ""
    name = visible(found.port_holder or "another process")
    return f"{name} (pid {found.port_pid})" if found.port_pid else name


def _holder(process: GpuProcess, found: Look) -> GpuHolder:
    return GpuHolder(
        pid=process.pid,
        gpu=process.gpu,
        memory_used=process.memory or 0.0,
        name=visible(found.names.get(str(process.pid), "")),
    )


async def _options(
    host: Host, found: Look, asked: Question, memory: InstallationMemory
) -> tuple[tuple[Option, ...] | None, str]:
    """The options of the host's SGLang, or why they are not known."""
    if not found.version:
        return None, ""
    key = found.key(host.name)
    kept = await asyncio.to_thread(memory.options, key)
    if kept is not None:
        return kept, ""
    try:
        text = await read_help(host, found.python, environment=dict(asked.environment))
    except HostError as error:
        return None, error.what
    options = parse_help(text)
    if len(options) < FEW_OPTIONS:
        return None, f"SGLang's --help names {len(options)} options, which cannot be all."
    if missing := untold(text, options):
        whole = len(options) + len(missing)
        return None, f"SGLang's --help breaks off: it tells {len(options)} of {whole} options."
    with contextlib.suppress(OSError):
        await asyncio.to_thread(memory.keep, key, options)
    return options, ""


async def _processes(host: Host) -> tuple[GpuProcess, ...]:
    try:
        return await GpuReader(host).processes()
    except HostError:
        return ()


async def _count(host: Host) -> int | None:
    try:
        return len(await GpuReader(host).read())
    except HostError:
        return None


async def _linked(host: Host) -> bool | None:
    try:
        return await all_linked(host)
    except HostError:
        return None


async def replaced(host: Host, port: int) -> frozenset[int]:
    """Processes of the SGLang server that has this port and would be stopped for the new one."""
    try:
        found = await find_servers(host)
    except HostError:
        return frozenset()
    return frozenset(
        pid
        for server in found.servers
        if parse_command(server.argv).port == port
        for pid in server.pids
    )


async def loading_beside(host: Host, leaving: Collection[int] = ()) -> tuple[str, ...]:
    """Servers that load right now, in words: SGLang listens only once all is loaded and captured.

    Args:
        leaving: processes that go before this start.
    """
    try:
        found = await find_servers(host)
        others = {server.pid: server for server in found.servers if server.pid not in leaving}
        ports = {pid: parse_command(server.argv).port for pid, server in others.items()}
        suspects = [pid for server in others.values() for pid in server.pids]
        there = await listeners(host, ports, suspects) if ports else {}
    except HostError:
        return ()
    return tuple(
        f":{ports[pid]} (pid {pid})"
        for pid, sockets in there.items()
        if pid in others and not listens(others[pid].pids, sockets)
    )
