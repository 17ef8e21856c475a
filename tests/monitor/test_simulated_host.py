"""The whole way: SSH, discovery, log, metrics and verdicts, on simulated hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from eagletui.host.open import open_host
from eagletui.model import events as ev
from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from eagletui.model.state import ServerState, State, fold
from eagletui.monitor.api import Wanted
from eagletui.monitor.look import look
from eagletui.monitor.monitor import Monitor
from eagletui.simulator.host import SimulatedHost
from eagletui.store.launches import LaunchMemory

LIMIT = 60.0
Seen = Callable[[State, list[ev.Event]], bool]


class Nobody:
    """Nobody is there to be asked: a simulated host asks nothing."""

    async def secret(self, question: SecretQuestion) -> str | None:
        raise AssertionError(question)

    async def host_key(self, question: HostKeyQuestion) -> bool:
        raise AssertionError(question)


def monitor_of(
    host: SimulatedHost, memory: LaunchMemory | None = None, *, log: str = "", metrics: str = ""
) -> Monitor:
    return Monitor(
        open_host(host.name, asker=Nobody(), config=[str(host.ssh_config)]),
        wanted=Wanted(interval=0.3, under=str(host.folder), log=log, metrics=metrics),
        memory=memory,
    )


async def watch(monitor: Monitor, until: Seen) -> tuple[State, list[ev.Event]]:
    """Fold events until something is so."""
    state, events = State(), list[ev.Event]()

    async def run() -> None:
        nonlocal state
        async for batch in monitor.events():
            for event in batch:
                state = fold(state, event)
                events.append(event)
            if until(state, events):
                return

    await asyncio.wait_for(run(), LIMIT)
    return state, events


def server_of(state: State) -> ServerState:
    assert state.server is not None
    return state.server


def serving(state: State, events: list[ev.Event]) -> bool:
    rates = state.server.metrics.rates if state.server is not None else None
    return rates is not None and rates.verify_ms is not None and rates.accept_length is not None


async def test_from_nothing_to_live_numbers(tmp_path: Path) -> None:
    memory = LaunchMemory(tmp_path / "launches.json")
    async with SimulatedHost("kimi-k2.5", speed=300.0) as host:
        state, events = await watch(monitor_of(host, memory), serving)
    server = server_of(state)
    assert (server.version, server.process.model) == ("0.5.16", "/models/Kimi-K2.5")
    assert server.speculative.algorithm == "EAGLE3"
    assert (server.speculative.num_steps, server.speculative.num_draft_tokens) == (5, 6)
    assert server.process.log.kind == "file"
    assert server.ready
    assert [rung.status for rung in server.ladder] == ["done"] * len(server.ladder)
    weights = next(rung for rung in server.ladder if rung.key == "weights/target")
    assert (weights.done, weights.total) == (64, 64)
    assert len(weights.ranks) == 8
    rates = server.metrics.rates
    assert rates is not None
    assert rates.source == "device timer"
    assert rates.verify_ms == pytest.approx(24.5, rel=0.1)
    assert 1.0 <= (rates.accept_length or 0.0) <= 6.0
    assert len(state.gpus) == 8
    # While it loaded, nobody listened; that is said, and is no failure.
    refused = [e for e in events if isinstance(e, ev.ScrapeFailed)]
    assert {event.problem for event in refused} <= {"refused"}
    assert not [a for e in events if isinstance(e, ev.Alerted) for a in e.alerts]
    learned = memory.experience(host.name, "/models/Kimi-K2.5")
    assert learned["weights/target"].launches == 1


async def test_the_log_arrives_whole() -> None:
    async with SimulatedHost("h200-dense", speed=300.0) as host:
        state, events = await watch(monitor_of(host), lambda s, _: server_of_ready(s))
        text = b"".join(e.data for e in events if isinstance(e, ev.LogText))
        written = Path(host.servers[0].log).read_bytes()  # noqa: ASYNC240
    assert text
    assert written.startswith(text)
    starts = [e.start for e in events if isinstance(e, ev.LogText)]
    assert starts == sorted(starts)
    assert server_of(state).log.received == len(text)


def server_of_ready(state: State) -> bool:
    return state.server is not None and state.server.ready


async def test_a_crash_is_named_with_its_evidence() -> None:
    def over(state: State, events: list[ev.Event]) -> bool:
        return state.server is not None and state.server.ended and not state.server.alive

    async with SimulatedHost("crash-oom", speed=300.0) as host:
        state, _ = await watch(monitor_of(host), over)
    verdict = server_of(state).verdicts[0]
    assert (verdict.code, verdict.severity) == ("out-of-memory-graphs", "fatal")
    assert "mem-fraction-static" in verdict.advice
    assert verdict.evidence


async def test_metrics_off_leaves_the_decode_lines_and_says_so() -> None:
    def known(state: State, events: list[ev.Event]) -> bool:
        server = state.server
        return (
            server is not None
            and server.decode is not None
            and any(alert.code == "metrics-off" for alert in server.alerts)
        )

    async with SimulatedHost("metrics-off", speed=300.0) as host:
        state, _ = await watch(monitor_of(host), known)
    server = server_of(state)
    alert = next(alert for alert in server.alerts if alert.code == "metrics-off")
    assert "--enable-metrics" in alert.advice
    assert server.decode is not None
    assert server.decode.step_ms is not None


async def test_a_useless_draft_is_called_one() -> None:
    def known(state: State, events: list[ev.Event]) -> bool:
        server = state.server
        return server is not None and any(
            verdict.code == "accept-length-one" for verdict in server.verdicts
        )

    async with SimulatedHost("useless-draft", speed=300.0) as host:
        await watch(monitor_of(host), known)


async def test_two_servers_are_listed_and_none_is_chosen() -> None:
    async with SimulatedHost("two-servers", speed=300.0) as host:
        state, _ = await watch(monitor_of(host), lambda s, _: len(s.servers) == 2)
    assert state.selected == ""
    assert {s.process.port for s in state.servers.values()} == {s.port for s in host.servers}


async def test_of_two_servers_the_one_whose_address_was_given_is_chosen() -> None:
    async with SimulatedHost("two-servers", speed=300.0) as host:
        port = host.servers[1].port
        monitor = monitor_of(host, metrics=f"localhost:{port}")
        state, _ = await watch(monitor, lambda s, _: len(s.servers) == 2 and bool(s.selected))
    assert server_of(state).process.port == port


async def test_of_two_servers_and_a_log_that_was_given_the_log_is_chosen() -> None:
    async with SimulatedHost("two-servers", speed=300.0) as host:
        monitor = monitor_of(host, log="/var/log/sglang*.log")
        state, _ = await watch(monitor, lambda s, _: len(s.servers) == 3 and bool(s.selected))
    assert server_of(state).process.log.target == "/var/log/sglang*.log"


async def test_no_server_says_what_was_looked_at() -> None:
    async with SimulatedHost("none", speed=300.0) as host:
        state, _ = await watch(monitor_of(host), lambda s, _: s.looked)
    assert state.servers == {}
    assert state.looked_at


async def test_one_look_for_scripts() -> None:
    async with SimulatedHost("two-servers", speed=1000.0) as host:
        await watch(monitor_of(host), lambda s, _: len(s.servers) == 2)
        state = await look(monitor_of(host), limit=LIMIT)
    assert len(state.servers) == 2
    for server in state.servers.values():
        assert server.log.received > 0
        assert server.metrics.reading is not None or server.metrics.problem is not None
