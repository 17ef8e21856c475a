"""From what was asked to a run: the server found, the way chosen, everything around it noted."""

from __future__ import annotations

import secrets
import string
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from msgspec.structs import replace

from eagletui.bench import plan as plans
from eagletui.bench.client import Client
from eagletui.bench.exact import exact, must_take_lengths
from eagletui.bench.eye import Eye
from eagletui.bench.load import Driver, Endpoint
from eagletui.bench.measure import Measuring
from eagletui.bench.onhost import OnHost
from eagletui.bench.plan import Plan, Prompt
from eagletui.bench.progress import Progress
from eagletui.bench.promptsets import find_prompts
from eagletui.cli.reaching import connected
from eagletui.cli.run_keeping import Keeper
from eagletui.cli.surroundings import look_around
from eagletui.host.aside import aside
from eagletui.host.base import Host
from eagletui.host.gpus import GpuReader
from eagletui.host.python import find_python
from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError, HostError, UsageError
from eagletui.model.literals import Literals
from eagletui.model.run import Cell, Run, Via
from eagletui.model.server import Gpu
from eagletui.model.text import visible
from eagletui.monitor.api import Wanted
from eagletui.monitor.discovery import Discovery
from eagletui.monitor.servers import Target, port_held
from eagletui.store.claims import claimed
from eagletui.store.places import claims_folder

FAR = 0.002
"""Seconds of round trip above which requests are sent from the host."""


class Asked(Data, frozen=True):
    """What the person asked for; None is this machine, or enough."""

    target: str | None = None
    ssh_config: tuple[str, ...] = ()
    url: str = ""
    pid: int | None = None
    api_key: str | None = None
    concurrencies: tuple[int, ...] = (1,)
    prompts: str = "chat"
    output_tokens: int = 256
    input_tokens: int | None = None
    requests: int | None = None
    repeats: int = 3
    rate: float | None = None
    temperature: float = 0.0
    endpoint: Endpoint = "/v1/chat/completions"
    on_host: str = "auto"
    warmup: int = 1
    seed: int = 1
    flush_cache: bool = False
    keep_going: bool = False
    name: str = ""
    keep: bool = True

    def __repr__(self) -> str:
        """Without the key: a traceback may show it."""
        return f"Asked({self.target}, {self.concurrencies})"


class Prompts(NamedTuple):
    """A set of prompts and what it is called."""

    name: str
    prompts: tuple[Prompt, ...]


class Outcome(NamedTuple):
    """A run with what is to be known of it, and whether it is kept on the disk."""

    run: Run
    notes: list[str]
    kept: bool


async def measure(
    asked: Asked,
    *,
    told: Callable[[Progress], None],
    said: Callable[[str], None],
    started: Callable[[Measuring], None],
    so_far: Callable[[Run], Awaitable[None]],
) -> Outcome:
    """Measure.

    Args:
        told: hears how far it is.
        said: hears lines for the person.
        started: gets what can be cancelled.
        so_far: gets the run after each cell, with those that are measured.

    Raises:
        EagletuiError: no such server, nobody answers, the server is being measured already.
    """
    # Nobody gives a password, and no host is woken, for a file that is of no use.
    prompts = await prompts_for(asked)
    async with connected(asked.target, asked.ssh_config) as host:
        return await measure_on(
            host, asked, prompts, told=told, said=said, started=started, so_far=so_far
        )


async def prompts_for(asked: Asked) -> Prompts:
    """What is sent, as far as it can be said without the server.

    Raises:
        UsageError: there are no such prompts, or they can't be sent as was asked.
    """
    must_take_lengths(asked.endpoint, asked.input_tokens)
    return Prompts(*await aside(partial(find_prompts, asked.prompts, asked.requests)))


