"""What a server is and runs on, as it is kept with a run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import aiohttp

from eagletui.control.agent import asked_once
from eagletui.engine.server_info import PATHS, ServerInfo, read_server_info
from eagletui.host.base import Host
from eagletui.host.gpus import GpuReader
from eagletui.host.topology import all_linked
from eagletui.host.versions import installed_versions
from eagletui.model.bodies import body_of
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.launches import Started, started
from eagletui.model.literals import Literals
from eagletui.model.profile import FlagValue
from eagletui.model.run import Surroundings
from eagletui.model.server import Gpu
from eagletui.model.text import visible
from eagletui.monitor.servers import Target

_T = TypeVar("_T")
_LIMIT = aiohttp.ClientTimeout(total=20.0, sock_connect=5.0)
_MIB = 1 << 20
MOST = 8 << 20
"""Bytes of the largest reply that is read."""


async def look_around(
    host: Host, target: Target, session: aiohttp.ClientSession, headers: dict[str, str]
) -> Surroundings:
    """Everything that can be known; what does not answer stays unknown."""
    process = target.process
    info, gpus, versions, driver, launch = await asyncio.gather(
        server_info(session, target.url, headers, target.secrets),
        _or(GpuReader(host).read(), ()),
        # A container has an installation of its own.
        _or(_versions(host, "" if process.container else process.python), {}),
        _or(_driver(host), ""),
        _started(host, process.pid),
    )
    ours: list[Gpu] = [gpu for gpu in gpus if not process.gpus or gpu.index in process.gpus]
    linked = await _or(all_linked(host), None) if len(ours) > 1 else None
    memory = [gpu.memory_used for gpu in ours]
    known = {**versions, "driver": driver}
    if said := info.version or process.version:  # its own word before what its Python has
        known["sglang"] = said
    speculative = process.speculative
    if info.speculative is not None:
        speculative = info.speculative
    return Surroundings(
        host=visible(host.name),
        model=info.model or process.model,
        profile=visible(launch.profile),
        argv=process.argv,
        arguments=_flags(info.args),
        speculative=speculative,
        environment=process.environment,
        versions={name: visible(version) for name, version in known.items() if version},
        gpus=tuple(visible(gpu.name) for gpu in ours),
        topology="" if linked is None else "NVLink" if linked else "PCIe",
        tensor_parallel=info.tp_size if info.args else process.tp_size,
        load_seconds=launch.load_seconds,
        memory_bytes=(
            int(sum(m for m in memory if m is not None) * _MIB) if ours and None not in memory
            else None
        ),
    )  # fmt: skip


async def server_info(
    session: aiohttp.ClientSession, url: str, headers: dict[str, str], secrets: Literals
) -> ServerInfo:
    """What the server says of itself; an empty one where it says nothing.

    Args:
        secrets: what is covered before it is read.
    """
    for path in PATHS:
        with contextlib.suppress(aiohttp.ClientError, OSError, asyncio.TimeoutError):
            async with session.get(url + path, headers=headers, timeout=_LIMIT) as response:
                if response.status != 200:
                    continue
                body, _ = await body_of(response.content.iter_any(), MOST)
                info = read_server_info(secrets.hide(body))
                if info is not None:
                    return info
    return ServerInfo()


async def _versions(host: Host, python: str) -> dict[str, str]:
    return await installed_versions(host, python) if python.startswith("/") else {}


async def _started(host: Host, pid: int | None) -> Started:
    """What the host's launches say of its start; a host without any has no say."""
    if pid is None:
        return Started()
    try:
        stat = await host.run(["cat", f"/proc/{pid}/stat"], timeout=10.0)
        # Behind the name, which may hold anything, it is the twentieth: ticks since the boot.
        start = int(stat.stdout.rpartition(b")")[2].split()[19])
        kept = await asked_once(host, "list")
    except (EagletuiError, ValueError, IndexError):
        return Started()
    return started(kept["launches"], (pid, start))


async def _driver(host: Host) -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = await host.run(query, timeout=10.0)
    return done.stdout.decode("utf-8", "replace").split("\n", 1)[0].strip() if done.ok else ""


async def _or(asked: Awaitable[_T], otherwise: _T) -> _T:
    try:
        return await asked
    except HostError:
        return otherwise


def _flags(args: Mapping[str, Any]) -> dict[str, FlagValue | None]:
    """The arguments whose values are ones that a flag may have."""
    found: dict[str, FlagValue | None] = {}
    for name, value in args.items():
        if value is None or isinstance(value, (bool, int, float, str)):
            found[name] = value
        elif isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
            found[name] = tuple(map(str, value))
    return found
