"""A restart on the simulated host: eight GPUs, traffic, workers, over its real SSH server."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

import pytest

from eagletui.control.api import Limits, Running
from eagletui.engine.command import parse_command
from eagletui.host.gpus import GpuReader
from eagletui.host.processes import RawServer, find_servers
from eagletui.host.ssh import SshHost
from eagletui.model.events import PhaseEnded
from eagletui.model.profile import Guard, StartPlan
from eagletui.simulator.host import SimulatedHost
from tests.control.test_restart import driven, states
from tests.host.people import Person

QUICK = Limits(settle=0.0, poll=0.2)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
async def box() -> AsyncIterator[SimulatedHost]:
    async with SimulatedHost("h200-dense", speed=200.0) as box:
        yield box


@pytest.fixture
async def simulated(box: SimulatedHost) -> AsyncIterator[SshHost]:
    host = SshHost(box.name, asker=Person(), config=[str(box.ssh_config)])
    await host.connect()
    yield host
    await host.close()


async def server(host: SshHost, pid: int) -> RawServer:
    """This one alone: the machine that plays the host may run others."""
    [found] = [raw for raw in (await find_servers(host)).servers if raw.pid == pid]
    return found


def changed(raw: RawServer, flags: dict[str, str]) -> tuple[str, ...]:
    words = list(raw.argv)
    for flag, value in flags.items():
        words[words.index(flag) + 1] = value
    return tuple(words)


async def test_other_settings_replace_the_running_ones(
    box: SimulatedHost, simulated: SshHost
) -> None:
    raw = await server(simulated, box.servers[0].pid)
    command = parse_command(raw.argv)
    steps = {"--speculative-num-steps": "5", "--speculative-num-draft-tokens": "6"}
    plan = StartPlan(
        argv=changed(raw, steps),
        port=command.port,
        workdir=raw.cwd,
        guard=Guard(drain_seconds=0.0, roll_back="always"),
    )
    restart, told = await driven(simulated, plan, Running.of(raw, command.port), limits=QUICK)
    assert states(told)[-1] == "ready", [p.detail for p in told][-5:]
    assert restart.pid is not None
    now = await server(simulated, restart.pid)
    assert parse_command(now.argv).speculative.num_steps == 5
    assert [worker.title for worker in now.workers] == ["sglang::scheduler", "sglang::detokenizer"]
    assert "weights" in {p.event.name for p in told if isinstance(p.event, PhaseEnded)}
    holders = {process.pid for process in await GpuReader(simulated).processes()}
    assert not holders & set(raw.pids)
