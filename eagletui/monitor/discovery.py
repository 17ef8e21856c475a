"""Which servers are on the host, look after look."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec.structs import replace

from eagletui.engine.command import CommandLine
from eagletui.host.base import Host
from eagletui.host.gpus import GpuProcess, GpuReader
from eagletui.host.listening import listeners, listens, stranger
from eagletui.host.processes import Found, RawServer, find_servers
from eagletui.host.versions import sglang_version
from eagletui.host.within import within
from eagletui.model.errors import ConnectionLost, HostError
from eagletui.model.literals import literals_of
from eagletui.model.safe import safe
from eagletui.model.server import LogPlace
from eagletui.monitor.api import Wanted
from eagletui.monitor.places import assign_places
from eagletui.monitor.servers import (
    Target,
    base_url,
    describe,
    given_server,
    read_command,
    same_place,
)

GPUS_OF_PROCESSES_EVERY = 8
"""Looks between two readings of which process uses which GPU."""


class Discovery:
    """Finds servers and keeps what does not change between looks: places and versions."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._log = wanted.log
        self._metrics = wanted.metrics
        self._places: dict[int, str] = {}
        self._versions: dict[str, str] = {}
        self._named_port: int | None = None
        self._gpus: Mapping[int, tuple[int, ...]] = {}
        self._started: dict[str, float | None] = {}
        self._looks = 0
        self._listening: set[str] = set()
        self._found: Found | None = None
        self._hurry = asyncio.Event()

    def give_log(self, path: str) -> None:
        """From the next look on, this is the log."""
        self._log = path

    def give_metrics(self, url: str) -> None:
        """From the next look on, this is the address."""
        self._metrics = url

    def hurry(self) -> None:
        """Look again now."""
        self._hurry.set()

    async def pause(self, seconds: float) -> None:
        """Wait until the next look is due."""
        with contextlib.suppress(asyncio.TimeoutError):
            await within(self._hurry.wait(), seconds)
        self._hurry.clear()

    def forget(self) -> None:
        """Another connection may show another boot of the host: nothing is known of it."""
        self._found = None
        self._listening.clear()

    async def look(self, host: Host) -> tuple[tuple[Target, ...], tuple[str, ...]]:
        """One look.

        Returns:
            The servers, and in words what was looked at.
        """
        found = await self._find(host)
        servers = [self._steady(raw) for raw in self._wanted_of(found.servers)]
        if self._looks % GPUS_OF_PROCESSES_EVERY == 0:
            with contextlib.suppress(HostError):
                self._gpus = _by_process(await GpuReader(host).processes())
        self._looks += 1
        commands = {raw.pid: read_command(raw) for raw in servers}
        self._places = assign_places(
            [(raw.pid, commands[raw.pid].port) for raw in servers], self._places
        )
        held_by = await self._strangers(host, servers, commands, found)
        targets = []
        for raw in servers:
            command = commands[raw.pid]
            secrets = literals_of(raw.argv, raw.environment, self._wanted.api_key)
            process = describe(
                raw,
                key=self._places[raw.pid],
                version=await self._version(host, raw),
                gpus=self._gpus_of(raw),
                command=command,
                secrets=secrets,
            )
            targets.append(
                Target(
                    process=process,
                    url=command.url,
                    api_key=self._wanted.api_key or command.api_key,
                    secrets=secrets,
                    log_problem=raw.log_problem,
                    port_held_by=held_by.get(raw.pid),
                )
            )
        looked_at = found.looked_at
        if self._wanted.pid is not None and not targets:
            looked_at = (*looked_at, f"no SGLang server has pid {self._wanted.pid}")
        return tuple(self._overridden(targets)), looked_at

    async def _find(self, host: Host) -> Found:
        """What is there; where looking fails, what was known, for the rest goes on without it."""
        try:
            self._found = await find_servers(host, self._found)
        except ConnectionLost:
            raise
        except HostError as error:
            if self._found is None:
                return Found(looked_at=(safe(error.what),))
        return self._found

    async def _strangers(
        self,
        host: Host,
        servers: Sequence[RawServer],
        commands: Mapping[int, CommandLine],
        found: Found,
    ) -> dict[int, int]:
        """Servers whose port another process listens on; pid → who does.

        One that listens does so for as long as it lives, and one whose files may not be read stays
        unknown: neither is asked about again.
        """
        asked = [raw for raw in servers if raw.key not in self._listening and commands[raw.pid].url]
        if not asked:
            return {}
        suspects = [pid for raw in found.servers for pid in raw.pids]
        try:
            there = await listeners(
                host, {raw.pid: commands[raw.pid].port for raw in asked}, suspects
            )
        except ConnectionLost:
            raise
        except HostError:
            return {}
        held_by: dict[int, int] = {}
        for raw in asked:
            sockets = there.get(raw.pid)
            if sockets is None or listens(raw.pids, sockets):
                self._listening.add(raw.key)
                continue
            at = urlsplit(commands[raw.pid].url).hostname or ""
            if (who := stranger(raw.pids, at, sockets)) is not None:
                held_by[raw.pid] = who
        return held_by

    def _wanted_of(self, servers: Sequence[RawServer]) -> list[RawServer]:
        """The servers that are meant; what takes a named one's port after it is its restart."""
        ours = [raw for raw in servers if raw.cwd.startswith(self._wanted.under)]
        if self._wanted.pid is None:
            return ours
        named = [raw for raw in ours if raw.pid == self._wanted.pid]
        if named:
            self._named_port = read_command(named[0]).port
            return named
        return [raw for raw in ours if read_command(raw).port == self._named_port]

    def _steady(self, raw: RawServer) -> RawServer:
        """The moment of a process's start is reckoned anew with every look: keep the first."""
        started = self._started.setdefault(raw.key, raw.started_at)
        return raw if raw.started_at == started else replace(raw, started_at=started)

    async def _version(self, host: Host, raw: RawServer) -> str:
        version = self._versions.get(raw.key)
        if version is None:
            try:
                version = await sglang_version(host, raw)
            except HostError:
                version = ""
            self._versions[raw.key] = version
        return version

    def _gpus_of(self, raw: RawServer) -> tuple[int, ...]:
        return tuple(sorted({gpu for pid in raw.pids for gpu in self._gpus.get(pid, ())}))

    def _overridden(self, targets: list[Target]) -> list[Target]:
        """Put in what the person gave: into the server it names, or the only one, else beside."""
        url = base_url(self._metrics)
        if not self._log and not url:
            return targets
        named = [t for t in targets if t.process.pid == self._wanted.pid]
        if not named and self._wanted.pid is None:
            # Who answers there is meant, not who waits for the port.
            named = [t for t in targets if same_place(url, t.url) and t.port_held_by is None]
        ours = named or (targets if len(targets) == 1 else [])
        if not ours:
            # Whose log it is, nobody says: it may hold any server's.
            secrets = literals_of((), None, self._wanted.api_key)
            for target in targets:
                secrets |= target.secrets
            given = given_server(self._log, self._metrics)
            if self._wanted.pid is not None:
                given = replace(given, hidden=f"No SGLang server has pid {self._wanted.pid}.")
            return [
                *targets,
                Target(
                    process=given,
                    url=url,
                    api_key=self._wanted.api_key,
                    secrets=secrets,
                    given=True,
                ),
            ]
        target = ours[0]
        if same_place(url, target.url):
            url = ""  # its own, with its key
        log = LogPlace(kind="given", target=self._log, detail="given by hand")
        process = replace(
            target.process,
            log=log if self._log else target.process.log,
            url=safe(url) or target.process.url,
        )
        changed = replace(
            target,
            process=process,
            url=url or target.url,
            # An address given by hand is what the person wants to be read.
            port_held_by=None if url else target.port_held_by,
            # What a command line says is for that server, not for any address that was typed.
            api_key=self._wanted.api_key if url else target.api_key,
            log_problem="" if self._log else target.log_problem,
            given=True,
        )
        return [changed if t is target else t for t in targets]


def _by_process(readings: Iterable[GpuProcess]) -> dict[int, tuple[int, ...]]:
    gpus: dict[int, tuple[int, ...]] = {}
    for reading in readings:
        gpus[reading.pid] = (*gpus.get(reading.pid, ()), reading.gpu)
    return gpus
