"""Servers that a script of the person's own starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.cli.controlling import running_servers
from eagletui.control.api import Running
from eagletui.control.restart import Restart
from eagletui.host.local import LocalHost
from eagletui.hostside.agent.command_runner import left_behind
from eagletui.model.profile import StartPlan
from tests.control.servers import Servers, alive, argv, environ, free_port
from tests.control.test_restart import ANN, QUICK, details, driven, states

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


async def serving(host: LocalHost, servers: Servers, port: int) -> Running:
    """The server on this port, as a command finds it once it serves."""
    for _ in range(600):
        for running in (await running_servers(host)).values():
            if running.port == port and str(servers.script) in running.argv:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    servers.also(running.pid)
                    return running
        await asyncio.sleep(0.05)
    raise AssertionError(f"nothing serves on :{port}")


@contextlib.contextmanager
def by_a_person(script: str) -> Iterator[None]:
    """What an earlier launch has started, long after it."""
    with subprocess.Popen(
        ["sh", "-c", script],
        env={**os.environ, "EAGLETUI_LAUNCH": "earlier", "SGLANG_FAKE_WORKERS": "1"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ):
        yield


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


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


@pytest.mark.parametrize(
    "way", ["first & second & wait", "first & second & exit", "second & exec first"]
)
async def test_of_two_servers_of_one_script_the_other_stays(
    servers: Servers, host: LocalHost, way: str
) -> None:
    """They carry one mark, and may be of one group: it once went with the one that was stopped."""
    other = free_port()
    words = {"first": servers.port, "second": other}
    text = way
    for name, port in words.items():
        text = text.replace(name, f'"{sys.executable}" "{servers.script}" --port {port}')
    with by_a_person(text.replace(" & ", " &\n")):
        at = {port: await serving(host, servers, port) for port in words.values()}
        first, second = at[servers.port], at[other]
        theirs = {second.pid, *children(second.pid)}
        assert len(theirs) == 2
        _, told = await driven(host, None, first, limits=AT_ONCE)
        assert states(told)[-1] == "stopped", details(told)
        assert not alive(first.pid)
        assert {pid for pid in theirs if alive(pid)} == theirs
        assert (
            set(servers.mine()) - {pid for pid in servers.mine() if argv(pid)[0] == "sh"} == theirs
        )
        _, told = await driven(host, None, await serving(host, servers, other), limits=AT_ONCE)
        assert states(told)[-1] == "stopped"


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
