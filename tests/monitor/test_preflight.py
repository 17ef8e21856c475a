"""Everything a check may know of a host, put together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.engine.check.asked import interpreter, question
from eagletui.engine.check.run import check
from eagletui.host.base import Completed
from eagletui.model.errors import CommandTimeout, ConnectionLost
from eagletui.model.finding import GpuHolder, HostFacts, ModelFiles, Option
from eagletui.model.profile import StartPlan
from eagletui.model.text import visible
from eagletui.monitor.preflight import FEW_OPTIONS, host_facts
from eagletui.simulator.help import help_text
from eagletui.store.installations import InstallationMemory

HELP = "\n".join(f"  --flag-{number} X" for number in range(FEW_OPTIONS)) + "\n"
OPTIONS = tuple(Option(flags=(f"--flag-{number}",)) for number in range(FEW_OPTIONS))
PLAN = StartPlan(
    argv=("/opt/py/bin/python3", "-m", "sglang.launch_server", "--model-path", "/m"),
    environment={"NCCL_GRAPH_FILE": "/g.xml"},
    port=30001,
)
LOOK = {
    "python": "/opt/py/bin/python3.11",
    "version": "0.5.16",
    "changed": 12.5,
    "sglang_problem": "",
    "target": {"path": "/m", "problem": "", "local": True, "config": {"vocab_size": 3}},
    "port_taken": True,
    "port_pid": 7,
    "port_holder": "nginx",
    "log_free": 5,
    "readable": {"/g.xml": True},
    "names": {"7": "python\x1b[31m", "8": "other"},
}
_UUIDS = b"GPU-a, 0\nGPU-b, 1\n"
_ROW = b"%d, H200, GPU-%s, 0, 90, 700, 1, 2, 30, 1000, 0x0\n"


class Machine:
    """A host that answers from a table, by the first word that fits."""

    name = "h"

    def __init__(self, **answers: bytes | Exception) -> None:
        usual: dict[str, bytes | Exception] = {
            "look": json.dumps(LOOK).encode(),
            "--help": HELP.encode(),
            "compute": b"7, GPU-a, 1000\n8, GPU-b, 2000\n",
            "uuid,index": _UUIDS,
            "--query-gpu": _ROW % (0, b"a") + _ROW % (1, b"b"),
            "topo": b"\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n",
        }
        self.answers = usual | answers
        self.asked: list[list[str]] = []

    async def run(self, argv: Sequence[str], **_: Any) -> Completed:
        self.asked.append(list(argv))
        line = " ".join(argv)
        word = next((word for word in self.answers if word in line), "look")
        answer = self.answers[word]
        if isinstance(answer, Exception):
            raise answer
        return Completed(status=0, stdout=answer, stderr=b"")


async def facts(machine: Machine, folder: Path, plan: StartPlan = PLAN, **more: Any) -> HostFacts:
    memory = InstallationMemory(folder)
    return await host_facts(machine, plan, memory=memory, **more)  # type: ignore[arg-type]


async def test_all_of_it(tmp_path: Path) -> None:
    machine = Machine()
    assert await facts(machine, tmp_path, loading=(":30009",)) == HostFacts(
        version="0.5.16",
        options=OPTIONS,
        target=ModelFiles(path="/m", config={"vocab_size": 3}),
        port_holder="nginx (pid 7)",
        nvlink=True,
        gpu_count=2,
        holders=(
            GpuHolder(pid=7, gpu=0, memory_used=1000, name=visible("python\x1b[31m")),
            GpuHolder(pid=8, gpu=1, memory_used=2000, name="other"),
        ),
        loading=(":30009",),
        log_free=5,
        readable={"/g.xml": True},
    )
    look = next(argv for argv in machine.asked if argv[1:2] == ["-"])
    assert look[0] == "/opt/py/bin/python3"
    said = json.loads(look[2])
    assert (said["port"], said["target"], said["files"]) == (30001, "/m", ["/g.xml"])
    assert (said["sglang"], said["pids"]) == (True, [7, 8])


async def test_help_is_asked_once_for_an_installation(tmp_path: Path) -> None:
    first, second = Machine(), Machine()
    await facts(first, tmp_path)
    found = await facts(second, tmp_path)
    assert [sum("--help" in argv for argv in m.asked) for m in (first, second)] == [1, 0]
    assert found.options == OPTIONS
    moved = Machine(look=json.dumps(LOOK | {"changed": 13.0}).encode())
    await facts(moved, tmp_path)
    assert sum("--help" in argv for argv in moved.asked) == 1


async def test_who_holds_a_port_that_a_container_publishes_is_not_said(tmp_path: Path) -> None:
    """It is docker's own proxy, which goes with the container."""
    plan = replace(PLAN, runner="docker", container="sgl")
    assert (await facts(Machine(), tmp_path, plan, leaving={8})).port_holder is None
    assert (await facts(Machine(), tmp_path, plan)).port_holder == "nginx (pid 7)"


