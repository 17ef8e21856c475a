"""Restarts of real processes on this machine, to each of their ends."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest
from msgspec.structs import replace

from eagletui.control.api import Limits, Outcome, Owner, Progress, Running
from eagletui.control.restart import Restart
from eagletui.host.base import Host
from eagletui.host.local import LocalHost
from eagletui.model.launches import started
from eagletui.model.profile import Guard, StartPlan
from tests.control.servers import Servers, alive, argv, environ, stat, wait_for

# What has to pass is short; what must not be passed is so long that no busy machine passes it.
QUICK = Limits(settle=0.5, orphans=0.5, poll=0.1, gone=180.0, lost=180.0, stall=180.0, kill=60.0)
STALLED = replace(QUICK, stall=8.0)
"""Also for what is put back: it must not be silent for so long by chance."""
ANN = Owner(user="ann", host="laptop", pid=1, session="a", what="a restart of :1")


async def driven(
    host: Host,
    plan: StartPlan | None,
    old: Running | None,
    *,
    limits: Limits = QUICK,
    cancel_in: str = "",
    answer: bool = True,
    break_lock: bool = False,
) -> tuple[Restart, list[Progress]]:
    restart = Restart(host, plan, replaces=old, owner=ANN, limits=limits, break_lock=break_lock)
    told = []
    async for progress in restart.progress():
        told.append(progress)
        if progress.standing.state == cancel_in:
            cancel_in = ""
            restart.cancel()
        if progress.standing.state == "asking":
            restart.answer(answer)
    return restart, told


def states(told: list[Progress]) -> list[str]:
    seen: list[str] = []
    for progress in told:
        if not seen or seen[-1] != progress.standing.state:
            seen.append(progress.standing.state)
    return seen


def details(told: list[Progress]) -> str:
    """What was said on the way, and in the end what went wrong."""
    problem = told[-1].standing.problem
    said = [progress.detail for progress in told if progress.detail]
    return "\n".join([*said, f"problem: {problem}"])


async def test_a_server_is_replaced_by_the_one_that_was_asked_for(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start(SGLANG_FAKE_WORKERS="2")
    restart, told = await driven(
        host, servers.plan("--tag", "new", environment={"NCCL_ALGO": "Ring"}), old
    )
    assert states(told) == [
        "checking", "saving", "draining", "stopping", "waiting-gone", "starting", "loading",
        "first-token", "settling", "ready",
    ]  # fmt: skip
    [state] = servers.launches()
    new = state["new"]["pid"]
    assert argv(new) == list(servers.argv("--tag", "new"))
    assert environ(new)["NCCL_ALGO"] == "Ring"
    assert environ(new)["EAGLETUI_LAUNCH"] == restart.launch
    assert os.getsid(new) == new
    assert os.readlink(f"/proc/{new}/cwd") == str(servers.folder)
    assert (
        os.readlink(f"/proc/{new}/fd/1") == os.readlink(f"/proc/{new}/fd/2") == state["new"]["log"]
    )
    servers.reap()
    assert not alive(old.pid)
    assert servers.mine() == [new]
    assert not servers.lock.exists()
    assert state["standing"]["state"] == "ready"
    process = (new, state["new"]["start"])
    load = started(servers.launches()[::-1], process).load_seconds
    assert load is not None
    assert 0.0 <= load < restart.seconds + 1.0  # a log's stamps have whole seconds


async def test_what_ran_is_kept_whole_and_private(servers: Servers, host: LocalHost) -> None:
    old = servers.start("--api-key", "hunter2-key", HF_TOKEN="hf_secret")
    restart, told = await driven(host, servers.plan("--api-key", "hunter2-key"), old)
    assert restart.standing.state == "ready"
    folder = servers.state / "launches" / restart.launch
    before = json.loads((folder / "before.json").read_text())
    assert before["argv"] == list(servers.argv("--api-key", "hunter2-key"))
    assert before["environment"]["HF_TOKEN"] == "hf_secret"
    assert before["environment"]["WAS_HERE"] == "before"
    assert before["workdir"] == str(servers.folder)
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    shown = repr(told) + repr(restart.standing) + repr(old)
    assert "hunter2" not in shown
    assert "hf_secret" not in shown


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"SGLANG_FAKE_DIE": "shards"}, "out-of-memory"),
        ({"SGLANG_FAKE_DIE": "ready"}, ""),
        ({"SGLANG_FAKE_NO_TOKEN": "1"}, "no-first-token"),
        ({"SGLANG_FAKE_STALL": "1"}, "start-stalled"),
    ],
)
async def test_what_fails_gives_way_to_what_ran(
    servers: Servers, host: LocalHost, wrong: dict[str, str], code: str
) -> None:
    old = servers.start("--tag", "old", SGLANG_FAKE_WORKERS="1")
    plan = servers.plan("--tag", "new", environment={"SGLANG_FAKE_WORKERS": "1", **wrong})
    limits = STALLED if code == "start-stalled" else QUICK
    restart, told = await driven(host, plan, old, limits=limits)
    assert states(told)[-6:] == [
        "rolling-back", "starting", "loading", "first-token", "settling", "rolled-back",
    ]  # fmt: skip
    assert restart.standing.problem is not None
    assert restart.standing.problem.code.startswith(code)
    [state] = servers.launches()
    back = state["back"]["pid"]
    assert argv(back) == list(servers.argv("--tag", "old"))
    assert environ(back)["WAS_HERE"] == "before"
    assert environ(back)["EAGLETUI_LAUNCH"] == f"{restart.launch}-back"
    assert not alive(state["new"]["pid"])
    assert len(servers.mine()) == 2  # the old one's command line with its worker


async def test_a_roll_back_that_fails_too_is_a_failure_and_no_loop(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start()
    servers.script.write_text("raise SystemExit(3)")
    restart, told = await driven(host, servers.plan(), old)
    assert states(told)[-3:] == ["starting", "loading", "failed"]
    assert states(told).count("starting") == 2
    assert restart.standing.rolling_back
    assert servers.mine() == []
    assert not servers.lock.exists()


async def test_without_a_person_s_yes_nothing_is_put_back(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start()
    guard = Guard(drain_seconds=0.0, stop_seconds=60.0, roll_back="ask")
    plan = servers.plan(guard=guard, environment={"SGLANG_FAKE_DIE": "shards"})
    _, told = await driven(host, plan, old, answer=False)
    assert states(told)[-2:] == ["asking", "failed"]
    assert servers.mine() == []


async def test_requests_are_waited_for_then_aborted(servers: Servers, host: LocalHost) -> None:
    old = servers.start(SGLANG_FAKE_BUSY="3")
    began = time.time()
    _, told = await driven(host, servers.plan(), old)
    assert "aborting" in states(told)
    assert "3 in flight" in details(told)
    log = (servers.folder / "old.log").read_text()
    assert log.index("aborted all") < log.index("SIGTERM received")
    at = float(re.findall(r"SIGTERM received at ([0-9.]+)", log)[0])
    assert at - began >= 0.3


async def test_a_server_that_ignores_sigterm_is_killed_with_its_workers(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start(SGLANG_FAKE_IGNORE_TERM="1", SGLANG_FAKE_WORKERS="2")
    guard = Guard(drain_seconds=0.0, stop_seconds=0.5)
    _, told = await driven(host, servers.plan(guard=guard), old)
    assert "killing" in states(told)
    assert states(told)[-1] == "ready"
    servers.reap()
    assert len(servers.mine()) == 1


@pytest.mark.parametrize("own_group", [True, False])
async def test_workers_that_outlive_their_server_are_shown_and_ended(
    servers: Servers, host: LocalHost, own_group: bool
) -> None:
    """Without a group of its own only what was seen as its child is: never the test itself."""
    old = servers.start(own_group=own_group, SGLANG_FAKE_ORPHANS="1", SGLANG_FAKE_WORKERS="2")
    _, told = await driven(host, None, old)
    assert states(told)[-1] == "stopped"
    assert "sglang::scheduler_TP1 (orphan)" in details(told)
    servers.reap()
    assert servers.mine() == []


async def test_orphans_of_another_server_are_left_alone(servers: Servers, host: LocalHost) -> None:
    folder = servers.folder.parent / f"{servers.folder.name}-other"
    folder.mkdir()
    other = Servers(folder)
    try:
        gone = other.start(SGLANG_FAKE_ORPHANS="1", SGLANG_FAKE_WORKERS="1")
        os.kill(gone.pid, signal.SIGKILL)
        wait_for(lambda: not alive(gone.pid), "it ends")
        [orphan] = other.mine()
        old = servers.start()
        _, told = await driven(host, None, old)
        assert states(told)[-1] == "stopped"
        assert alive(orphan)
    finally:
        other.end()


async def test_another_process_under_the_same_id_is_not_touched(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start()
    stranger = Running(pid=old.pid, start_ticks=old.start_ticks - 1, port=old.port)
    restart, told = await driven(host, None, stranger)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "gone"
    assert alive(old.pid)


async def test_nothing_that_this_session_runs_in_is_stopped(
    servers: Servers, host: LocalHost
) -> None:
    start = int(stat(os.getpid())[19])
    ourselves = Running(pid=os.getpid(), start_ticks=start, port=servers.port)
    restart, told = await driven(host, None, ourselves)
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "own-shell"
    assert states(told) == ["checking", "failed"]


@pytest.mark.parametrize("state", ["draining", "stopping", "loading", "settling"])
async def test_a_cancel_leads_back_to_what_ran(
    servers: Servers, host: LocalHost, state: str
) -> None:
    old = servers.start("--tag", "old", SGLANG_FAKE_BUSY="1")
    restart, told = await driven(host, servers.plan("--tag", "new"), old, cancel_in=state)
    servers.reap()
    if state == "draining":
        assert states(told)[-1] == "cancelled"
        assert servers.mine() == [old.pid]
    else:
        assert states(told)[-1] == "rolled-back"
        [pid] = servers.mine()
        assert argv(pid) == list(servers.argv("--tag", "old"))
        assert pid != old.pid
    assert not servers.lock.exists()
    assert isinstance(restart.standing.title, str)


def test_an_outcome_is_good_only_where_what_was_asked_for_was_done() -> None:
    from eagletui.model.restart import Standing

    def ok(state: str) -> bool:
        standing = Standing(state=state)  # type: ignore[arg-type]
        return Outcome(launch="x", standing=standing, account="").ok

    assert [s for s in ("ready", "rolled-back", "stopped", "failed", "cancelled") if ok(s)] == [
        "ready",
        "stopped",
    ]
