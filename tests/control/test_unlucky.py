"""Answers that get lost on the way, people who leave half-way, and nobody who listens."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.control.agent import AgentRefused
from eagletui.control.restart import Restart, unfinished
from eagletui.host.channel import Channel
from eagletui.host.local import LocalHost
from eagletui.model.errors import ConnectionLost
from tests.control.channels import Wrapped
from tests.control.servers import Servers, alive, argv
from tests.control.test_commands import command_line
from tests.control.test_restart import ANN, QUICK, details, driven, states

ONCE = replace(QUICK, settle=0.0)
NO_CHECK = ("--local", "--force", "--settle", "0")


class Garbling(LocalHost):
    """Its agent does what it is asked, and is killed before it answers.

    Args:
        do: the requests that are hit.
        times: how often; each is done all the same.
    """

    def __init__(self, do: str, times: int) -> None:
        super().__init__()
        self.do = b'"do": "%s"' % do.encode()
        self.left = times

    async def start(self, argv: Sequence[str]) -> Any:
        return Killed(self, await super().start(argv))


class Killed(Wrapped):
    """The channel of such an agent."""

    def __init__(self, host: Garbling, channel: Channel) -> None:
        super().__init__(channel)
        self._host = host
        self._hit = False

    @property
    def stderr(self) -> bytearray:
        return bytearray(b"Killed")

    def write(self, data: bytes) -> None:
        self._hit = self._hit or (self._host.do in data and self._host.left > 0)
        super().write(data)

    async def read(self) -> bytes:
        data = await super().read()
        if not self._hit:
            return data
        self._host.left -= 1
        self.inner.close()
        return b""


@pytest.mark.parametrize("do", ["check", "save", "note", "terminate", "gone", "start", "release"])
async def test_an_answer_that_is_lost_is_asked_for_again(servers: Servers, do: str) -> None:
    old = servers.start(SGLANG_FAKE_WORKERS="1", SGLANG_FAKE_ORPHANS="1")
    host = Garbling(do, 1)
    restart, told = await driven(host, servers.plan("--tag", "new"), old, limits=ONCE)
    assert host.left == 0
    assert states(told)[-1] == "ready", details(told)
    assert restart.pid is not None
    servers.reap()
    assert servers.mine() == [restart.pid]
    assert argv(restart.pid) == list(servers.argv("--tag", "new"))


class Unplugged(Killed):
    """The channel of an agent whose connection is lost before it answers."""

    async def read(self) -> bytes:
        if data := await super().read():
            return data
        raise ConnectionLost("The connection was lost: unplugged.")


class Losing(Garbling):
    """The same, with its connection lost."""

    async def start(self, argv: Sequence[str]) -> Any:
        return Unplugged(self, await LocalHost.start(self, argv))


@pytest.mark.parametrize("kind", [Garbling, Losing])
async def test_an_end_whose_answer_is_lost_is_no_lock_that_somebody_took(
    servers: Servers, kind: type[Garbling]
) -> None:
    host = kind("release", 2)
    restart, told = await driven(host, servers.plan(), None, limits=ONCE)
    assert host.left == 0
    assert restart.standing.state == "ready"
    said = [progress.detail for progress in told if progress.detail]
    again = "Asking again." if kind is Garbling else "trying again."
    assert [line.endswith(again) for line in said[-3:]] == [False, True, True]
    assert not servers.lock.exists()


@pytest.mark.parametrize("do", ["gone", "start"])
async def test_a_host_that_never_answers_again_is_no_crash(servers: Servers, do: str) -> None:
    """The old server comes back where it can be told to, and it is never said to be untouched."""
    old = servers.start("--tag", "old")
    host = Garbling(do, 1000)
    restart, told = await driven(host, servers.plan("--tag", "new"), old, limits=ONCE)
    standing = restart.standing
    assert standing.final
    assert standing.old_gone, details(told)
    assert standing.problem is not None
    assert standing.problem.code == "bad-answer"
    assert not servers.lock.exists()
    servers.reap()
    running = [argv(pid) for pid in servers.mine()]
    assert running in ([], [list(servers.argv("--tag", "old"))])


async def test_a_server_that_dies_before_its_first_token_says_why(
    servers: Servers, host: LocalHost
) -> None:
    plan = servers.plan(environment={"SGLANG_FAKE_DIE": "token"})
    restart, _ = await driven(host, plan, None, limits=ONCE)
    problem = restart.standing.problem
    assert problem is not None
    assert problem.code == "out-of-memory-serving"


@contextlib.contextmanager
def on_a_terminal(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose standard input and errors are a terminal; its person's side of that."""
    person, terminal = pty.openpty()
    command = subprocess.Popen(
        command_line(*words),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    try:
        yield command, person
    finally:
        command.kill()
        command.wait()
        os.close(person)


def said(person: int, until: bytes) -> bytes:
    """What the terminal shows up to these words, or to its end."""
    shown = b""
    with contextlib.suppress(OSError):
        while until not in shown and (more := os.read(person, 4096)):
            shown += more
    return shown


@pytest.mark.parametrize(
    ("typed", "state", "status"),
    [("ctrl-c", "asking", 130), ("\x04", "asking", 130), ("what?\n\n", "rolled-back", 1),
     ("n\n", "failed", 1)],
)  # fmt: skip
def test_the_question_can_be_left_and_answered(
    servers: Servers, typed: str, state: str, status: int
) -> None:
    servers.start("--tag", "old")
    words = ["launch", *NO_CHECK, "--env", "SGLANG_FAKE_NO_TOKEN=1", "--roll-back", "ask", "--"]
    with on_a_terminal(*words, *servers.argv("--tag", "new")) as (command, person):
        said(person, b"Do it?")
        os.write(person, b"y\n")
        said(person, b"Put back what ran before? [Y/n]")
        if typed == "ctrl-c":
            command.send_signal(signal.SIGINT)
        else:
            os.write(person, typed.encode())
        end = said(person, b"nothing that is ever said")
        assert command.wait(timeout=180) == status, end
    [kept] = servers.launches()
    assert kept["standing"]["state"] == state
    assert (b"--resume " + kept["id"].encode() in end) == (state == "asking")


def test_nobody_is_asked_for_what_cannot_be_done(servers: Servers) -> None:
    servers.lock.write_text(json.dumps({"launch": "x", "what": "a launch"}))
    servers.start()
    words = ["launch", *NO_CHECK, "--", *servers.argv("--tag", "new")]
    with on_a_terminal(*words) as (command, person):
        end = said(person, b"Do it?")
        assert command.wait(timeout=180) == 1
    assert b"in the middle of a launch" in end
    assert b"Do it?" not in end


@pytest.mark.parametrize("lines", [3, 8])
def test_a_listener_who_leaves_stops_no_restart_half_way(servers: Servers, lines: int) -> None:
    """`eagletui launch … 2>&1 | head -3` once left a host without any server, and locked."""
    old = servers.start("--tag", "old")
    words = ["launch", *NO_CHECK, "--yes", "--", *servers.argv("--tag", "new")]
    command = subprocess.Popen(
        command_line(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert command.stdout is not None
    for _ in range(lines):
        command.stdout.readline()
    command.stdout.close()
    command.wait(timeout=180)
    servers.reap()
    [pid] = servers.mine()
    new = argv(pid) == list(servers.argv("--tag", "new"))
    assert new or pid == old.pid
    assert not servers.lock.exists()
    assert [state["standing"]["state"] for state in servers.launches()] == ["ready"] * new


def test_ctrl_c_before_the_server_is_told_changes_nothing(servers: Servers) -> None:
    old = servers.start(SGLANG_FAKE_BUSY="3")
    words = ["stop", "--local", "--port", str(servers.port), "--yes", "--drain", "60"]
    command = subprocess.Popen(
        command_line(*words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert command.stderr is not None
    shown = b""
    while b"in flight; aborted" not in shown:
        shown += command.stderr.readline()
    assert b"may finish for 60 s" in shown
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=180)
    assert b"Interrupted. The old server was not touched." in err
    assert command.returncode == 130
    assert alive(old.pid)
    assert not servers.lock.exists()
    [state] = servers.launches()
    assert (state["standing"]["state"], "ended" in state) == ("cancelled", True)


async def test_later_than_that_nothing_is_withdrawn(servers: Servers, host: LocalHost) -> None:
    old = servers.start()
    plan = servers.plan(environment={"SGLANG_FAKE_STALL": "1"})
    restart = Restart(host, plan, replaces=old, owner=ANN, limits=QUICK)
    stream = restart.progress()
    async for progress in stream:
        if progress.standing.state == "loading":
            break
    await stream.aclose()
    await restart.withdraw()
    assert restart.standing.state == "loading"
    assert servers.lock.exists()


DAMAGED = {
    "empty": "",
    "a list": "[]",
    "no state": '{"id": "%s", "port": 1}',
    "of no time": '{"id": "%s", "began": null, "standing": 5}',
    "of a newer eagletui": '{"id": "%s", "began": 9e9, "standing": {"state": "flying"}}',
    "without its plan": '{"id": "%s", "began": 9e9, "standing": {"goal": "launch"}}',
    "too deep": "[" * 5000,
}


async def test_a_damaged_record_hides_no_other(servers: Servers, host: LocalHost) -> None:
    for name, text in DAMAGED.items():
        launch = name.replace(" ", "-")
        folder = servers.state / "launches" / launch
        folder.mkdir(parents=True)
        (folder / "state.json").write_text(text.replace("%s", launch))
    restart = Restart(host, servers.plan(), owner=ANN, limits=QUICK)
    stream = restart.progress()
    async for progress in stream:
        if progress.standing.state == "loading":
            break
    await stream.aclose()
    await restart.leave()
    assert restart.launch in [record["id"] for record in await unfinished(host)]
    for name in DAMAGED:
        shutil.rmtree(servers.state / "launches" / name.replace(" ", "-"))


@pytest.mark.parametrize("name", DAMAGED)
async def test_a_damaged_record_is_told_and_locks_nothing(
    servers: Servers, host: LocalHost, name: str
) -> None:
    folder = servers.state / "launches" / "it"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(DAMAGED[name].replace("%s", "it"))
    with pytest.raises(AgentRefused) as refused:
        await Restart.resume(host, "it", owner=ANN)
    assert refused.value.diagnosis.code in ("damaged", "no-launch")
    assert "Traceback" not in str(refused.value)
    assert not servers.lock.exists()
    shutil.rmtree(folder)


@pytest.mark.parametrize("text", ["", "[]", "no JSON", "[" * 5000, None])
async def test_what_is_no_lock_is_not_taken_for_somebody(
    servers: Servers, host: LocalHost, text: str | None
) -> None:
    if text is None:
        servers.lock.mkdir()
    else:
        servers.lock.write_text(text)
    restart, _ = await driven(host, servers.plan(), None, limits=ONCE)
    problem = restart.standing.problem
    assert problem is not None
    assert (
        problem.title
        == f"The lock {servers.lock} is there, but it is nothing that eagletui writes."
    )
    restart, told = await driven(host, servers.plan(), None, limits=ONCE, break_lock=True)
    assert restart.standing.state == ("failed" if text is None else "ready"), details(told)
    if text is None:
        assert restart.standing.problem is not None
        assert "another user" not in restart.standing.problem.advice