async def test_what_will_be_gone_holds_nothing(tmp_path: Path) -> None:
    found = await facts(Machine(), tmp_path, leaving={7})
    assert found.port_holder == ""
    assert [holder.pid for holder in found.holders] == [8]


async def test_a_host_without_gpus(tmp_path: Path) -> None:
    lost = ConnectionLost("no nvidia-smi")
    machine = Machine(compute=lost, topo=lost)
    machine.answers["--query-gpu"] = lost
    found = await facts(machine, tmp_path)
    assert (found.holders, found.gpu_count, found.nvlink) == ((), None, None)
    assert found.version == "0.5.16"


async def test_a_help_that_is_something_else_is_not_believed(tmp_path: Path) -> None:
    found = await facts(Machine(**{"--help": b"usage: other\n  --flag X\n"}), tmp_path)
    assert found.options is None
    assert found.options_problem == "SGLang's --help names 1 options, which cannot be all."
    assert (await facts(Machine(), tmp_path)).options == OPTIONS


async def test_a_help_that_breaks_off_is_not_believed(tmp_path: Path) -> None:
    """Every flag behind the break would have been called unknown."""
    whole = help_text("0.5.16")
    lines = whole.splitlines(keepends=True)
    half = "".join(lines[: -len(lines) // 4])
    found = await facts(Machine(**{"--help": half.encode()}), tmp_path)
    assert found.options is None
    assert found.options_problem.startswith("SGLang's --help breaks off: it tells ")
    [said] = [one for one in check(PLAN, facts=found) if one.code == "help-unread"]
    assert said.severity == "warning"
    found = await facts(Machine(**{"--help": whole.encode()}), tmp_path)
    assert found.options_problem == ""
    assert "help-unread" not in {one.code for one in check(PLAN, facts=found)}


async def test_a_help_that_fails_is_said_and_asked_for_again(tmp_path: Path) -> None:
    """Once the flags were checked by a table that may differ, and nobody was told."""
    failing = Machine(**{"--help": CommandTimeout("`env` did not end within 120 s on h.")})
    found = await facts(failing, tmp_path)
    assert (found.options, found.version) == (None, "0.5.16")
    [said] = [one for one in check(PLAN, facts=found) if one.code == "help-unread"]
    assert said.severity == "warning"
    assert said.message == (
        "`env` did not end within 120 s on h. The flags are checked by what is known of release "
        "0.5.16 instead, which this installation may differ from."
    )
    found = await facts(Machine(), tmp_path)
    assert (found.options, found.options_problem) == (OPTIONS, "")


async def test_a_python_without_sglang_is_a_problem(tmp_path: Path) -> None:
    look = json.dumps({"python": "p", "sglang_problem": "p has no SGLang."}).encode()
    found = await facts(Machine(look=look), tmp_path)
    assert (found.problem, found.options, found.port_holder) == ("p has no SGLang.", None, None)


@pytest.mark.parametrize(
    ("argv", "python"),
    [
        ("/a/python3.11 -m sglang.launch_server --x", "/a/python3.11"),
        ("env A=1 python -m sglang.launch_server", "python"),
        ("/v/bin/sglang serve m", "/v/bin/python"),
        ("sglang serve m", None),
        ("./run.sh --x python", None),
    ],
)
def test_which_python_runs_the_server(argv: str, python: str | None) -> None:
    assert interpreter(tuple(argv.split())) == python


def test_what_is_asked() -> None:
    words = (
        "sglang serve /m --speculative-draft-model-path d --host 0.0.0.0 --chat-template t.jinja"
        " --speculative-adaptive-config /c.json --speculative-algorithm EAGLE3"
    )
    asked = question(StartPlan(argv=tuple(words.split()), port=5, workdir="/w", log="l"))
    assert (asked.python, asked.sglang) == ("python3", False)
    assert (asked.target, asked.draft, asked.address, asked.port) == ("/m", "d", "0.0.0.0", 5)
    assert (asked.workdir, asked.log) == ("/w", "l")
    assert asked.files == ("/c.json", "t.jinja")


async def test_the_servers_python_is_asked_with_the_servers_paths(tmp_path: Path) -> None:
    machine = Machine()
    plan = replace(
        PLAN,
        environment={"PYTHONPATH": "/opt/site", "HF_TOKEN": "hf_x", "LD_LIBRARY_PATH": "/l"},
    )
    memory = InstallationMemory(tmp_path)
    await host_facts(machine, plan, memory=memory)  # type: ignore[arg-type]
    called = [argv for argv in machine.asked if argv[0] == "env"]
    assert [argv[:3] for argv in called] == [
        ["env", "PYTHONPATH=/opt/site", "LD_LIBRARY_PATH=/l"]
    ] * 2
    assert not any(
        "hf_x" in word or "environment" in word for argv in machine.asked for word in argv
    )


def test_a_containers_files_are_not_looked_for_on_its_host() -> None:
    asked = question(StartPlan(argv=PLAN.argv, environment=PLAN.environment, runner="docker"))
    assert (asked.target, asked.files, asked.sglang) == ("", (), False)
