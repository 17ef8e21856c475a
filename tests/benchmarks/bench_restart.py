"""How long a person waits for us when a server is switched: from Enter to SIGTERM, and in all.

On the simulated host, which loads 400 times faster than life, so that our own share shows. Beside
it, in the same run, the same by hand through asyncssh: `kill`, wait, start again, read the log.
Wall time of the quietest of a few tries, and the processor time of this process, which a busy
machine does not lengthen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import asyncssh

from eagletui.cli.switching import HostSwitcher
from eagletui.control.agent import Agent
from eagletui.control.api import Limits
from eagletui.engine.flagwords import same_flag
from eagletui.host.processes import RawServer, find_servers
from eagletui.host.ssh import SshHost
from eagletui.model.switching import Choice
from eagletui.simulator.outside import HostProcess, Up
from eagletui.store.installations import InstallationMemory
from eagletui.store.launches import LaunchMemory
from eagletui.store.profiles.shelf import Profiles
from tests.benchmarks.bench_host import Nobody
from tests.benchmarks.terminal import environment

TRIES = 3
SPEED = 400.0
READY = b"The server is fired up and ready to roll!"
AT_ONCE = '[speculative]\nnum-steps = {steps}\n[guard]\ndrain-seconds = 0.0\nroll-back = "never"\n'


class Took(NamedTuple):
    """Seconds: from Enter to SIGTERM and to ready, and of our processor to both."""

    term: float
    ready: float
    term_cpu: float
    ready_cpu: float


class Terminated:
    """Remembers when a host's agent had sent SIGTERM."""

    def __init__(self) -> None:
        self._at: tuple[float, float] | None = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Within it every answer to `terminate` is noted, whichever way it travels."""
        ask = Agent.ask

        async def noting(agent: Agent, do: str, **request: Any) -> dict[str, Any]:
            answer = await ask(agent, do, **request)
            if do == "terminate":
                self._at = (time.perf_counter(), time.process_time())
            return answer

        with mock.patch.object(Agent, "ask", noting):
            yield

    def taken(self) -> tuple[float, float]:
        """When that was, by the wall clock and by our processor's; once.

        Raises:
            RuntimeError: it was not seen, so nothing was measured.
        """
        at, self._at = self._at, None
        if at is None:
            raise RuntimeError("no SIGTERM was seen: nothing was measured")
        return at


async def _switched(
    terminated: Terminated, switcher: HostSwitcher, pid: int, choice: Choice
) -> Took:
    await switcher.menu(pid)
    preview = await switcher.preview(choice, ask=True)
    if preview.problem:
        raise RuntimeError(preview.problem)
    began, cpu = time.perf_counter(), time.process_time()
    last = None
    with terminated.watching():
        async for moment in switcher.begin(choice):
            last = moment.standing
    if last is None or last.state != "ready":
        raise RuntimeError(f"the restart ended {last.state if last else 'nowhere'}")
    ready, ready_cpu = time.perf_counter(), time.process_time()
    at, at_cpu = terminated.taken()
    return Took(at - began, ready - began, at_cpu - cpu, ready_cpu - cpu)


async def _by_hand(up: Up, server: RawServer, log: str) -> Took:
    """What a person's script does: log in, kill, wait, start detached, read until it is ready."""
    began, cpu = time.perf_counter(), time.process_time()
    async with asyncssh.connect(
        up.host,
        up.port,
        username=up.user,
        known_hosts=up.known_hosts,
        client_keys=[up.client_key],
        config=None,
    ) as connection:
        await connection.run(f"kill -TERM {server.pid}", check=True)
        term, term_cpu = time.perf_counter() - began, time.process_time() - cpu
        await connection.run(f"while kill -0 {server.pid} 2>/dev/null; do sleep 0.05; done")
        words = shlex.join(server.argv)
        await connection.run(
            f": > {log}; cd {shlex.quote(server.cwd)} && setsid nohup {words} > {log} 2>&1 &"
        )
        reading = f"exec tail -s 0.02 -n +1 -F {log}"  # its own pause would be a second
        async with connection.create_process(reading, encoding=None) as process:
            seen = b""
            while READY not in seen:
                seen = seen[-200:] + await process.stdout.read(65536)
    return Took(term, time.perf_counter() - began, term_cpu, time.process_time() - cpu)


