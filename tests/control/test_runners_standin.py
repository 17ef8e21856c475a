"""Docker and systemd through a stand-in that writes down what it is told."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.cli.switch_asking import HostAsking
from eagletui.control.agent import Agent
from eagletui.control.api import Owner, Running
from eagletui.control.restart import Restart
from eagletui.host.local import LocalHost
from eagletui.hostside.agent.unit_end import EXITED, FAILED
from eagletui.model.errors import ConnectionLost
from eagletui.model.profile import Guard, StartPlan
from eagletui.store.installations import InstallationMemory
from tests.control.abandon import Job
from tests.control.servers import Servers, alive, argv, environ, wait_for
from tests.control.test_restart import ANN, QUICK, details, driven, states
from tests.control.test_resume import Flaky, Unplugged, killed_in, left_behind

OLD = "a" * 64
UNIT = "llm.service"
AT_ONCE = replace(QUICK, settle=0.2)
GUARD = Guard(drain_seconds=0.0, stop_seconds=60.0, roll_back="always")
WAY = ("saving", "stopping", "starting", "loading")


class Tools:
    """The stand-ins, and what they were told."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.folder = servers.folder / "tools"
        (self.folder / "units").mkdir(parents=True)
        for name in ("docker", "systemctl", "journalctl"):
            path = self.folder / name
            text = Path(__file__).with_name("fake_tools.py").read_text()
            path.write_text(text.replace("/usr/bin/env python3", f"{sys.executable} -IS", 1))
            path.chmod(0o755)

    def save(self, name: str, value: Any) -> None:
        (self.folder / name).write_text(json.dumps(value))

    def load(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    def calls(self, *, but: tuple[str, ...] = ("inspect", "show", "logs")) -> list[list[str]]:
        """Every argument vector, but for those that only look."""
        path = self.folder / "calls"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return [
            row for row in rows if not set(row[1:4]) & set(but) and "--property" not in str(row)
        ]

    def containers(self) -> dict[str, Any]:
        return {about["Name"]: about for about in self.load("containers.json").values()}

    def container(self, *flags: str, labels: dict[str, str] | None = None, **host: Any) -> Running:
        """A container with a server in it."""
        old = self.servers.start(*flags, NCCL_ALGO="Tree", HF_TOKEN="hf_secret")
        env = ["NCCL_ALGO=Tree", "HF_TOKEN=hf_secret", f"PATH={os.environ['PATH']}"]
        about = {
            "Id": OLD,
            "Name": "/sgl",
            "Image": "sha256:image",
            "Config": {"Entrypoint": None, "Cmd": list(old.argv), "Env": env, "Image": "lmsys:1",
                       "Labels": labels or {}, "WorkingDir": str(self.servers.folder)},
            "HostConfig": {"NetworkMode": "host", "RestartPolicy": {"Name": "always"}, **host},
            "State": {"Pid": old.pid, "Running": True},
        }  # fmt: skip
        self.save("containers.json", {OLD: about})
        self.save("template.json", about)
        return replace(old, container=OLD)

    def unit(self, *flags: str) -> Running:
        """A unit with a server."""
        old = self.servers.start(*flags, NCCL_ALGO="Tree")
        own = list(old.argv)
        unit = {"Id": UNIT, "own": own, "argv": own, "MainPID": old.pid, "environment": {}}
        self.save("unit.json", unit)
        text = f"[Service]\nStandardError = append:{self.folder}/unit.log\n"
        (self.folder / UNIT).write_text(text)
        return replace(old, unit=UNIT)

    def docker_plan(self, *flags: str, **environment: str) -> StartPlan:
        return replace(
            self.servers.plan(*flags, environment=environment, guard=GUARD),
            runner="docker",
            container="sgl",
        )

    def unit_plan(self, *flags: str, **environment: str) -> StartPlan:
        return replace(
            self.servers.plan(*flags, environment=environment, guard=GUARD),
            runner="systemd",
            unit=UNIT,
        )

    def end(self) -> None:
        # What starts or ends a server is told while nobody can break the lock.
        assert not (self.folder / "unguarded").exists(), self.load("unguarded")
        # And nobody is kept from the lock while one only looks, waits or saves a log.
        assert not (self.folder / "dawdled").exists(), self.load("dawdled")
        pids = []
        if (self.folder / "containers.json").exists():
            pids += [about["State"]["Pid"] for about in self.containers().values()]
        if (self.folder / "unit.json").exists():
            pids.append(self.load("unit.json")["MainPID"])
        for pid in (pid for pid in pids if pid in self.servers.mine()):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def tools(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    mine = Tools(servers)
    monkeypatch.setenv("PATH", f"{mine.folder}:{os.environ['PATH']}")
    monkeypatch.setenv("TOOL_STATE", str(mine.folder))
    yield mine
    mine.end()


async def test_a_container_is_replaced_in_these_very_words(tools: Tools, host: LocalHost) -> None:
    old = tools.container(ShmSize=1 << 34, Binds=["/models:/models:ro"], IpcMode="host")
    restart, told = await driven(host, tools.docker_plan("--tag", "$(x)", SECRET="s3"), old,
                                 limits=AT_ONCE)  # fmt: skip
    assert states(told)[-1] == "ready", details(told)
    launch = restart.launch
    [(name, new)] = tools.containers().items()
    assert name == "/sgl"
    assert tools.calls() == [
        ["docker", "create", "--volume", "/models:/models:ro", "--network", "host",
         "--restart", "always", "--shm-size", "17179869184", "--ipc", "host",
         "--name", f"sgl-{launch}", "--workdir", str(tools.servers.folder),
         "--env", "HF_TOKEN", "--env", f"PATH={new['Config']['Env'][1][5:]}",
         "--env", "SECRET", "--env", "EAGLETUI_LAUNCH",
         "lmsys:1", *tools.servers.argv("--tag", "$(x)")],
        ["docker", "stop", "-t", "60", OLD],
        ["docker", "rename", OLD, f"sgl-before-{launch}"],
        ["docker", "update", "--restart=no", OLD],
        ["docker", "rename", new["Id"], "sgl"],
        ["docker", "start", new["Id"]],
        ["docker", "rm", OLD],
    ]  # fmt: skip
    pid = new["State"]["Pid"]
    assert restart.pid == pid
    assert argv(pid) == list(tools.servers.argv("--tag", "$(x)"))
    has = environ(pid)
    assert (has["SECRET"], has["HF_TOKEN"], has["EAGLETUI_LAUNCH"]) == ("s3", "hf_secret", launch)
    assert "NCCL_ALGO" not in has
    tools.servers.reap()
    assert not alive(old.pid)


@pytest.mark.parametrize("takes_long", [False, True])
async def test_a_container_that_fails_is_removed_and_the_old_one_has_its_name_and_policy(
    tools: Tools, host: LocalHost, takes_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if takes_long:  # it is over before anybody looks
        monkeypatch.setenv("START_TAKES_LONG", "1")
    old = tools.container("--tag", "old")
    restart, told = await driven(
        host, tools.docker_plan(SGLANG_FAKE_DIE="shards"), old, limits=AT_ONCE
    )
    assert states(told)[-1] == "rolled-back", details(told)
    assert restart.standing.problem is not None
    assert restart.standing.problem.code.startswith("out-of-memory")
    [(name, back)] = tools.containers().items()
    assert (name, back["Id"]) == ("/sgl", OLD)
    assert back["HostConfig"]["RestartPolicy"] == {"Name": "always"}
    new = tools.calls()[4][2]
    assert tools.calls()[5:] == [
        ["docker", "start", new],
        ["docker", "rm", "--force", new],
        ["docker", "rename", OLD, "sgl"],
        ["docker", "update", "--restart=always", OLD],
        ["docker", "start", OLD],
    ]
    assert restart.pid == back["State"]["Pid"]


@pytest.mark.parametrize("when", ["stopping", "settling"])
async def test_docker_may_be_late_with_what_became_of_a_container(
    tools: Tools, host: LocalHost, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A dead one still counts as running, a `--rm` one goes slowly, and its name is free last."""
    binds = ["/a:/a", "/b:/b", "/c:/c"]
    old = tools.container("--tag", "old", AutoRemove=True, Binds=binds)
    monkeypatch.setenv("DOCKER_LAGS", "3")
    plan = tools.docker_plan("--tag", "new")
    restart, told = await driven(host, plan, old, limits=AT_ONCE, cancel_in=when)
    assert states(told)[-1] == "rolled-back", details(told)
    [(name, back)] = tools.containers().items()
    assert (name, back["Id"] == OLD) == ("/sgl", False)
    pid = back["State"]["Pid"]
    assert restart.pid == pid
    tools.servers.reap()
    assert tools.servers.mine() == [pid]
    assert argv(pid) == list(old.argv)


async def test_a_cancel_before_the_stop_leaves_nothing_behind(
    tools: Tools, host: LocalHost
) -> None:
    old = tools.container("--tag", "old")
    guard = replace(GUARD, drain_seconds=30.0)
    plan = replace(tools.docker_plan(), guard=guard)
    _, told = await driven(host, plan, old, limits=AT_ONCE, cancel_in="draining")
    assert states(told)[-1] == "cancelled"
    assert list(tools.containers()) == ["/sgl"]
    assert [row[1] for row in tools.calls()] == ["create", "rm"]
    assert alive(old.pid)


async def test_started_again_it_is_the_same_container(tools: Tools, host: LocalHost) -> None:
    old = tools.container()
    plan = StartPlan(argv=old.argv, port=old.port, guard=GUARD)
    restart = Restart(host, plan, replaces=old, owner=ANN, limits=AT_ONCE, again=True)
    assert (await restart.run()).standing.state == "ready"
    assert tools.calls() == [["docker", "stop", "-t", "60", OLD], ["docker", "start", OLD]]


async def test_a_process_gives_way_to_a_container_and_comes_back(
    tools: Tools, host: LocalHost
) -> None:
    inside = tools.container()
    os.kill(inside.pid, signal.SIGKILL)
    wait_for(lambda: not alive(inside.pid), "it ends")
    (tools.servers.folder / "old.log").unlink()
    old = tools.servers.start("--tag", "process")
    _, told = await driven(host, tools.docker_plan(SGLANG_FAKE_DIE="shards"), old, limits=AT_ONCE)
    assert states(told)[-1] == "rolled-back", details(told)
    assert list(tools.containers()) == ["/sgl"]
    [pid] = tools.servers.mine()
    assert argv(pid)[-1] == "process"


@pytest.mark.parametrize(
    ("labels", "host_config", "environment", "code"),
    [
        ({"io.kubernetes.pod.name": "x"}, {}, {}, "container-managed"),
        ({}, {}, {"FAIL_DOCKER": "inspect"}, "docker-not-allowed"),
        ({}, {"NetworkMode": "bridge"}, {}, "container-port"),
    ],
)
async def test_what_cannot_be_is_said_before_anything_stops(
    tools: Tools,
    host: LocalHost,
    monkeypatch: pytest.MonkeyPatch,
    labels: dict[str, str],
    host_config: dict[str, Any],
    environment: dict[str, str],
    code: str,
) -> None:
    old = tools.container(labels=labels, **host_config)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    restart, told = await driven(host, tools.docker_plan(), old, limits=AT_ONCE)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == code
    assert tools.calls() == [] or code == "docker-not-allowed"
    assert alive(old.pid)


async def test_the_port_that_counts_is_the_one_outside(tools: Tools, host: LocalHost) -> None:
    """Another server on the host may have the number that this one has inside its container."""
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        socket.create_server(("127.0.0.1", 0)) as proxy,
    ):
        inside, outside = other.getsockname()[1], proxy.getsockname()[1]
        bound = {f"{inside}/tcp": [{"HostIp": "", "HostPort": str(outside)}]}
        old = replace(tools.container(NetworkMode="bridge", PortBindings=bound), port=inside)
        plan = replace(tools.docker_plan(), port=inside)
        restart = Restart(host, plan, replaces=old, owner=ANN)
        assert await restart.check_only() is None
        # A process beside it wants the number itself.
        restart = Restart(host, replace(tools.servers.plan(), port=inside), replaces=old, owner=ANN)
        found = await restart.check_only()
        assert found is not None
        assert found.code == "port-taken"


class Cut(Flaky):
    """Its connection is lost as the check is on its way, and stays so."""

    async def connect(self) -> None:
        raise AssertionError("nothing is waited for")

    async def start(self, argv: Sequence[str]) -> Any:
        return Cutting(self, await super().start(argv))


class Cutting(Unplugged):
    """The channel of such a host."""

    def write(self, data: bytes) -> None:
        self._host.cut = self._host.cut or b'"do": "check"' in data
        super().write(data)


@pytest.mark.parametrize("runner", ["docker", "systemd"])
async def test_a_preview_ends_with_the_connection(tools: Tools, runner: str) -> None:
    """It waited five minutes for another one, though nothing was begun."""
    docker = runner == "docker"
    old = tools.container() if docker else tools.unit()
    plan = tools.docker_plan() if docker else tools.unit_plan()
    host = Cut()
    with pytest.raises(ConnectionLost, match="unplugged"):
        await Restart(host, plan, replaces=old, owner=ANN).check_only()
    host = Cut()
    asking = HostAsking(host, Agent(host), InstallationMemory(tools.folder / "installations"))
    with pytest.raises(ConnectionLost, match="unplugged"):
        await asking.asked(plan, "")
    assert host.refused > 0


async def test_a_create_that_fails_touches_nothing(
    tools: Tools, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tools.container()
    monkeypatch.setenv("FAIL_DOCKER", "create")
    _, told = await driven(host, tools.docker_plan(), old, limits=AT_ONCE)
    assert states(told) == ["checking", "saving", "failed"]
    assert alive(old.pid)
    assert not tools.servers.lock.exists()


async def test_notes_are_told_before_the_start(tools: Tools, host: LocalHost) -> None:
    labels = {"com.docker.compose.project": "llm", "com.docker.compose.service": "sgl"}
    old = tools.container(labels=labels, AutoRemove=True, BlkioDeviceReadBps=[{"Path": "/dev/a"}])
    restart = Restart(host, tools.docker_plan(), replaces=old, owner=ANN)
    assert await restart.check_only() is None
    assert [note.code for note in restart.notes] == [
        "container-removes-itself", "container-of-compose", "container-loses",
    ]  # fmt: skip
    assert "project llm made this container (service sgl)" in restart.notes[1].message
    restart = Restart(host, tools.servers.plan(), replaces=old, owner=ANN)
    assert await restart.check_only() is None
    assert [note.code for note in restart.notes] == ["container-removes-itself", "container-left"]


async def test_a_unit_is_given_a_drop_in_in_these_very_words(tools: Tools, host: LocalHost) -> None:
    old = tools.unit()
    plan = tools.unit_plan("--tag", "new", SECRET="s3")
    restart, told = await driven(host, plan, old, limits=AT_ONCE)
    assert states(told)[-1] == "ready", details(told)
    head = ["systemctl", "--system", "--no-ask-password", "--no-pager"]
    assert tools.calls() == [
        [*head, "stop", "--no-block", "--", UNIT],
        [*head, "daemon-reload"],
        [*head, "reset-failed", "--", UNIT],
        [*head, "start", "--no-block", "--", UNIT],
    ]
    assert restart.pid == tools.load("unit.json")["MainPID"]
    assert restart.pid is not None
    assert argv(restart.pid) == list(plan.argv)
    assert environ(restart.pid)["SECRET"] == "s3"
    [conf] = (tools.folder / "units" / f"{UNIT}.d").glob("*.conf")
    assert "UnsetEnvironment=NCCL_ALGO\n" in conf.read_text()
    assert "s3" not in conf.read_text()
    assert conf.with_suffix(".env").stat().st_mode & 0o077 == 0


async def test_a_unit_that_fails_has_its_own_words_again(tools: Tools, host: LocalHost) -> None:
    old = tools.unit("--tag", "old")
    plan = tools.unit_plan(SGLANG_FAKE_DIE="shards")
    restart, told = await driven(host, plan, old, limits=AT_ONCE)
    assert states(told)[-1] == "rolled-back", restart.standing
    verbs = [row[4] for row in tools.calls()]
    assert verbs[-4:] == ["stop", "daemon-reload", "reset-failed", "start"]
    assert not (tools.folder / "units" / f"{UNIT}.d").exists()
    assert restart.pid is not None
    assert argv(restart.pid) == list(old.argv)


@pytest.mark.parametrize(
    "log", ["its own file", "the plan's file", "journal", "two files", "a file and the journal"]
)
async def test_a_unit_that_is_over_before_anybody_looks_says_why(
    tools: Tools, host: LocalHost, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    """It was told as one that does not run, whatever its log said."""
    monkeypatch.setenv("START_TAKES_LONG", "1")
    old = tools.unit("--tag", "old")
    plan = tools.unit_plan(SGLANG_FAKE_DIE="shards")
    (tools.folder / "journal").write_text("1000000 RuntimeError: NCCL error of a server before\n")
    other = f"[Service]\nStandardOutput=append:{tools.folder}/other.log\n"
    if "journal" in log:
        tools.save("unit.json", {**tools.load("unit.json"), "journal": True})
        text = "[Service]\n" if log == "journal" else f"{other}StandardError=journal\n"
        (tools.folder / UNIT).write_text(text)
    elif log == "two files":
        (tools.folder / UNIT).write_text(f"{other}StandardError=append:{tools.folder}/unit.log\n")
    elif log == "the plan's file":
        (tools.folder / UNIT).write_text("[Service]\n")
        plan = replace(plan, workdir=str(tools.folder), log="unit.log")
    restart, told = await driven(host, plan, old, limits=AT_ONCE)
    assert states(told)[-1] == "rolled-back", details(told)
    assert "loading" in states(told)
    problem = restart.standing.problem
    assert problem is not None
    assert problem.code.startswith("out-of-memory"), problem
    assert "shards" not in problem.title
    [state] = tools.servers.launches()
    assert state["new"]["place"]["kind"] == ("journal" if "journal" in log else "file")
    assert state["new"]["place"]["target"] == (
        UNIT if "journal" in log else str(tools.folder / "unit.log")
    )
    assert restart.pid is not None
    assert argv(restart.pid) == list(old.argv)


@pytest.mark.parametrize(
    ("runner", "at_once", "end", "words"),
    [
        ("systemd", True, "oom-kill 9", "the host's out-of-memory killer ended it"),
        ("systemd", True, "success 0", "it ended by itself, with status 0"),
        ("systemd", False, "exit-code 2", "it ended with status 2"),
        ("docker", True, '{"ExitCode": 137, "OOMKilled": true}',
         "the host's out-of-memory killer ended it"),
        ("docker", False, '{"ExitCode": 139}', "signal 11 ended it"),
        ("docker", False, '{"ExitCode": 192}', "signal 64 ended it"),
        ("docker", False, '{"ExitCode": 128}', "it ended with status 128"),
        ("docker", False, '{"ExitCode": 193}', "it ended with status 193"),
        ("docker", False, '{"ExitCode": 255}', "it ended with status 255"),
    ],
)  # fmt: skip
async def test_where_a_log_is_silent_its_keeper_says_how_it_ended(
    tools: Tools,
    host: LocalHost,
    monkeypatch: pytest.MonkeyPatch,
    runner: str,
    at_once: bool,
    end: str,
    words: str,
) -> None:
    docker = runner == "docker"
    if at_once:  # it is over before anybody looks
        monkeypatch.setenv("START_TAKES_LONG", "1")
    monkeypatch.setenv("DOCKER_END" if docker else "UNIT_END", end)
    old = tools.container() if docker else tools.unit()
    plan = (tools.docker_plan if docker else tools.unit_plan)(SGLANG_FAKE_DIE="silently")
    restart, told = await driven(host, plan, old, limits=AT_ONCE)
    assert states(told)[-1] == "rolled-back", details(told)
    problem = restart.standing.problem
    assert problem is not None
    assert problem.title.endswith(f" is gone, and its log does not say why: {words}.")


EXIT = {"MESSAGE_ID": EXITED, "EXIT_STATUS": "3", "MESSAGE": f"{UNIT}: Main process exited, …"}


@pytest.mark.parametrize(
    ("journal", "words"),
    [
        (({"MESSAGE_ID": FAILED, "UNIT_RESULT": "exit-code"}, EXIT), ": it ended with status 3."),
        ((), "."),
    ],
)
async def test_a_unit_that_was_started_again_is_told_by_the_start_that_ended(
    tools: Tools,
    host: LocalHost,
    monkeypatch: pytest.MonkeyPatch,
    journal: Sequence[dict[str, str]],
    words: str,
) -> None:
    """`systemctl show` told of the new one: a crash was "ended by itself, with status 0"."""
    monkeypatch.setenv("UNIT_RESTARTS", "\n".join(map(json.dumps, journal)))
    old = tools.unit()
    plan = tools.unit_plan(SGLANG_FAKE_DIE="silently")
    plan = replace(plan, guard=replace(GUARD, roll_back="never"))
    restart, told = await driven(host, plan, old, limits=AT_ONCE)
    os.kill(tools.load("unit.json")["MainPID"], signal.SIGKILL)
    assert states(told)[-1] == "failed", details(told)
    problem = restart.standing.problem
    assert problem is not None
    assert problem.title.endswith(" is gone, and its log does not say why" + words)
    asked = [row for row in tools.calls() if row[0] == "journalctl" and "--output=json" in row]
    [state] = tools.servers.launches()
    assert asked[-1][4] == f"INVOCATION_ID={state['new']['invocation']}"


@pytest.mark.parametrize("runner", ["docker", "systemd"])
async def test_what_was_never_seen_has_no_number(
    tools: Tools, host: LocalHost, monkeypatch: pytest.MonkeyPatch, runner: str
) -> None:
    monkeypatch.setenv("START_TAKES_LONG", "1")
    docker = runner == "docker"
    old = tools.container() if docker else tools.unit()
    plan = (tools.docker_plan if docker else tools.unit_plan)(SGLANG_FAKE_DIE="silently")
    plan = replace(plan, guard=replace(GUARD, roll_back="never"))
    restart, told = await driven(host, plan, old, limits=AT_ONCE)
    assert states(told)[-1] == "failed", details(told)
    assert restart.pid is None
    assert "it has ended already, log " in details(told)
    problem = restart.standing.problem
    assert problem is not None
    assert problem.title.startswith("The server's process is gone, ")


@pytest.mark.parametrize("kind", ["oneshot", "forking", "dbus"])
async def test_a_unit_of_another_kind_is_refused(tools: Tools, host: LocalHost, kind: str) -> None:
    old = tools.unit()
    tools.save("unit.json", {**tools.load("unit.json"), "Type": kind})
    restart, told = await driven(host, tools.unit_plan(), old, limits=AT_ONCE)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "unit-type"
    assert alive(old.pid)


async def test_a_unit_that_keeps_something_else_is_not_stopped(
    tools: Tools, host: LocalHost
) -> None:
    old = tools.unit()
    tools.save("unit.json", {**tools.load("unit.json"), "MainPID": os.getpid()})
    restart, told = await driven(host, None, old, limits=AT_ONCE)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "managed"
    assert alive(old.pid)


@pytest.mark.parametrize("runner", ["docker", "systemd"])
@pytest.mark.parametrize("state", [*WAY, "rolling-back"])
async def test_killed_in_any_state_it_goes_on_from_there(
    tools: Tools, runner: str, state: str
) -> None:
    wrong = {"SGLANG_FAKE_DIE": "shards"} if state == "rolling-back" else {}
    docker = runner == "docker"
    old = tools.container("--tag", "old") if docker else tools.unit("--tag", "old")
    plan = (tools.docker_plan if docker else tools.unit_plan)("--tag", "new", **wrong)
    await killed_in(
        tools.servers, state, Job(plan=plan, old=old, limits=replace(AT_ONCE, settle=2.0))
    )
    host = LocalHost()
    left = await left_behind(host)
    restart = await Restart.resume(host, left["id"], owner=Owner.here("x"), limits=AT_ONCE)
    outcome = await restart.run()
    assert outcome.standing.state == ("rolled-back" if wrong else "ready"), outcome
    tools.servers.reap()
    [pid] = tools.servers.mine()
    assert pid == restart.pid
    assert argv(pid)[-1] == ("old" if wrong else "new")
    if docker:
        assert list(tools.containers()) == ["/sgl"]
        # Made once, whatever happened: what was made before the kill was taken, or removed.
        assert [row[1] for row in tools.calls()].count("start") == (2 if wrong else 1)
    else:
        assert (tools.folder / "units" / f"{UNIT}.d").exists() == (not wrong)
    assert not tools.servers.lock.exists()
