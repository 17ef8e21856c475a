"""The docker runner with a real docker."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.cli.profile_import import imported_server
from eagletui.control.api import Running
from eagletui.engine.command import parse_command
from eagletui.host.containers import named
from eagletui.host.local import LocalHost
from eagletui.host.processes import RawServer, find_servers
from eagletui.model.profile import Guard, StartPlan
from tests.control import dockerd
from tests.control.dockerd import docker, inspect
from tests.control.servers import READY, Servers, alive, argv, environ, stat, wait_for
from tests.control.test_restart import QUICK, details, driven, states

PYTHON = "/usr/bin/python3"
# Docker's client hands them on in an order of its own.
VOLUMES = tuple(word for at in "abcdef" for word in ("--volume", f"/usr/share:/volumes/{at}:ro"))
NASTY = (
    "; rm -rf ~",
    "$(touch /tmp/never) `id` $HOME",
    'it\'s "q" \\',
    "two\nlines",
    "東京 %n",
    "",
)
PATIENT = replace(QUICK, settle=0.3)
GUARD = Guard(drain_seconds=0.0, stop_seconds=60.0, roll_back="always")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with dockerd.daemon() as address, pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", address)
            dockerd.import_image(tmp_path_factory.mktemp("image"))
            yield address
    except dockerd.NoDocker as problem:
        pytest.skip(str(problem))


@pytest.fixture
def box(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    mine = Servers(tmp_path)
    monkeypatch.setenv("EAGLETUI_STATE", str(mine.state))
    monkeypatch.setenv("EAGLETUI_LOCK", str(mine.lock))
    monkeypatch.setenv("DOCKER_HOST", address)
    yield mine
    for name in dockerd.names():
        docker("rm", "--force", name)
    mine.end()


@pytest.fixture
async def host() -> AsyncIterator[LocalHost]:
    local = LocalHost()
    await local.connect()
    yield local
    await local.close()


def contained(box: Servers, *flags: str, options: tuple[str, ...] = ()) -> None:
    docker(
        "run", "--detach", "--name", "sgl", "--network", "host", "--ipc", "host",
        "--shm-size", "1g", "--ulimit", "nofile=4096:8192", "--restart", "unless-stopped",
        "--volume", "/usr:/usr:ro", *VOLUMES, "--cap-add", "SYS_NICE",
        "--mount", f"type=bind,source={box.folder},target=/srv,readonly",
        "--tmpfs", "/scratch:rw,size=64m", "--memory", "1g", "--cpus", "1.5",
        "--env", "NCCL_ALGO=Tree", "--env", "ODD=a\nb", "--env", "HF_TOKEN=hf_secret",
        "--label", "who=me", "--workdir", "/srv", "--init", "--log-opt", "max-size=10m",
        *options, dockerd.IMAGE, PYTHON, "/srv/sglang/launch_server.py",
        "--port", str(box.port), *flags,
    )  # fmt: skip
    wait_for(lambda: READY in logs("sgl"), "the container serves")


def logs(name: str) -> str:
    done = subprocess.run(["docker", "logs", name], capture_output=True, text=True)
    return done.stdout + done.stderr


async def found(box: Servers, host: LocalHost) -> RawServer:
    servers = (await find_servers(host)).servers
    [raw] = [raw for raw in servers if parse_command(raw.argv).port == box.port]
    return raw


def plan(raw: RawServer, *flags: str, **environment: str) -> StartPlan:
    command = parse_command(raw.argv)
    return StartPlan(
        argv=(*raw.argv, *flags),
        environment=environment,
        port=command.port,
        runner="docker",
        container=raw.container,
        profile="new",
        guard=GUARD,
    )


async def test_a_container_is_replaced_by_one_that_differs_in_its_words_alone(
    box: Servers, host: LocalHost
) -> None:
    contained(box)
    old, raw = inspect("sgl"), await found(box, host)
    assert raw.container == old["Id"]
    changed = plan(raw, "--served-model-name", *NASTY, NCCL_PROTO="LL", SECRET="s3cret\n$x")
    restart, told = await driven(host, changed, Running.of(raw, box.port), limits=PATIENT)
    assert states(told)[-1] == "ready", details(told)
    assert dockerd.names() == ["sgl"]
    new = inspect("sgl")
    assert new["Id"] != old["Id"]
    assert sorted(new["HostConfig"].pop("Binds")) == sorted(old["HostConfig"].pop("Binds"))
    assert new["HostConfig"] == old["HostConfig"]
    same = ("Labels", "User", "WorkingDir", "Image", "ExposedPorts", "StopSignal", "Tty")
    assert {k: new["Config"].get(k) for k in same} == {k: old["Config"].get(k) for k in same}
    now = await found(box, host)
    assert now.argv == changed.argv
    assert restart.pid == new["State"]["Pid"]
    has = environ(now.pid)
    assert has["OF_IMAGE"] == "1"
    assert has["NCCL_VERSION"] == "2.27"
    assert has["ODD"] == "a\nb"
    assert has["HF_TOKEN"] == "hf_secret"
    assert has["NCCL_PROTO"] == "LL"
    assert has["SECRET"] == "s3cret\n$x"
    assert "NCCL_ALGO" not in has
    assert not alive(raw.pid)
    assert os.readlink(f"/proc/{now.pid}/cwd") == "/srv"


async def test_a_container_that_fails_gives_way_to_the_old_one(
    box: Servers, host: LocalHost
) -> None:
    contained(box, "--tag", "old")
    old, raw = inspect("sgl"), await found(box, host)
    changed = plan(raw, SGLANG_FAKE_DIE="shards")
    restart, told = await driven(host, changed, Running.of(raw, box.port), limits=PATIENT)
    assert states(told)[-1] == "rolled-back", details(told)
    assert restart.standing.problem is not None
    assert restart.standing.problem.code.startswith("out-of-memory")
    assert dockerd.names() == ["sgl"]
    back = inspect("sgl")
    assert back["Id"] == old["Id"]
    assert back["HostConfig"] == old["HostConfig"]
    assert (await found(box, host)).argv == raw.argv
    [log] = (box.state / "logs").iterdir()
    assert "CUDA out of memory" in log.read_text()


async def test_stopped_it_stays_stopped_and_started_again_it_is_the_same(
    box: Servers, host: LocalHost
) -> None:
    contained(box)
    raw = await found(box, host)
    _, told = await driven(host, None, Running.of(raw, box.port), limits=PATIENT)
    assert states(told)[-1] == "stopped"
    assert inspect("sgl")["State"]["Status"] == "exited"
    assert stat(raw.pid) == []


async def test_one_that_removes_itself_is_made_again_as_it_was(
    box: Servers, host: LocalHost
) -> None:
    docker(
        "run", "--rm", "--detach", "--name", "sgl", "--network", "host", "--volume", "/usr:/usr:ro",
        "--volume", f"{box.folder}:/srv", "--env", "KEPT=1", dockerd.IMAGE, PYTHON,
        "/srv/sglang/launch_server.py", "--port", str(box.port), "--tag", "old",
    )  # fmt: skip
    wait_for(lambda: READY in logs("sgl"), "the container serves")
    raw = await found(box, host)
    changed = plan(raw, SGLANG_FAKE_NO_TOKEN="1")
    restart, told = await driven(host, changed, Running.of(raw, box.port), limits=PATIENT)
    assert "container-removes-itself" in [note.code for note in restart.notes]
    assert states(told)[-1] == "rolled-back", details(told)
    assert dockerd.names() == ["sgl"]
    now = await found(box, host)
    assert argv(now.pid) == list(raw.argv)
    assert environ(now.pid)["KEPT"] == "1"


async def test_what_docker_refuses_costs_nothing(box: Servers, host: LocalHost) -> None:
    contained(box)
    raw = await found(box, host)
    bad = replace(plan(raw), workdir="not absolute")
    restart, told = await driven(host, bad, Running.of(raw, box.port), limits=PATIENT)
    assert states(told)[-1] == "failed"
    assert "starting" not in states(told)
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "docker-failed"
    assert alive(raw.pid)
    assert dockerd.names() == ["sgl"]


async def test_an_imported_container_is_known_by_its_name_which_the_next_one_has_too(
    box: Servers, host: LocalHost
) -> None:
    contained(box)
    raw = await named(host, await found(box, host))
    server = imported_server(raw, name=None, place="here").profile.server
    assert (server.runner, server.container) == ("docker", "sgl")
    _, told = await driven(host, plan(raw), Running.of(raw, box.port), limits=PATIENT)
    assert states(told)[-1] == "ready", details(told)
    assert (await named(host, await found(box, host))).container == "sgl"


async def test_what_is_no_container_of_docker_keeps_its_id(box: Servers, host: LocalHost) -> None:
    contained(box)
    raw = replace(await found(box, host), container="f" * 64)
    assert await named(host, raw) == raw