async def _only(host: SshHost, under: str) -> RawServer:
    [raw] = [raw for raw in (await find_servers(host)).servers if raw.cwd.startswith(under)]
    return raw


async def _measure(folder: Path) -> tuple[list[Took], list[Took]]:
    for steps in (2, 3):
        (folder / f"steps-{steps}.toml").write_text(AT_ONCE.format(steps=steps))
    box = HostProcess("h200-dense", speed=SPEED, release=None, usual_ports=False)
    try:
        up = await box.ready()
        host = SshHost(up.name, asker=Nobody(), config=[up.ssh_config])
        await host.connect()
        switcher = HostSwitcher(
            host,
            profiles=Profiles([folder], same_flag),
            installations=InstallationMemory(folder / "installations"),
            launches=LaunchMemory(folder / "launches.json"),
            limits=Limits(settle=0.0),
        )
        try:
            terminated = Terminated()
            ours, theirs = [], []
            for number in range(TRIES):
                server = await _only(host, up.folder)
                choice = Choice(speculative=f"steps-{2 + number % 2}")
                ours.append(await _switched(terminated, switcher, server.pid, choice))
                server = await _only(host, up.folder)
                theirs.append(await _by_hand(up, server, f"{up.folder}/by-hand.log"))
            return ours, theirs
        finally:
            await host.close()
    finally:
        box.end()


def _check_seconds(words: list[str], home: str) -> float:
    """Processor time of one run of a command, its children's included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(home) | {"PYTHONPATH": os.getcwd()},
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _check_in_process() -> float:
    from datetime import datetime, timezone

    from eagletui.cli.shelf import all_profiles
    from eagletui.engine.check.run import check
    from eagletui.engine.releases import Version
    from eagletui.engine.start_plan import start_plan

    best = float("inf")
    for _ in range(TRIES):
        began = time.process_time()
        profile = all_profiles().load("kimi-k2.5")
        plan = start_plan(profile, now=datetime.now(timezone.utc))
        check(plan, release=Version("0.5.23"))
        best = min(best, time.process_time() - began)
    return best


def rows() -> list[dict[str, str]]:
    """What was measured, beside its reference."""
    with tempfile.TemporaryDirectory() as home:
        checking = ["-m", "eagletui", "check", "kimi-k2.5", "--sglang", "0.5.23"]
        whole = min(_check_seconds(checking, home) for _ in range(TRIES))
        bare = min(_check_seconds(["-c", "pass"], home) for _ in range(TRIES))
    inside = _check_in_process()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = asyncio.run(_measure(Path(folder)))
    term, hand = min(t.term for t in ours), min(t.term for t in theirs)
    ready, all_hand = min(t.ready for t in ours), min(t.ready for t in theirs)
    term_cpu, hand_cpu = min(t.term_cpu for t in ours), min(t.term_cpu for t in theirs)
    ready_cpu, all_cpu = min(t.ready_cpu for t in ours), min(t.ready_cpu for t in theirs)
    return [
        {
            "what": "Enter to the old server's SIGTERM, after the checks",
            "measured": f"{term * 1000:.0f} ms ({term_cpu * 1000:.0f} ms of our processor)",
            "reference": f"log in and kill by asyncssh {hand * 1000:.0f} ms "
            f"({hand_cpu * 1000:.0f} ms)",
            "reach": "under 500 ms",
        },
        {
            "what": "our own share of a restart: Enter to a first token, less the same by hand",
            "measured": f"{ready - all_hand:.2f} s of {ready:.2f} s "
            f"({ready_cpu * 1000:.0f} ms of our processor)",
            "reference": f"kill, wait, start, read by asyncssh {all_hand:.2f} s "
            f"({all_cpu * 1000:.0f} ms)",
            "reach": "under 3 s",
        },
        {
            "what": "check of a profile, offline: the rules alone; the command, processor time",
            "measured": f"{inside * 1000:.1f} ms; {whole * 1000:.0f} ms",
            "reference": f"bare Python {bare * 1000:.0f} ms",
            "reach": "under 200 ms",
        },
    ]


if __name__ == "__main__":
    for row in rows():
        print(" | ".join(row.values()))
