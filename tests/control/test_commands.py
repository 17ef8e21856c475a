"""`eagletui launch`, `stop` and `restart` as a person calls them, on this machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.control.servers import Servers, alive, argv, environ, wait_for

ROOT = Path(__file__).parents[2]


def command_line(*words: str) -> list[str]:
    return ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "eagletui", *words]


def started(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command_line(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def called(*words: str, status: int = 0) -> Any:
    command = started(*words)
    out, err = command.communicate(timeout=180)
    assert command.returncode == status, err.decode()
    return json.loads(out) if "--json" in words else out.decode() + err.decode()


def test_launch_replaces_and_stop_ends(servers: Servers) -> None:
    old = servers.start("--api-key", "hunter2-key")
    told = called(
        "launch", "--local", "--yes", "--force", "--json", "--settle", "0",
        "--env", "NCCL_ALGO=Ring", "--",
        *servers.argv("--tag", "new"),
    )  # fmt: skip
    assert told["state"] == "ready"
    assert told["ok"]
    assert argv(told["pid"]) == list(servers.argv("--tag", "new"))
    assert environ(told["pid"])["NCCL_ALGO"] == "Ring"
    servers.reap()
    assert not alive(old.pid)

    again = called(
        "restart", "--local", "--port", str(servers.port), "--yes", "--json", "--settle", "0"
    )
    assert again["state"] == "ready"
    assert argv(again["pid"]) == list(servers.argv("--tag", "new"))
    assert environ(again["pid"])["NCCL_ALGO"] == "Ring"
    assert not alive(told["pid"])

    text = called("stop", "--local", "--port", str(servers.port), "--yes")
    assert "The server is stopped; its port and its GPU memory are free." in text
    assert servers.mine() == []


@pytest.mark.parametrize(
    ("parts", "steps", "algorithm"),
    [(["chain-3"], "3", "Tree"), (["chain-2", "pcie-ll-ring"], "2", "Ring"),
     (["chain-2+pcie-ll-ring"], "2", "Ring")],
)  # fmt: skip
def test_a_part_is_laid_over_what_runs_as_on_the_screen(
    servers: Servers, parts: list[str], steps: str, algorithm: str
) -> None:
    flags = ("--model-path", "m", "--api-key", "hunter2-key", "--speculative-num-steps", "5")
    old = servers.start(*flags, NCCL_ALGO="Tree", HF_TOKEN="hunter2-token")
    words = ["launch", "--local", "--pid", str(old.pid), "--force", *parts]
    shown = called(*words, "--dry-run", status=1)
    assert f"--speculative-num-steps {steps}" in shown
    assert "hunter2" not in shown
    assert alive(old.pid)
    told = called(*words, "--yes", "--json", "--settle", "0")
    assert told["state"] == "ready"
    new = argv(told["pid"])
    assert new[new.index("--speculative-num-steps") + 1] == steps
    assert new[new.index("--api-key") + 1] == "hunter2-key"
    assert environ(told["pid"])["NCCL_ALGO"] == algorithm
    assert environ(told["pid"])["HF_TOKEN"] == "hunter2-token"
    servers.reap()
    assert servers.mine() == [told["pid"]]


def test_a_part_needs_a_server_that_runs(servers: Servers) -> None:
    said = called("launch", "--local", "--pid", "1", "--yes", "chain-3", status=1)
    assert "No SGLang server has pid 1." in said


def test_a_start_that_cannot_work_is_refused_before_anything_stops(servers: Servers) -> None:
    old = servers.start()
    said = called("launch", "--local", "--yes", "--", *servers.argv(), status=1)
    assert "[no-model]" in said
    assert "--force" in said
    assert servers.mine() == [old.pid]
    assert not servers.state.exists()


def test_a_launch_that_fails_puts_the_old_one_back_and_says_so(servers: Servers) -> None:
    servers.start("--tag", "old")
    told = called(
        "launch", "--local", "--yes", "--force", "--json", "--settle", "0",
        "--env", "SGLANG_FAKE_DIE=shards", "--",
        *servers.argv("--tag", "new"),
        status=1,
    )  # fmt: skip
    assert told["state"] == "rolled-back"
    assert not told["ok"]
    assert told["problem"]["code"].startswith("out-of-memory")
    [pid] = servers.mine()
    assert argv(pid) == list(servers.argv("--tag", "old"))


def test_a_dry_run_changes_nothing_and_hides_secrets(servers: Servers) -> None:
    old = servers.start("--api-key", "hunter2-old")
    text = called(
        "launch", "--local", "--dry-run", "--", *servers.argv("--api-key", "hunter2-new"),
        status=1,
    )  # fmt: skip
    assert "✖ no-model" in text
    assert f"pid {old.pid}" in text
    assert "hunter2" not in text
    assert "Nothing was changed" in text
    assert servers.mine() == [old.pid]
    assert not servers.state.exists()
    assert not servers.lock.exists()
    told = called(
        "launch", "--local", "--dry-run", "--json", "--", "/no/python", "--port", str(servers.port),
        status=1,
    )  # fmt: skip
    assert told["problem"] == "The host has no program /no/python."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["launch", "--local", "--force", "--", "sh", "--port", "1"],
            "nobody is there to be asked",
        ),
        (["launch", "--local", "--yes", "--read-only", "--", "x"], "--read-only"),
        (["stop", "--local", "--pid", "1", "--yes"], "No SGLang server has pid 1"),
        (["launch", "--local", "--yes"], "Nothing to launch"),
    ],
)
def test_what_is_refused(servers: Servers, words: list[str], said: str) -> None:
    assert said in called(*words, status=1 if "--read-only" in words else 2)


def test_ctrl_c_detaches_and_resume_goes_on(servers: Servers) -> None:
    servers.start()
    command = started(
        "launch",
        "--local",
        "--yes",
        "--force",
        "--settle",
        "30",
        "--",
        *servers.argv("--tag", "new"),
    )
    wait_for(
        lambda: [s for s in servers.launches() if s["standing"]["state"] == "settling"],
        "it serves",
    )
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=180)
    assert command.returncode == 130
    [state] = servers.launches()
    assert f"--resume {state['id']}".encode() in err
    assert alive(state["new"]["pid"])
    told = called(
        "launch", "--local", "--yes", "--json", "--settle", "0", "--resume",
        state["id"],
    )  # fmt: skip
    assert told["state"] == "ready"
    assert told["pid"] == state["new"]["pid"]
    assert not servers.lock.exists()


def test_no_wait_leaves_the_launch_to_whoever_comes(servers: Servers) -> None:
    servers.start()
    told = called(
        "launch", "--local", "--yes", "--force", "--json", "--no-wait",
        "--env", "SGLANG_FAKE_STALL=1", "--",
        *servers.argv("--tag", "new"),
    )  # fmt: skip
    assert (told["state"], told["ok"], told["unattended"]) == ("loading", True, True)
    assert not servers.lock.exists()
    [state] = servers.launches()
    assert state["unattended"] >= state["began"]
    assert "ended" not in state
    servers.script.with_name("told").touch()
    told = called(
        "launch", "--local", "--json", "--settle", "0", "--resume", state["id"],
    )  # fmt: skip
    assert told["state"] == "ready"
    [state] = servers.launches()
    assert (state["unattended"], "ended" in state) == (None, True)
    assert not servers.lock.exists()
