"""Servers that a script of the person's own starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.control.restart import Restart
from eagletui.host.local import LocalHost
from eagletui.hostside.agent.command_runner import left_behind
from eagletui.model.profile import StartPlan
from tests.control.servers import Servers, alive, argv, environ
from tests.control.test_restart import ANN, QUICK, driven, states

NASTY = (
    "; rm -rf ~",
    "$(touch /tmp/never) `id` $HOME",
    'it\'s "q" \\',
    "two\nlines",
    "東京 %n",
    "",
)
AT_ONCE = replace(QUICK, settle=0.0)


def script(servers: Servers, text: str) -> Path:
    path = servers.folder / "serve it; $(x).sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def plan(servers: Servers, path: Path, *flags: str, **environment: str) -> StartPlan:
    words = (str(path), "--port", str(servers.port), *flags)
    return replace(servers.plan(environment=environment), argv=words, runner="command")


async def test_the_script_s_server_replaces_the_one_that_runs(
    servers: Servers, host: LocalHost
) -> None:
    old = servers.start()
    path = script(servers, f'exec "{sys.executable}" "{servers.script}" "$@"')
    restart, told = await driven(host, plan(servers, path, *NASTY, NCCL_ALGO=NASTY[1]), old)
    assert states(told)[-1] == "ready"
    assert restart.pid is not None
    assert argv(restart.pid) == list(servers.argv(*NASTY))
    assert environ(restart.pid)["NCCL_ALGO"] == NASTY[1]
    assert environ(restart.pid)["WAS_HERE"] == "before"
    servers.reap()
    assert not alive(old.pid)
    assert [note.code for note in restart.notes] == ["command-flags"]


async def test_a_script_that_leaves_its_server_behind_is_followed_to_it(
    servers: Servers, host: LocalHost
) -> None:
    path = script(servers, f'"{sys.executable}" "{servers.script}" "$@" &\nexit 0')
    restart, told = await driven(host, plan(servers, path), None)
    assert states(told)[-1] == "ready"
    [pid] = servers.mine()
    assert restart.pid == pid
    [state] = servers.launches()
    assert state["new"]["pid"] == pid


@pytest.mark.parametrize("to", ["", "> own.log 2>&1"])
async def test_a_server_that_lost_the_mark_is_found_by_the_log_it_writes(
    servers: Servers, host: LocalHost, to: str
) -> None:
    path = script(servers, f'env -i "{sys.executable}" "{servers.script}" "$@" {to} &\nexit 0')
    log = "own.log" if to else ""
    restart, told = await driven(host, replace(plan(servers, path), log=log), None)
    [pid] = servers.mine()
    servers.also(pid)
    assert states(told)[-1] == "ready"
    assert restart.pid == pid


def test_one_that_writes_elsewhere_too_is_found_by_its_port(servers: Servers) -> None:
    old = servers.start()
    lost = {"mark": "nobody's", "log": "/nowhere", "port": servers.port, "start": 0}
    row = left_behind(lost)
    assert row is not None
    assert row.pid == old.pid
    assert left_behind({**lost, "start": old.start_ticks + 1}) is None
    assert left_behind({**lost, "port": 0}) is None


async def test_a_script_that_starts_its_server_again_is_stopped_with_it(
    servers: Servers, host: LocalHost
) -> None:
    path = script(servers, f'while :; do "{sys.executable}" "{servers.script}" "$@"; done')
    _, told = await driven(host, plan(servers, path), None, limits=AT_ONCE)
    assert states(told)[-1] == "ready"
    [pid] = [pid for pid in servers.mine() if argv(pid)[0] == sys.executable]
    _, told = await driven(host, None, servers.running(pid))
    assert states(told)[-1] == "stopped"
    assert servers.mine() == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("exec python3 -m sglang.launch_server --port 1", "script-ignores-flags"),
        ('exec python3 -m sglang.launch_server "$@"', "command-flags"),
        ("exec python3 -m sglang.launch_server $1 ${2}", "command-flags"),
    ],
)
async def test_a_script_that_does_not_look_at_its_flags_is_named_before_the_start(
    servers: Servers, host: LocalHost, text: str, code: str
) -> None:
    restart = Restart(host, plan(servers, script(servers, text)), owner=ANN, limits=QUICK)
    assert await restart.check_only() is None
    [note] = restart.notes
    assert note.code == code
    assert note.severity == ("warning" if code == "script-ignores-flags" else "info")
    assert note.path == "server.runner"
    assert not servers.state.exists()


async def test_a_script_that_fails_gives_way_to_what_ran(servers: Servers, host: LocalHost) -> None:
    old = servers.start("--tag", "old")
    _, told = await driven(host, plan(servers, script(servers, "exit 3 # $@")), old)
    assert states(told)[-1] == "rolled-back"
    [pid] = servers.mine()
    assert argv(pid) == list(servers.argv("--tag", "old"))
    assert os.getsid(pid) == pid