async def measure_on(
    host: Host,
    asked: Asked,
    prompts: Prompts,
    *,
    told: Callable[[Progress], None],
    said: Callable[[str], None],
    started: Callable[[Measuring], None],
    so_far: Callable[[Run], Awaitable[None]],
) -> Outcome:
    """The same on a host that somebody else keeps connected."""
    async with AsyncExitStack() as stack:
        discovery = Discovery(Wanted(metrics=asked.url, pid=asked.pid))
        target = await find_server(host, discovery, asked)
        key = asked.api_key or target.api_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        most = max(asked.concurrencies)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=host.http(most + 4))
        )
        eye = Eye(session, target.url, headers)
        trip = await eye.round_trip()
        if trip is None:
            raise HostError(
                f"{visible(target.url)} does not answer.",
                advice="Is the server ready? `eagletui status` tells what it does.",
            )
        began = time.time()
        run_name = asked.name or f"{prompts.name} {time.strftime('%Y-%m-%d %H:%M')}"
        stack.enter_context(
            claimed(claims_folder(), f"{asked.target or 'localhost'} {target.url}", run_name)
        )
        around = await look_around(host, target, session, headers)
        plan = await exact(_plan(asked, prompts, target), session, target.url, headers)
        driver, via = await choose_driver(asked, host, session, target, trip)
        said(
            f"Measuring {visible(target.process.model or target.url)} "
            + (
                "from the host's own Python"
                if isinstance(driver, OnHost)
                else "through the connection"
            )
            + f" (round trip {1e3 * trip:.1f} ms)."
        )
        run = Run(
            id=new_id(),
            name=run_name,
            began=began,
            via=via,
            round_trip_ms=1e3 * trip,
            workload=plans.workload(plan),
            surroundings=around,
        )
        keeper = Keeper(run, wanted=asked.keep, said=said)
        await keeper.look()
        begun = run

        async def kept(cell: Cell) -> None:
            await keeper.cell(cell, measuring.curves.windows())
            await so_far(
                replace(begun, ended=time.time(), cells=tuple(measuring.cells), partial=True)
            )

        measuring = Measuring(
            plan,
            driver=driver,
            url=target.url,
            headers=headers,
            eye=eye,
            gpus=_gpus(host) if around.gpus else None,
            gpu_indices=target.process.gpus,
            launch=_launch(host, discovery, target) if target.process.pid else None,
            said=told,
            kept=kept,
            secrets=target.secrets | Literals([key] if key else []),
        )
        started(measuring)
        cells = await measuring.run()
        run = replace(run, ended=time.time(), cells=cells, partial=measuring.partial)
        is_kept = await keeper.finish(run)
    return Outcome(run, measuring.notes, is_kept)


def new_id() -> str:
    """Twelve letters and digits."""
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(12))


def _plan(asked: Asked, prompts: Prompts, target: Target) -> Plan:
    return Plan(
        prompts=prompts.prompts,
        name=visible(prompts.name),
        endpoint=asked.endpoint,
        model=target.process.model or "default",
        concurrencies=asked.concurrencies,
        output_tokens=asked.output_tokens,
        input_tokens=asked.input_tokens,
        requests=asked.requests,
        repeats=asked.repeats,
        rate=asked.rate,
        temperature=asked.temperature,
        warmup=asked.warmup,
        seed=asked.seed,
        keep_going=asked.keep_going,
        flush=asked.flush_cache,
    )


async def find_server(host: Host, discovery: Discovery, asked: Asked) -> Target:
    """The one server that is meant.

    Raises:
        UsageError: there is none, or there are several.
    """
    targets, looked_at = await discovery.look(host)
    targets = tuple(target for target in targets if target.url)
    if asked.url:
        wanted = asked.url.rstrip("/").split("://")[-1]
        named = [t for t in targets if t.url.split("://")[-1] == wanted]
        # The address as it was typed stands beside the process that was found to have it.
        found = [t for t in named if t.process.pid is not None]
        targets = tuple(found[:1] or named[:1]) or targets
    if not targets:
        raise UsageError(
            "No SGLang server was found on this host.",
            meaning=f"Looked at: {visible(', '.join(looked_at) or 'nothing')}.",
            advice="Say its address as seen from the host: --url http://127.0.0.1:30000.",
        )
    if len(targets) > 1:
        listed = ", ".join(f"{t.process.pid} at {t.url}" for t in targets)
        raise UsageError(
            f"{len(targets)} servers could be meant.",
            advice=f"Choose one with --pid or --url: {visible(listed)}.",
        )
    if words := port_held(targets[0]):
        raise EagletuiError(f"{words}.", advice="Give the address of the server that is meant.")
    return targets[0]


async def choose_driver(
    asked: Asked, host: Host, session: aiohttp.ClientSession, target: Target, trip: float
) -> tuple[Driver, Via]:
    """Who sends: the host's own Python, or this program through the connection.

    On this machine the small program sends as well: it shares its core with nothing of ours.

    Raises:
        EagletuiError: the host was asked for and has no Python for it.
    """
    far = asked.target is None or trip > FAR
    # The small program speaks no TLS.
    plain = urlsplit(target.url).scheme == "http"
    if asked.on_host == "no" or (asked.on_host == "auto" and not (far and plain)):
        return Client(session), "client"
    if not plain:
        raise UsageError(
            "The client for the host speaks no TLS.", advice="Leave --on-host out for https."
        )
    python = await find_python(host, [target.process.python])
    start = getattr(host, "start", None)
    if python and start is not None:
        return OnHost(host, python), "host"
    if asked.on_host == "yes":
        raise EagletuiError(
            "The host has no Python 3.8 or later that could send the requests.",
            advice="Leave --on-host out to send them through the connection.",
        )
    return Client(session), "client"


def _gpus(host: Host) -> Callable[[], AsyncIterator[tuple[Gpu, ...]]]:
    return lambda: GpuReader(host).stream(1.0)


def _launch(host: Host, discovery: Discovery, target: Target) -> Callable[[], Awaitable[str]]:
    async def which() -> str:
        targets, _ = await discovery.look(host)
        there = [t.process for t in targets if t.process.port == target.process.port]
        return f"pid {there[0].pid}" if there else ""

    return which
