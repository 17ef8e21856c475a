"""What people write into profiles, and what goes wrong on hosts."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat as stats
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.control.agent import AgentRefused, asked_once
from eagletui.control.api import ReadOnly, Running
from eagletui.control.restart import Restart
from eagletui.host.local import LocalHost
from eagletui.model.profile import Guard, StartPlan
from tests.control.servers import Servers, alive, argv, environ
from tests.control.test_restart import ANN, QUICK, details, driven, states

NASTY = (
    "; rm -rf ~/*; echo",
    "$(touch /tmp/never) `id` ${HOME} $HOME",
    'it\'s "quoted" \\ back\\\\slash',
    "two\nlines\ttab",
    "Zürich 東京 🦅",
    "",
    " --port 1",
    "*?[a]{b,c} ~ ! # & | < > ( )",
    "'\"'\"'",
)


@pytest.mark.parametrize("value", NASTY)
async def test_every_value_arrives_as_it_is(servers: Servers, host: LocalHost, value: str) -> None:
    folder = servers.folder / "a folder; $(x) 'ü'"
    folder.mkdir()
    plan = replace(
        servers.plan("--served-model-name", value, environment={"NASTY": value}),
        workdir=str(folder),
        log="a log; $(x) 'ü'.txt",
    )
    restart, told = await driven(host, plan, None, limits=replace(QUICK, settle=0.0))
    assert states(told)[-1] == "ready", details(told)
    assert restart.pid is not None
    assert argv(restart.pid) == list(servers.argv("--served-model-name", value))
    assert environ(restart.pid)["NASTY"] == value
    assert os.readlink(f"/proc/{restart.pid}/cwd") == str(folder)
    assert "fired up" in (folder / "a log; $(x) 'ü'.txt").read_text()


async def test_bytes_that_are_no_text_come_back_as_they_were(
    servers: Servers, host: LocalHost
) -> None:
    raw = os.fsdecode(b"\xff\xfe=\x80")
    old = servers.start("--tag", raw, ODD=raw)
    plan = servers.plan(environment={"SGLANG_FAKE_DIE": "shards"})
    restart, told = await driven(host, plan, old)
    assert states(told)[-1] == "rolled-back"
    assert restart.pid is not None
    assert os.fsencode(argv(restart.pid)[-1]) == b"\xff\xfe=\x80"
    assert os.fsencode(environ(restart.pid)["ODD"]) == b"\xff\xfe=\x80"


async def test_a_port_that_is_taken_costs_nothing(servers: Servers, host: LocalHost) -> None:
    with socket.create_server(("127.0.0.1", servers.port)):
        restart, told = await driven(host, servers.plan(), None)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "port-taken"
    assert f"pid {os.getpid()}" in restart.standing.problem.title
    assert servers.mine() == []


async def test_a_port_taken_between_check_and_start_brings_the_old_one_back(
    servers: Servers, host: LocalHost
) -> None:
    """Somebody takes it in the moment the old server is gone, and lets go again."""
    old = servers.start("--tag", "old")
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    restart = Restart(host, servers.plan(), replaces=old, owner=ANN, limits=QUICK)
    told = []
    async for progress in restart.progress():
        told.append(progress)
        state = progress.standing.state
        if state == "rolling-back":
            other.close()
        elif state == "starting" and not progress.standing.rolling_back and not progress.detail:
            other.bind(("127.0.0.1", servers.port))
            other.listen()
    assert restart.standing.state == "rolled-back"
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "port-taken"
    assert told[-1].standing.final


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"argv": ("/nowhere/python", "-m", "sglang.launch_server")}, "no-program"),
        ({"argv": ("/etc/passwd",)}, "not-allowed"),
        ({"workdir": "/nowhere"}, "no-workdir"),
    ],
)
async def test_what_cannot_start_is_known_before_anything_stops(
    servers: Servers, host: LocalHost, change: dict[str, object], code: str
) -> None:
    old = servers.start()
    restart, told = await driven(host, replace(servers.plan(), **change), old)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == code
    assert alive(old.pid)
    assert not servers.lock.exists()


@pytest.mark.parametrize(
    ("log", "code"), [("/proc/nowhere/x.log", "no-log"), ("/dev/full/x.log", "no-log")]
)
async def test_a_log_that_cannot_be_written_brings_the_old_one_back(
    servers: Servers, host: LocalHost, log: str, code: str
) -> None:
    old = servers.start("--tag", "old")
    restart, told = await driven(host, servers.plan(log=log), old)
    assert states(told)[-1] == "rolled-back"
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == code


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "nvidia-smi"


def as_tool(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stats.S_IXUSR)


async def test_gpu_memory_that_is_freed_late_is_waited_for(
    servers: Servers, host: LocalHost, nvidia_smi: Path, tmp_path: Path
) -> None:
    old = servers.start()
    held = tmp_path / "held"
    held.write_text(f"{old.pid}\n")
    as_tool(nvidia_smi, f"cat {held}; : > {held}; echo x >> {tmp_path}/asked")
    _, told = await driven(host, None, old)
    assert states(told)[-1] == "stopped"
    assert (tmp_path / "asked").read_text().count("x") == 2


async def test_a_hanging_nvidia_smi_does_not_hang_us(
    servers: Servers, host: LocalHost, nvidia_smi: Path
) -> None:
    old = servers.start()
    as_tool(nvidia_smi, "exec sleep 100")
    began = time.monotonic()
    _, told = await driven(host, None, old)
    assert states(told)[-1] == "stopped"
    assert "nvidia-smi hangs" in details(told)
    assert time.monotonic() - began < 60


async def test_a_second_restart_is_refused_by_name(servers: Servers, host: LocalHost) -> None:
    old = servers.start()
    held = {"user": "bob", "host": "desk", "launch": "other", "what": "launching 5/6 on :30000"}
    servers.lock.write_text(json.dumps(held))
    restart, told = await driven(host, servers.plan(), old)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "locked"
    assert restart.standing.problem.title.startswith(
        "bob@desk is in the middle of launching 5/6 on :30000 on this host"
    )
    assert alive(old.pid)
    os.utime(servers.lock, (1, 1))
    restart, told = await driven(host, servers.plan(), old)
    assert restart.standing.problem is not None
    assert "--resume other" in restart.standing.problem.advice
    _, told = await driven(host, servers.plan(), old, break_lock=True)
    assert states(told)[-1] == "ready"
    assert not servers.lock.exists()


async def test_a_lock_from_before_a_reboot_holds_nobody_up(
    servers: Servers, host: LocalHost
) -> None:
    servers.lock.write_text(json.dumps({"user": "bob", "launch": "other", "boot": "another"}))
    _, told = await driven(host, servers.plan(), None, limits=replace(QUICK, settle=0.0))
    assert states(told)[-1] == "ready"


async def test_of_many_who_want_the_lock_one_gets_it(servers: Servers, host: LocalHost) -> None:
    async def take(number: int) -> str:
        owner = {"user": f"u{number}", "host": "h", "pid": 1, "session": str(number)}
        try:
            await asked_once(
                host, "save", launch=f"l{number}", owner=owner, plan={}, target=None, note={},
                breaks="",
            )  # fmt: skip
        except AgentRefused as refused:
            return refused.diagnosis.code
        return "taken"

    answers = await asyncio.gather(*(take(number) for number in range(6)))
    assert sorted(answers) == ["locked"] * 5 + ["taken"]


def test_what_eagletui_does_not_do_is_refused_before_anything(servers: Servers) -> None:
    host = LocalHost.__new__(LocalHost)
    with pytest.raises(ReadOnly):
        Restart(host, StartPlan(argv=("x",), guard=Guard(read_only=True)), owner=ANN)


def test_no_repr_shows_a_command_line() -> None:
    running = Running(pid=1, start_ticks=2, port=3, argv=("--api-key", "hunter2"))
    assert "hunter2" not in repr(running)
