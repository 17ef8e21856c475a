"""Asking a machine before a start: the script that runs there, and what is made of its answer."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eagletui.host.base import Completed, Host
from eagletui.host.installation import Look, look_at, read_help
from eagletui.host.local import LocalHost
from eagletui.host.topology import parse_topology
from eagletui.model.errors import HostError

ODD = "a b'; $(touch x) \"é"


def asked(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "sglang": False,
        "target": "",
        "draft": "",
        "address": "127.0.0.1",
        "port": free_port(),
        "workdir": str(folder),
        "log": "logs/server.log",
        "files": [],
        "pids": [],
    } | changes


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def model(folder: Path, name: str, config: object) -> Path:
    path = folder / name
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    return path


async def test_a_model_is_read_by_path(host: Host, tmp_path: Path) -> None:
    model(tmp_path, ODD, {"vocab_size": 7, "architectures": ["X"]})
    found = await look_at(host, sys.executable, asked(tmp_path, target=f"./{ODD}"))
    assert found.target is not None
    assert (found.target.path, found.target.problem) == (f"./{ODD}", "")
    assert found.target.config == {"vocab_size": 7, "architectures": ["X"]}
    assert "x" not in os.listdir(tmp_path)


async def test_what_is_wrong_with_a_model_is_said(local: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    model(tmp_path, "list", [1])
    problems = {}
    for name in ("empty", "broken", "list", "/no/such/place", "one/two/three"):
        found = await look_at(local, sys.executable, asked(tmp_path, target=name))
        assert found.target is not None
        problems[name] = found.target.problem
    assert problems == {
        "empty": "the folder has no config.json",
        "broken": "its config.json is no valid JSON",
        "list": "its config.json is no JSON object",
        "/no/such/place": "there is no such folder",
        "one/two/three": "there is no such folder",
    }


async def test_a_name_on_a_hub_is_no_problem(
    local: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    found = await look_at(local, sys.executable, asked(tmp_path, draft="org/name"))
    assert found.draft is not None
    assert (found.draft.local, found.draft.problem, found.draft.config) == (False, "", {})
    snapshot = tmp_path / "hub" / "models--org--name" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"vocab_size": 9}')
    found = await look_at(local, sys.executable, asked(tmp_path, draft="org/name"))
    assert found.draft is not None
    assert (found.draft.local, found.draft.config) == (False, {"vocab_size": 9})


async def test_a_taken_port_tells_who(local: LocalHost, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        found = await look_at(local, sys.executable, asked(tmp_path, port=port))
    assert found.port_taken is True
    if sys.platform == "linux":
        assert found.port_pid == os.getpid()
        assert found.port_holder
    found = await look_at(local, sys.executable, asked(tmp_path, port=port))
    assert (found.port_taken, found.port_pid, found.port_holder) == (False, None, "")


async def test_disk_files_and_names(local: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    wanted = asked(
        tmp_path, files=["there", "missing", str(tmp_path / "there")], pids=[os.getpid()]
    )
    found = await look_at(local, sys.executable, wanted)
    assert found.readable == {"there": True, "missing": False, str(tmp_path / "there"): True}
    assert found.log_free is not None
    assert found.log_free > 0
    assert set(found.names) == {str(os.getpid())}


async def test_a_python_without_sglang_says_so(local: LocalHost, tmp_path: Path) -> None:
    found = await look_at(local, sys.executable, asked(tmp_path, sglang=True))
    assert found.sglang_problem.endswith("has no SGLang.")
    assert (found.version, found.problem) == ("", "")


async def test_a_python_with_it_tells_version_and_place(
    local: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "sglang-0.5.16.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.16\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = await look_at(local, sys.executable, asked(tmp_path, sglang=True))
    assert (found.version, found.sglang_problem) == ("0.5.16", "")
    assert found.changed == pytest.approx(info.stat().st_mtime)
    key = found.key("h")
    assert key.startswith(f"h|{found.python}|0.5.16|")
    os.utime(info, (1, 1))
    again = await look_at(local, sys.executable, asked(tmp_path, sglang=True))
    assert again.key("h") != key


async def test_what_the_servers_environment_points_to_counts(host: Host, tmp_path: Path) -> None:
    info = tmp_path / ODD / "sglang-0.5.16.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.16\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "servers-python").symlink_to(sys.executable)
    environment = {
        "PYTHONPATH": str(tmp_path / ODD),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }
    wanted = asked(tmp_path, sglang=True)
    found = await look_at(host, "servers-python", wanted, environment=environment)
    assert (found.version, found.sglang_problem, found.problem) == ("0.5.16", "", "")
    missing = await look_at(host, "no-such-python", wanted, environment=environment)
    assert missing == Look(problem="There is no no-such-python on the host.")


async def test_a_host_without_that_python(host: Host, tmp_path: Path) -> None:
    found = await look_at(host, "/no/such/python", asked(tmp_path))
    assert found == Look(problem="There is no /no/such/python on the host.")


async def test_a_python_that_does_not_run(local: LocalHost, tmp_path: Path) -> None:
    found = await look_at(local, "false", asked(tmp_path))
    assert found.problem == "false does not run on the host: it says nothing."


class Answering:
    name = "h"

    def __init__(self, done: Completed) -> None:
        self.done = done
        self.asked: list[list[str]] = []

    async def run(self, argv: Sequence[str], **_: Any) -> Completed:
        self.asked.append(list(argv))
        return self.done


async def test_help_is_asked_as_an_argument_vector() -> None:
    host = Answering(Completed(status=0, stdout=b"usage: x\n", stderr=b"noise"))
    assert await read_help(host, "/opt/py") == "usage: x\n"  # type: ignore[arg-type]
    await read_help(host, "py", environment={"PYTHONPATH": "/a b"})  # type: ignore[arg-type]
    command = ["-m", "sglang.launch_server", "--help"]
    assert host.asked == [["/opt/py", *command], ["env", "PYTHONPATH=/a b", "py", *command]]


async def test_a_help_that_fails_says_why() -> None:
    host = Answering(
        Completed(status=1, stdout=b"", stderr=b"Trace\nImportError: \x1b[31mno torch")
    )
    with pytest.raises(HostError, match=r"ImportError: .*no torch") as caught:
        await read_help(host, "py")  # type: ignore[arg-type]
    assert "\x1b" not in str(caught.value)


# --- topology ----------------------------------------------------------------------------------

_LINKED = """\
\x1b[4m\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0\t X \tNV18\tNV18\t0-31\t0
GPU1\tNV18\t X \tNV18\t0-31\t0
GPU2\tNV18\tNV18\t X \t0-31\t0
"""
_PCIE = """\
\tGPU0\tGPU1\tNIC0\tCPU Affinity
GPU0\t X \tNODE\tSYS\t0-31
GPU1\tNODE\t X \tSYS\t0-31
NIC0\tSYS\tSYS\t X
"""


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        (_LINKED, True),
        (_PCIE, False),
        (_LINKED.replace("GPU2\tNV18\tNV18", "GPU2\tSYS\tNV18"), False),
        (_LINKED.rpartition("GPU2")[0], None),
        ("", None),
        ("\tGPU0\tCPU Affinity\nGPU0\t X \t0-31\n", None),
    ],
)
def test_how_gpus_are_linked(text: str, linked: bool | None) -> None:
    assert parse_topology(text) is linked
