"""What a new server's environment is made of."""

from __future__ import annotations

import contextlib
import os
import pwd
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.host.local import LocalHost
from eagletui.hostside.agent import environment
from tests.control.servers import Servers, environ
from tests.control.test_restart import QUICK, driven, states

AT_ONCE = replace(QUICK, settle=0.0)


async def test_a_successor_has_what_its_predecessor_had_but_for_the_tuning(
    servers: Servers, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = servers.start(
        HF_HOME="/models", NCCL_PROTO="LL", CUDA_HOME="/usr/local/cuda", SSH_CLIENT="1.2.3.4 5 6"
    )
    monkeypatch.setenv("OF_THIS_SESSION", "1")
    restart, told = await driven(
        host, servers.plan(environment={"NCCL_ALGO": "Ring"}), old, limits=AT_ONCE
    )
    assert states(told)[-1] == "ready"
    assert restart.pid is not None
    has = environ(restart.pid)
    assert has["HF_HOME"] == "/models"
    assert has["WAS_HERE"] == "before"
    assert has["CUDA_HOME"] == "/usr/local/cuda"
    assert has["NCCL_ALGO"] == "Ring"
    assert "NCCL_PROTO" not in has
    assert "SSH_CLIENT" not in has
    assert "OF_THIS_SESSION" not in has


async def test_the_first_server_has_a_login_s_environment(
    servers: Servers, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THIS_SESSION", "1")
    monkeypatch.setenv("HOME", str(servers.folder))
    (servers.folder / ".profile").write_text("echo Welcome=1\nexport FROM_PROFILE='a\nb'\n")
    (servers.folder / ".bash_profile").write_text(". ~/.profile\n")
    (servers.folder / ".zprofile").write_text(". ~/.profile\n")
    restart, told = await driven(host, servers.plan(), None, limits=AT_ONCE)
    assert states(told)[-1] == "ready"
    assert restart.pid is not None
    has = environ(restart.pid)
    assert has["FROM_PROFILE"] == "a\nb"
    assert has["HOME"] == str(servers.folder)
    assert "OF_THIS_SESSION" not in has
    assert not any("Welcome" in name for name in has)


@pytest.mark.parametrize("shell", ["/bin/false", "/nowhere/sh", "hangs"])
def test_without_a_login_shell_the_session_s_environment_has_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    if shell == "hangs":
        monkeypatch.setattr(environment, "LOGIN_LIMIT", 0.2)
        path = tmp_path / "sh"
        path.write_text("#!/bin/sh\nexec sleep 60\n")
        path.chmod(0o755)
        shell = str(path)
    account = pwd.getpwuid(os.geteuid())
    fields = (*account[:6], shell)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: type(account)(fields))
    assert environment.login()["PATH"] == environ(os.getpid())["PATH"]


def test_no_variable_of_a_session_or_of_a_unit_s_start_is_handed_on() -> None:
    before = {
        "PATH": "/bin", "SSH_TTY": "x", "TMUX": "x", "INVOCATION_ID": "x", "JOURNAL_STREAM": "x",
        "EAGLETUI_LAUNCH": "x", "SGLANG_X": "x", "CUDA_VISIBLE_DEVICES": "0", "NCCL_VERSION": "2",
        "HF_TOKEN": "t", "LD_PRELOAD": "p",
    }  # fmt: skip
    assert environment.handed_on(before) == {
        "PATH": "/bin", "NCCL_VERSION": "2", "HF_TOKEN": "t", "LD_PRELOAD": "p",
    }  # fmt: skip


def full(folder: Path, size: str) -> bool:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    return subprocess.run(mount, capture_output=True).returncode == 0


def fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def emptied(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("what", ["record", "lock", "log"])
async def test_a_full_disk_ends_in_a_state_with_a_name(
    servers: Servers, host: LocalHost, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = servers.folder / "small"
    if not full(folder, "2m" if what == "log" else "64k"):
        pytest.skip("no file system may be mounted here")
    try:
        old = servers.start("--tag", "old")
        if what != "log":
            (folder / "filler").write_bytes(b"x" * (60 << 10))
            if what == "record":
                servers.state.symlink_to(folder)
            else:
                monkeypatch.setenv("EAGLETUI_LOCK", str(folder / "lock"))
            fill(folder / "more")
        else:
            (folder / "filler").write_bytes(b"x" * (3 << 19))
        plan = servers.plan(log=str(folder / "x.log") if what == "log" else "")
        restart, told = await driven(host, plan, old, limits=AT_ONCE)
        assert restart.standing.problem is not None
        assert restart.standing.problem.code == "disk-full"
        if what != "log":
            assert states(told) == ["checking", "saving", "failed"]
            assert servers.mine() == [old.pid]
            assert not servers.lock.exists()
        else:
            assert states(told)[-1] == "rolled-back"
            servers.reap()
            assert len(servers.mine()) == 1
    finally:
        emptied(folder)
