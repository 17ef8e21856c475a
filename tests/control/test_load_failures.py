"""What goes wrong while a server loads: each ends in a named state, with an account of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat as stats
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from eagletui.control.api import Owner
from eagletui.control.restart import Restart, unfinished
from eagletui.host.local import LocalHost
from eagletui.model.profile import Guard, RollBack
from eagletui.model.restart import account
from tests.control.servers import Servers, alive, argv, wait_for
from tests.control.test_restart import QUICK, STALLED, details, driven, states

BACK = "What ran before is back and serves. "


class Case(NamedTuple):
    """What the new server does wrong, and how that ends."""

    wrong: dict[str, str]
    problem: str
    said: str
    failed_in: str
    roll_back: RollBack = "always"
    stands: str = BACK


CASES = {
    "dies at 99 % of its shards": Case(
        {"SGLANG_FAKE_DIE": "shards"}, "out-of-memory", "memory", "loading"
    ),
    "and nothing is put back": Case(
        {"SGLANG_FAKE_DIE": "shards"},
        "out-of-memory",
        "memory",
        "loading",
        "never",
        "The old server is stopped. What was started does not serve. ",
    ),
    "is ready and dies within a minute": Case({"SGLANG_FAKE_DIE": "ready"}, "", "", "settling"),
    "never gets on": Case({"SGLANG_FAKE_STALL": "1"}, "start-stalled", "silent", "loading"),
    "never gets on and ignores SIGTERM": Case(
        {"SGLANG_FAKE_STALL": "1", "SGLANG_FAKE_IGNORE_TERM": "1", "SGLANG_FAKE_WORKERS": "1"},
        "start-stalled",
        "silent",
        "loading",
    ),
    "is ready and generates nothing": Case(
        {"SGLANG_FAKE_NO_TOKEN": "1"}, "no-first-token", "did not generate", "first-token"
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_failure_ends_in_a_named_state(
    servers: Servers, host: LocalHost, name: str
) -> None:
    case = CASES[name]
    old = servers.start("--tag", "old")
    guard = Guard(drain_seconds=0.0, stop_seconds=60.0, roll_back=case.roll_back)
    plan = servers.plan("--tag", "new", guard=guard, environment=case.wrong)
    limits = STALLED if case.problem == "start-stalled" else QUICK
    restart, told = await driven(host, plan, old, limits=replace(limits, settle=2.0))
    standing = restart.standing
    way = states(told)
    failed_in = way[way.index("rolling-back") - 1] if "rolling-back" in way else way[-2]
    assert failed_in in (case.failed_in, "first-token"), way
    assert standing.problem is not None
    assert standing.problem.code.startswith(case.problem)
    assert case.said in standing.problem.title
    said = account(standing)
    assert said.startswith(case.stands)
    assert said.endswith(standing.problem.title)
    servers.reap()
    if case.roll_back == "always":
        assert standing.state == "rolled-back"
        [pid] = servers.mine()
        assert argv(pid) == list(servers.argv("--tag", "old"))
    else:
        assert standing.state == "failed"
        assert servers.mine() == []
    [record] = servers.launches()
    assert record["standing"]["state"] == standing.state
    assert "ended" in record
    assert not servers.lock.exists()


@pytest.mark.parametrize("jump", [-7200.0, 7200.0])
async def test_a_clock_that_jumps_while_it_loads_changes_nothing(
    servers: Servers, host: LocalHost, jump: float
) -> None:
    old = servers.start()
    plan = servers.plan(environment={"SGLANG_FAKE_CLOCK": str(jump)})
    restart, told = await driven(host, plan, old)
    assert restart.standing.state == "ready", details(told)
    assert restart.phases["weights/target"] >= 0.0
    assert restart.seconds < abs(jump) / 2


async def test_our_own_clock_may_jump_too(
    servers: Servers, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = servers.start()
    real, looks = time.time, [0]

    def jumping() -> float:
        looks[0] += 1
        return real() + (86400.0 if looks[0] % 2 else -86400.0)

    monkeypatch.setattr(time, "time", jumping)
    restart, _ = await driven(host, servers.plan(), old)
    assert restart.standing.state == "ready"
    assert looks[0] > 10


@pytest.mark.parametrize("jump", [-86400.0, 86400.0])
async def test_a_lock_is_honoured_whatever_the_host_s_clock_does(
    servers: Servers, host: LocalHost, jump: float
) -> None:
    held = {"user": "bob", "host": "desk", "launch": "other", "time": time.time() - jump}
    servers.lock.write_text(json.dumps(held))
    os.utime(servers.lock, (time.time() - jump, time.time() - jump))
    restart, told = await driven(host, servers.plan(), None)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "locked"
    assert servers.lock.exists()


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (None, ""),
        ("exit 9", "nvidia-smi fails: GPU memory was not looked at"),
        ("exec sleep 100", "nvidia-smi hangs: GPU memory was not looked at"),
        ("echo 'Failed to initialize NVML'", ""),
    ],
    ids=["absent", "fails", "hangs", "says something else"],
)
async def test_a_launch_does_not_depend_on_nvidia_smi(
    servers: Servers,
    host: LocalHost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str | None,
    said: str,
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "nvidia-smi"
    if tool is None:
        if any((Path(part) / path.name).exists() for part in ("/usr/bin", "/bin")):
            pytest.skip("this machine has nvidia-smi")
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    else:
        path.write_text(f"#!/bin/sh\n{tool}\n")
        path.chmod(path.stat().st_mode | stats.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    old = servers.start()
    restart, told = await driven(host, servers.plan(), old)
    assert restart.standing.state == "ready"
    assert said in details(told)
    assert ("GPU memory was not looked at" in details(told)) == bool(said)


async def test_a_host_that_was_started_anew_while_it_loaded(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start("--tag", "old")
    plan = servers.plan("--tag", "new", environment={"SGLANG_FAKE_STALL": "1"})
    owner = Owner.here("a restart")
    restart = Restart(host, plan, replaces=old, owner=owner, limits=QUICK)
    stream = restart.progress()
    async for progress in stream:
        if progress.standing.state == "loading":
            break
    await stream.aclose()
    restart.close()
    # What was asked for last is done to its end, and would be written over what is written here.
    await asyncio.to_thread(wait_for, lambda: not servers.at_work(), "the agent is done")
    [record] = servers.launches()
    os.kill(record["new"]["pid"], signal.SIGKILL)
    servers.reap()
    kept = servers.state / "launches" / record["id"] / "state.json"
    kept.write_text(json.dumps({**record, "boot": "another"}))
    [left] = await unfinished(host)
    resumed = await Restart.resume(host, left["id"], owner=owner, limits=QUICK, break_lock=True)
    told = [progress async for progress in resumed.progress()]
    assert "the host was started anew meanwhile: nothing of before runs" in details(told)
    assert resumed.standing.state == "rolled-back"
    assert account(resumed.standing).startswith(BACK)
    [pid] = servers.mine()
    assert argv(pid) == list(servers.argv("--tag", "old"))
    assert not alive(record["new"]["pid"])


async def test_a_server_that_dies_between_the_last_look_and_the_end_is_not_ready(
    servers: Servers, host: LocalHost
) -> None:
    guard = Guard(drain_seconds=0.0, stop_seconds=60.0, roll_back="never")
    plan = servers.plan("--tag", "new", guard=guard, environment={"SGLANG_FAKE_DIE": "ready"})
    limits = replace(QUICK, settle=1.0, poll=4.0)
    restart, told = await driven(host, plan, None, limits=limits)
    assert states(told)[-1] == "failed", details(told)
    assert restart.standing.problem is not None
    assert "settling" in states(told)
