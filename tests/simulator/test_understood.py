"""What the simulation writes is understood by the engine that reads real servers."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from eagletui.engine.reader import LogReader
from eagletui.model import events as ev
from eagletui.simulator.flags import parse_flags
from eagletui.simulator.loading import Crash, Line, Loader, Raw, Stall, Wait
from eagletui.simulator.releases import RELEASES, record
from eagletui.simulator.scenarios import SCENARIOS
from eagletui.simulator.serving import Serving
from eagletui.simulator.traffic import steady

BEGAN = 1_795_000_000.0


def whole_log(version: str, scenario: str, *, speed: float = 10.0, serve: float = 20.0) -> bytes:
    """A log from its first line to some seconds of serving, as the server process writes it."""
    release, plan = RELEASES[version], SCENARIOS[scenario].servers[0]
    flags = parse_flags(plan.arguments(release), release)
    loader = Loader(plan, flags, release, gpu_gb=95.6, speed=speed)
    parts: list[str] = []
    now = BEGAN

    def say(at: float, message: str, rank: str = "") -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
        parts.append(record(stamp, message, rank))

    for act in loader.script():
        if isinstance(act, Wait):
            now += act.seconds / speed
        elif isinstance(act, Line):
            say(now, act.message, act.rank)
        elif isinstance(act, Raw):
            parts.append(act.text)
        elif isinstance(act, Crash):
            parts.append("\n")
            say(now, act.message, act.rank)
            say(now, release.child_failed)
            return "".join(parts).encode()
        elif isinstance(act, Stall):
            return "".join(parts).encode()
    say(now, "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)")
    say(now + 1, "The server is fired up and ready to roll!")
    serving = Serving(
        plan.machine,
        flags,
        release,
        steady(1),
        plan.environment,
        lambda at, message: say(at, message, loader.first),
        began=now + 1,
        capacity=plan.loading.kv_tokens,
    )
    serving.advance(now + 1 + serve)
    return "".join(parts).encode()


def read(log: bytes) -> list[ev.Event]:
    reader = LogReader("s")
    return [*reader.feed(log, at=BEGAN), *reader.finish(BEGAN)]


@pytest.mark.parametrize("version", RELEASES)
def test_every_release_is_followed_to_ready(version: str) -> None:
    events = read(whole_log(version, "kimi-k2.5"))
    launches = [event for event in events if isinstance(event, ev.LaunchBegan)]
    assert len(launches) == 1
    speculative = launches[0].speculative
    assert (speculative.algorithm, speculative.num_steps) == ("EAGLE3", 5)
    assert launches[0].args["model_path"] == "/models/Kimi-K2.5"
    moved = [event for event in events if isinstance(event, ev.PhaseMoved)]
    shards = [event for event in moved if event.name == "weights" and event.role == "target"]
    assert {event.total for event in shards} == {64}
    assert shards[-1].done == 64
    drafts = [event for event in moved if event.name == "weights" and event.role == "draft"]
    assert [(event.done, event.total) for event in drafts][-1] == (1, 1)
    captured = [event for event in moved if event.name == "graphs" and event.role == "target"]
    assert (captured[-1].done, captured[-1].total) == (36, 36)
    ended = {(event.name, event.role) for event in events if isinstance(event, ev.PhaseEnded)}
    assert {("weights", "target"), ("weights", "draft"), ("graphs", "target")} <= ended
    assert sum(isinstance(event, ev.ServerReady) for event in events) == 1
    decoded = [event for event in events if isinstance(event, ev.DecodeSample)]
    assert len(decoded) > 20
    lengths = [event.accept_length for event in decoded if event.accept_length is not None]
    assert sum(lengths) / len(lengths) == pytest.approx(2.1, rel=0.06)
    assert not any(isinstance(event, ev.Diagnosed) and event.ended for event in events)


def test_seconds_are_those_that_passed() -> None:
    events = read(whole_log("0.5.16", "kimi-k2.5"))
    seconds = {
        (event.name, event.role): event.seconds
        for event in events
        if isinstance(event, ev.PhaseEnded) and event.rank in ("", "TP0")
    }
    loading = SCENARIOS["kimi-k2.5"].servers[0].loading
    assert seconds["weights", "target"] == pytest.approx(loading.weights / 10)
    assert seconds["graphs", "target"] == pytest.approx(loading.verify / 10)


def test_the_crash_has_its_name() -> None:
    events = read(whole_log("0.5.16", "crash-oom"))
    verdicts = [event for event in events if isinstance(event, ev.Diagnosed)]
    assert "out-of-memory-graphs" in [event.diagnosis.code for event in verdicts]
    assert any(event.ended for event in verdicts)


def test_the_stall_stands_at_62_percent() -> None:
    events = read(whole_log("0.5.16", "stalled"))
    last = [event for event in events if isinstance(event, ev.PhaseMoved)][-1]
    assert (last.name, last.done, last.total) == ("weights", 40, 64)
    assert not any(isinstance(event, ev.ServerReady) for event in events)


def test_k_at_run_time_is_seen() -> None:
    release, plan = RELEASES["0.5.16"], SCENARIOS["adaptive"].servers[0]
    lines: list[str] = []
    serving = Serving(
        plan.machine,
        parse_flags(plan.arguments(release), release),
        release,
        replace(plan.traffic),
        {},
        lambda _, message: lines.append(record("2026-11-29 12:00:00", message)),
        began=0.0,
        capacity=1000,
    )
    serving.advance(60.0)
    log = whole_log("0.5.16", "adaptive", serve=1.0) + "".join(lines).encode()
    seen = [event.num_steps for event in read(log) if isinstance(event, ev.StepsChanged)]
    assert set(seen) == {3}
