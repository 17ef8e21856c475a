"""The agent's own judgement: whose process it is, what belongs to a server, what is told."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eagletui.control.agent import AGENT, Agent, AgentRefused, sent
from eagletui.control.problems import _WORDS, QUIET, lock_words, problem
from eagletui.host.local import LocalHost
from eagletui.hostside.agent import bootstrap, requests, runner
from eagletui.hostside.agent.base import Refused
from eagletui.hostside.agent.processes import unit_of
from tests.control.servers import Servers, alive, stat


@contextlib.contextmanager
def sleeping(user: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody's process in a session of its own."""
    with subprocess.Popen(["sleep", "60"], user=user, start_new_session=True) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/user.slice/user-1000.slice/session-3.scope\n", ""),
        ("0::/system.slice/sglang.service\n", "sglang.service"),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/llm.service\n",
            "llm.service",
        ),
        ("0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope\n", ""),
        ("9:name=systemd:/\n0::/\n", ""),
    ],
)
def test_which_processes_have_a_manager(cgroup: str, unit: str) -> None:
    assert unit_of(cgroup.encode()) == unit


def test_what_a_unit_or_container_runs_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with sleeping() as process:
        server = {"pid": process.pid, "start": int(stat(process.pid)[19])}
        assert runner.recognised(server)["runner"] == "process"
        monkeypatch.setattr(runner, "manager_of", lambda pid: "the systemd unit x.service")
        with pytest.raises(Refused) as refused:
            runner.recognised(server)
        assert refused.value.code == "managed"
        assert alive(process.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to start another user's process")
async def test_another_user_s_server_is_refused(servers: Servers, host: LocalHost) -> None:
    with sleeping(user=65534) as process:
        target = {"pid": process.pid, "start": int(stat(process.pid)[19]), "port": servers.port}
        with pytest.raises(AgentRefused, match="another user"):
            await Agent(host).ask("check", launch="x", target=target)
        assert alive(process.pid)


@pytest.mark.parametrize("version", ["3", "3.8", "3.9", "3.12", "3.14"])
def test_the_agent_runs_in_old_and_new_pythons(version: str) -> None:
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-V"], capture_output=True).returncode:
        pytest.skip(f"no Python {version} here")
    program = Path(bootstrap.__file__).read_text("utf-8")
    document = json.loads(sent())
    modules = [name for name, text in document["sources"].items() if text]
    assert len(modules) > 10
    imports = "".join(f"import {name}\n" for name in modules)
    document["sources"]["every"] = f"{imports}from {AGENT}.service import serve\n"
    document["main"] = "every"
    modules_of_it = json.dumps(document).encode()
    done = subprocess.run(
        [python, "-I", "-S", "-X", "utf8", "-c", program, str(len(modules_of_it))],
        input=modules_of_it + b'{"id": 1, "do": "list"}\n',
        capture_output=True,
    )
    assert done.stderr == b""


async def test_a_host_without_python_is_told_so(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagletui.host.python.USUAL", ("/nowhere/python3",))
    with pytest.raises(AgentRefused, match="No Python"):
        await Agent(host).ask("list")
    # The server's own will do.
    assert "launches" in await Agent(host, [sys.executable]).ask("list")


async def test_a_persons_script_is_never_taken_for_a_python(
    host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a host whose own Python is missing or too old, a check would have started their server."""
    monkeypatch.setattr("eagletui.host.python.USUAL", ("/nowhere/python3",))
    for name in ("serve.sh", "sglang", "python-serve", "bash"):
        script = tmp_path / name
        script.write_text('#!/bin/sh\ntouch "$0.was-run"\n')
        script.chmod(0o755)
        with pytest.raises(AgentRefused, match=r"No Python from 3\.8 on"):
            await Agent(host, [str(script), name]).ask("list")
    assert len(os.listdir(tmp_path)) == 4


def test_every_refusal_has_words_and_advice() -> None:
    folder = Path(requests.__file__).parent
    text = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    codes = set(re.findall(r'(?:Refused|\bnote)\(\s*"([a-z-]+)"', text))
    assert codes >= {"gone", "locked", "port-taken", "managed"}
    assert codes - {"bad-request"} <= set(_WORDS)
    notes = set(re.findall(r'\bnote\(\s*"([a-z-]+)"', text))
    assert [code for code, words in _WORDS.items() if not words.advice and code not in notes] == []


def test_words_hold_no_secret_and_move_no_cursor() -> None:
    found = problem("not-started", {"path": "\x1b[2Jx", "detail": "--api-key hunter2-secret"})
    assert found.title == "x could not be started: --api-key •••."


def test_a_lock_says_who_and_since_when() -> None:
    held = {"user": "ann", "host": "desk", "what": "launching a on :1", "quiet": 3.0}
    title, advice = lock_words(held)
    assert title == (
        "ann@desk is in the middle of launching a on :1 on this host; last sign of life 3 s ago."
    )
    assert "Wait" in advice
    assert "--resume L" in lock_words({**held, "quiet": QUIET, "launch": "L"})[1]
