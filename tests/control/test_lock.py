"""The host's lock: one holder, whoever comes at once, and words about one who is gone."""

from __future__ import annotations

import contextlib
import fcntl
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from eagletui.control import agent
from eagletui.control.agent import AgentRefused
from eagletui.control.api import Detached, Limits, Running, plan_document
from eagletui.control.owner import Owner, began, is_gone
from eagletui.control.problems import QUIET
from eagletui.control.restart import Restart
from eagletui.host.channel import Channel
from eagletui.host.local import LocalHost
from eagletui.hostside.agent import kept, lock, requests, service
from eagletui.hostside.agent.base import Refused
from eagletui.hostside.agent.process_runner import ProcessRunner
from eagletui.model.profile import Guard
from tests.control.channels import Wrapped
from tests.control.servers import Servers
from tests.control.test_restart import ANN, QUICK, driven, states

BOB = {"user": "bob", "host": "desk", "session": "b", "launch": "other", "what": "a launch"}


def owner(name: str) -> dict[str, Any]:
    return {"user": name, "host": "h", "pid": 1, "session": name}


def held_by() -> str:
    held = lock.read_lock()
    return str(held["user"]) if held is not None else ""


def at_once(tries: Sequence[Callable[[], None]]) -> list[str]:
    """What becomes of each, in processes that start at the same moment."""
    ready, go = os.pipe()
    begun = []
    for attempt in tries:
        out, into = os.pipe()
        if not (pid := os.fork()):
            os.close(go)
            os.read(ready, 1)
            try:
                attempt()
            except Refused as refused:
                os.write(into, refused.code.encode())
            else:
                os.write(into, b"taken")
            os._exit(0)
        os.close(into)
        begun.append((pid, out))
    os.close(go)
    said = []
    for pid, out in begun:
        said.append(os.read(out, 99).decode())
        os.waitpid(pid, 0)
        os.close(out)
    os.close(ready)
    return said


@pytest.mark.parametrize("before", ["free", "held", "stale", "damaged"])
def test_of_many_who_come_at_once_one_has_it(servers: Servers, before: str) -> None:
    """Two who broke it once both got it: the second removed what the first had just taken."""
    for _ in range(5):
        if before != "free":
            text = "what?" if before == "damaged" else json.dumps(BOB)
            servers.lock.write_text(text)
        seen = lock.read_lock()
        key = seen["key"] if seen is not None else ""
        tries = [partial(lock.take_lock, f"of-{name}", owner(name), key) for name in "abcdefgh"]
        said = at_once(tries)
        assert sorted(said) == ["locked"] * 7 + ["taken"]
        assert held_by() == "abcdefgh"[said.index("taken")]
        servers.lock.unlink()


def test_only_the_lock_that_was_seen_is_broken(servers: Servers) -> None:
    servers.lock.write_text(json.dumps(BOB))
    seen = lock.read_lock()
    assert seen is not None
    lock.take_lock("a", owner("a"), seen["key"])
    with pytest.raises(Refused) as refused:
        lock.take_lock("c", owner("c"), seen["key"])
    assert (refused.value.code, refused.value.about["held"]["user"]) == ("locked", "a")
    os.utime(servers.lock)  # a sign of life makes it no other
    held = lock.read_lock()
    assert held is not None
    lock.take_lock("c", owner("c"), held["key"])
    assert held_by() == "c"


def take(breaks: str) -> None:
    lock.take_lock("a", owner("a"), breaks)


def check(breaks: str) -> None:
    requests.broken({"launch": "a", "owner": owner("a"), "breaks": breaks})


def resume(breaks: str) -> None:
    kept.update("other", standing={})
    ask = {"launch": "other", "owner": owner("a"), "stale": QUIET, "breaks": breaks}
    requests.do_resume(ask)


@pytest.mark.parametrize("do", [take, check, resume])
def test_who_seems_to_be_gone_and_lives_after_all_keeps_the_lock(
    servers: Servers, do: Callable[[str], None]
) -> None:
    servers.lock.write_text(json.dumps(BOB))
    os.utime(servers.lock, (1, 1))
    seen = lock.read_lock()
    assert seen is not None
    os.utime(servers.lock)  # Bob's eagletui was only held up
    with pytest.raises(Refused) as refused:
        do(seen["still"])
    assert (refused.value.code, refused.value.about["held"]["user"]) == ("locked", "bob")
    assert refused.value.about["held"]["quiet"] < QUIET
    held = lock.read_lock()
    assert held is not None
    lock.take_lock("a", owner("a"), held["still"])
    assert held_by() == "a"


def test_what_is_another_s_is_not_given_back(servers: Servers) -> None:
    lock.take_lock("it", owner("a"), "")
    lock.take_lock("it", owner("a"), "")  # its answer was lost: asked again
    lock.give_back("it", owner("b"))
    lock.give_back("other", owner("a"))
    assert held_by() == "a"
    assert not lock.own_lock("it", owner("b"))
    lock.give_back("it", owner("a"))
    assert held_by() == ""


def noting(name: str) -> dict[str, Any]:
    note = {"standing": name}
    return {"do": "note", "launch": "it", "owner": owner(name), "note": note}


def test_who_lost_the_lock_writes_nothing_over_what_another_wrote(servers: Servers) -> None:
    lock.take_lock("it", owner("b"), "")
    assert requests.answer(noting("b")) == {}
    assert requests.answer(noting("a"))["error"] == "lock-lost"
    assert kept.launch_state("it")["standing"] == "b"


CHANGES = ("note", "terminate", "kill", "start", "leave", "release")
REFUSING = tuple(do for do in CHANGES if do != "leave")


def asking(servers: Servers, do: str, old: Running) -> dict[str, Any]:
    """A request of a's, who has the lock, about a server that runs and another that is planned."""
    lock.take_lock("it", owner("a"), "")
    server = {"runner": "process", "pid": old.pid, "start": old.start_ticks, "port": old.port}
    environment = {"environment": dict(os.environ), "whole_environment": True}
    plan = {**plan_document(servers.plan()), **environment, "port": 0}
    kept.write(f"{kept.launch_folder('it')}/plan.json", plan)
    kept.update("it", old=server)
    which = "new" if do == "start" else "old"
    return {"do": do, "launch": "it", "owner": owner("a"), "note": {"standing": do}, "mark": "it",
            "which": which, "source": "plan.json", "seconds": 60.0}  # fmt: skip


def broken_by(name: str) -> None:
    """Somebody takes the lock away, for a launch of their own."""
    held = lock.read_lock()
    lock.take_lock("theirs", owner(name), held["key"] if held is not None else "")


@pytest.mark.parametrize("do", CHANGES)
@pytest.mark.parametrize("how", ["broken", "gone", "resumed"])
def test_who_lost_the_lock_changes_nothing_on_the_host(servers: Servers, do: str, how: str) -> None:
    """Only the client looked: what it had asked a moment before was done to another's server."""
    old = servers.start()
    ask = asking(servers, do, old)
    if how == "broken":
        broken_by("b")
    elif how == "gone":
        servers.lock.unlink()
    else:
        servers.lock.unlink()
        lock.take_lock("it", owner("b"), "")
    before = kept.launch_state("it")
    told = requests.answer(ask)
    if do in REFUSING:
        assert told["error"] == "lock-lost"
        assert (told["held"] or {}).get("user") == (None if how == "gone" else "b")
    assert kept.launch_state("it") == before
    assert servers.mine() == [old.pid]
    assert held_by() == ("" if how == "gone" else "b")


@pytest.mark.parametrize("meanwhile", ["nobody", "another"])
@pytest.mark.parametrize("refused", [False, True])
def test_a_release_that_is_asked_again_is_answered_as_before(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, refused: bool, meanwhile: str
) -> None:
    """The first answer was lost: it was told as a lock that somebody took away."""
    finished: list[str] = []

    def finish(_: object, __: object, ending: str) -> list[str]:
        finished.append(ending)
        if refused:
            raise Refused("docker-failed", what="rm", detail="no")
        return ["a container is left"]

    monkeypatch.setattr(ProcessRunner, "finish", finish)
    ask = {**asking(servers, "release", servers.start()), "ending": "ready"}
    first = requests.answer(ask)
    assert first == (
        {"error": "docker-failed", "what": "rm", "detail": "no"} if refused
        else {"left": ["a container is left"]}
    )  # fmt: skip
    assert held_by() == ""
    if meanwhile == "another":
        lock.take_lock("theirs", owner("b"), "")
    before = kept.launch_state("it")
    assert requests.answer(ask) == first
    assert finished == ["ready"]
    assert kept.launch_state("it") == before
    assert held_by() == ("b" if meanwhile == "another" else "")
    assert requests.answer({**ask, "owner": owner("c")})["error"] == "lock-lost"


def test_who_goes_on_with_a_launch_that_was_released_releases_it_again(servers: Servers) -> None:
    ask = asking(servers, "release", servers.start())
    assert requests.answer(ask) == {"left": []}
    again = {"do": "resume", "launch": "it", "owner": owner("a"), "stale": 60.0, "breaks": ""}
    assert requests.answer(again)["runner"] == "process"
    servers.lock.unlink()  # and somebody takes this one away
    assert requests.answer(ask)["error"] == "lock-lost"


@pytest.mark.parametrize("whose", ["a", "b"])
def test_a_look_writes_down_what_it_found_for_who_has_the_lock_alone(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    old = servers.start()
    ask = {**asking(servers, "look", old), "owner": owner(whose)}
    became = {"pid": old.pid, "start": old.start_ticks, "was": "a script"}
    monkeypatch.setattr(ProcessRunner, "followed", lambda *_: became)
    before = kept.launch_state("it")["old"]
    assert requests.answer(ask) == {"alive": True, "server": became}
    assert kept.launch_state("it")["old"] == (became if whose == "a" else before)


@pytest.mark.parametrize("do", ["terminate", "kill", "start"])
def test_a_lock_that_is_broken_at_the_last_moment_is_seen(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    """Between the host's own look and the signal is the guard."""
    old = servers.start()
    ask = asking(servers, do, old)
    comes, told = threading.Event(), []
    alone = lock.alone

    def watched(fd: int, guard: str) -> bool:
        comes.set()
        return alone(fd, guard)

    asked = threading.Thread(target=lambda: told.append(requests.answer(ask)))
    with lock.guarded(str(servers.lock)):
        monkeypatch.setattr(lock, "alone", watched)
        asked.start()
        assert comes.wait(60.0)  # it has looked, and found everything well
        servers.lock.write_text(json.dumps(BOB))
    asked.join()
    assert told[0]["error"] == "lock-lost"
    assert servers.mine() == [old.pid]


@pytest.mark.parametrize(
    ("do", "what"),
    [("terminate", (ProcessRunner, "terminate")), ("kill", (ProcessRunner, "kill")),
     ("start", (subprocess, "Popen"))],
)  # fmt: skip
def test_nobody_breaks_the_lock_while_a_server_is_ended_or_started(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, do: str, what: tuple[Any, str]
) -> None:
    old = servers.start()
    ask = {**asking(servers, do, old), "seconds": 0.0}
    monkeypatch.setattr(lock, "GUARDED", 0.05)
    said = []

    def doing(*args: Any, **about: Any) -> Any:
        with pytest.raises(Refused) as refused:
            broken_by("b")
        said.append(refused.value.code)
        raise Refused("gone", pid=1)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(*what, doing)
        assert requests.answer({**ask, "seconds": 60.0})["error"] == "gone"
    assert said == ["lock-busy"]
    broken_by("b")
    assert held_by() == "b"


class Broken(LocalHost):
    """Somebody breaks the lock in the moment in which a request is on its way."""

    def __init__(self, do: str, path: Path) -> None:
        super().__init__()
        self.do = b'"do": "%s"' % do.encode()
        self.path = path

    async def start(self, argv: Sequence[str]) -> Any:
        return Breaking(self, await super().start(argv))


class Breaking(Wrapped):
    """The channel of such a host."""

    def __init__(self, host: Broken, channel: Channel) -> None:
        super().__init__(channel)
        self._host = host

    def write(self, data: bytes) -> None:
        if self._host.do in data:
            self._host.path.write_text(json.dumps(BOB))
        super().write(data)


@pytest.mark.parametrize(
    ("do", "state"),
    [("terminate", "stopping"), ("kill", "killing"), ("start", "starting"), ("note", "loading")],
)
async def test_a_person_is_told_that_the_lock_was_taken_away(
    servers: Servers, do: str, state: str
) -> None:
    old = servers.start(SGLANG_FAKE_IGNORE_TERM="1" if do == "kill" else "")
    host = Broken(do, servers.lock)
    guard = Guard(drain_seconds=0.0, stop_seconds=1.0 if do == "kill" else 60.0)
    restart = Restart(host, servers.plan(guard=guard), replaces=old, owner=ANN, limits=QUICK)
    with pytest.raises(Detached) as lost:
        await restart.run()
    await host.close()
    assert restart.standing.state == state
    assert str(lost.value) == (
        "Somebody took the lock of this host away. bob@desk is in the middle of a launch on this "
        "host; last sign of life 0 s ago.\n"
        "They may be at the same server; nothing more is done here, and this restart is left where "
        "it is.\n"
        "Look at the host before anything else. When nobody is at it any more, --resume "
        f"{restart.launch} goes on with this one."
    )
    servers.reap()
    left = servers.mine()
    assert (old.pid in left) == (do in ("terminate", "kill"))
    assert len(left) == (0 if do == "start" else 1)
    assert held_by() == "bob"


async def test_a_lock_that_is_lost_at_the_very_end_changes_no_outcome(servers: Servers) -> None:
    host = Broken("release", servers.lock)
    limits = replace(QUICK, settle=0.0)
    restart = Restart(host, servers.plan(), owner=ANN, limits=limits)
    told = [progress.detail async for progress in restart.progress()]
    await host.close()
    assert restart.standing.state == "ready"
    assert told[-1].startswith("Somebody took the lock of this host away.")
    assert held_by() == "bob"


def test_a_note_waits_for_a_request_that_may_be_writing(servers: Servers) -> None:
    """Both read all that is kept of the launch and write all of it."""
    lock.take_lock("it", owner("a"), "")
    kept.update("it", again=False)
    folder = os.open(kept.launch_folder("it"), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    note = threading.Thread(target=requests.attended, args=[noting("a")])
    note.start()
    note.join(0.3)
    assert "standing" not in kept.launch_state("it")
    os.close(folder)
    note.join()
    assert kept.launch_state("it")["standing"] == "a"


def test_a_guard_that_nobody_lets_go_is_said(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "GUARDED", 0.1)
    with lock.guarded(str(servers.lock)), pytest.raises(Refused) as refused:
        lock.take_lock("it", owner("a"), "")
    assert refused.value.code == "lock-busy"
    lock.take_lock("it", owner("a"), "")


def test_a_guard_that_is_no_file_is_said(servers: Servers, tmp_path: Path) -> None:
    (tmp_path / "lock.guard").symlink_to("/etc/passwd")
    with pytest.raises(Refused) as refused:
        lock.take_lock("it", owner("a"), "")
    assert refused.value.code == "lock-stuck"


@pytest.mark.parametrize("do", ["release", "leave"])
def test_a_lock_is_given_back_however_long_somebody_holds_the_guard(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    """It was kept without a word where that took longer than one waits to take it."""
    ask = asking(servers, do, servers.start())
    monkeypatch.setattr(lock, "GUARDED", 0.0)
    tries, alone, told = threading.Semaphore(0), lock.alone, []

    def watched(fd: int, guard: str) -> bool:
        tries.release()
        return alone(fd, guard)

    asked = threading.Thread(target=lambda: told.append(requests.answer(ask)))
    with lock.guarded(str(servers.lock)):
        monkeypatch.setattr(lock, "alone", watched)
        asked.start()
        for _ in range(5):
            assert tries.acquire(timeout=20.0)
    asked.join()
    assert told == [{"left": []} if do == "release" else {}]
    assert held_by() == ""


def test_a_lock_that_cannot_be_given_back_is_said(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = asking(servers, "release", servers.start())
    monkeypatch.setattr(lock, "GIVEN_BACK", 0.0)
    with lock.guarded(str(servers.lock)):
        assert requests.answer({**ask, "do": "leave"})["error"] == "lock-busy"
        assert requests.answer(ask) == {"left": [
            "The lock is not given back, and goes stale by itself: "
            f"{servers.lock}.guard: another program holds it."
        ]}  # fmt: skip
    assert held_by() == "a"
    assert requests.answer(ask) == {"left": []}
    assert held_by() == ""


def as_nobody(work: Callable[[], object]) -> None:
    """Done by another user, where there can be one."""
    if not (pid := os.fork()):
        with contextlib.suppress(PermissionError):
            os.setuid(65534)
        work()
        os._exit(0)
    os.waitpid(pid, 0)


@pytest.fixture
def everybodys(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as /tmp is, with the lock to be in it."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are one user's
        folder = Path(name)
        folder.chmod(0o1777)
        monkeypatch.setenv("EAGLETUI_LOCK", str(folder / "lock"))
        yield folder


@pytest.mark.parametrize("planted", ["link", "dangling", "file", "fifo", "folder"])
def test_what_another_user_put_at_a_draft_s_name_stops_nothing(
    everybodys: Path, tmp_path: Path, planted: str
) -> None:
    """Its name was the lock's and a process id: who guessed it kept the lock from being taken,
    and where the folder lets one, what lay there was removed."""
    theirs = everybodys / f"lock.{os.getpid()}"
    victim = tmp_path / "victim"
    victim.write_text("mine")

    ways: dict[str, Callable[[], object]] = {
        "link": lambda: theirs.symlink_to(victim),
        "dangling": lambda: theirs.symlink_to(tmp_path / "nowhere"),
        "file": lambda: theirs.write_text("theirs"),
        "fifo": lambda: os.mkfifo(theirs),
        "folder": theirs.mkdir,
    }
    as_nobody(ways[planted])
    before = theirs.lstat()
    lock.take_lock("it", owner("a"), "")
    assert held_by() == "a"
    assert theirs.lstat() == before
    assert victim.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert {path.name for path in everybodys.iterdir()} == {"lock", "lock.guard", theirs.name}


def test_a_draft_is_new_nobody_else_s_and_of_no_name_that_can_be_guessed(
    everybodys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts: list[str] = []
    opened = os.open

    def watched(path: str, flags: int, mode: int = 0o777) -> int:
        fd = opened(path, flags, mode)
        if flags & os.O_WRONLY and not path.endswith(".guard"):
            drafts.append(path)
            assert flags & os.O_EXCL
            assert flags & os.O_NOFOLLOW
            assert os.fstat(fd).st_mode & 0o777 == 0o600
        return fd

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "open", watched)
        for _ in range(20):
            lock.take_lock("it", owner("a"), "")
            lock.give_back("it", owner("a"))
    assert len(set(drafts)) == 20
    prefix = str(everybodys / "lock.")
    assert all(re.fullmatch(re.escape(prefix) + "[0-9a-f]{16}", draft) for draft in drafts)
    lock.take_lock("it", owner("a"), "")
    assert (everybodys / "lock").stat().st_mode & 0o777 == 0o644  # others are told who has it


@pytest.mark.parametrize("planted", ["link", "dangling", "fifo", "folder"])
def test_what_is_no_lock_is_neither_followed_nor_waited_for(
    everybodys: Path, tmp_path: Path, planted: str
) -> None:
    path, victim = everybodys / "lock", tmp_path / "victim"
    text = json.dumps({**owner("a"), "launch": "it"})
    victim.write_text(text)
    os.utime(victim, (1.0, 1.0))
    as_nobody(
        {
            "link": lambda: path.symlink_to(victim),
            "dangling": lambda: path.symlink_to(tmp_path / "nowhere"),
            "fifo": lambda: os.mkfifo(path),
            "folder": path.mkdir,
        }[planted]
    )
    held = lock.read_lock()
    assert held is not None
    assert held["damaged"]
    assert not lock.own_lock("it", owner("a"))
    lock.renew("it", owner("a"))
    with pytest.raises(Refused, match="locked"):
        lock.take_lock("it", owner("a"), "")
    if planted == "folder":
        with pytest.raises(Refused, match="lock-stuck"):
            lock.take_lock("it", owner("a"), held["key"])
    else:
        lock.take_lock("it", owner("a"), held["key"])
        assert held_by() == "a"
    assert (victim.read_text(), victim.stat().st_mtime) == (text, 1.0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be two users")
def test_the_lock_of_another_user_is_told_and_not_removed(everybodys: Path) -> None:
    lock.take_lock("it", owner("a"), "")
    read, write = os.pipe()

    def theirs() -> None:
        held = lock.read_lock() or {}
        os.write(write, str(held.get("user")).encode())
        try:
            lock.take_lock("other", owner("b"), held["key"])
        except Refused as refused:
            os.write(write, f" {refused.code}".encode())

    as_nobody(theirs)
    assert os.read(read, 99) == b"a lock-stuck"
    assert held_by() == "a"


async def test_two_who_go_on_with_one_launch_do_not_both(
    servers: Servers, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    restart = Restart(host, servers.plan(), owner=ANN, limits=QUICK)
    stream = restart.progress()
    async for progress in stream:
        if progress.standing.state == "settling":
            break
    await stream.aclose()
    one, other = (msgspec.structs.replace(ANN, session=name) for name in ("one", "other"))
    with monkeypatch.context() as long_after:
        long_after.setattr("eagletui.control.restart.QUIET", 0.0)
        first = await Restart.resume(host, restart.launch, owner=one, limits=QUICK)
    with pytest.raises(AgentRefused, match="in the middle"):
        await Restart.resume(host, restart.launch, owner=other, limits=QUICK)
    await restart.leave()  # who lost it meanwhile gives nothing back
    assert servers.lock.exists()
    assert (await first.run()).standing.state == "ready"
    assert not servers.lock.exists()


def gone(**change: Any) -> dict[str, Any]:
    """A lock of an eagletui of this machine that was killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        me = Owner.here("launching 5/6 on :30000")
        held = {**msgspec.to_builtins(me), "pid": process.pid, "start": began(process.pid)}
        assert not is_gone(held, me.host)
        process.send_signal(signal.SIGKILL)
    return {**held, "launch": "20260101-lost", **change}


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"start": 0}, True),
        ({"pid": os.getpid(), "start": 1}, True),  # its id is another's by now
        ({"pid": 1, "start": 12345678901}, True),  # and that is somebody else's process
        ({"pid": os.getpid()}, True),
        ({"pid": os.getpid(), "start": began(os.getpid())}, False),
        ({"pid": os.getpid(), "start": 0}, False),
        ({"host": "elsewhere"}, False),
        ({"pid": None}, False),
        ({"pid": 10**30}, False),
    ],
)
async def test_an_eagletui_of_this_machine_that_is_gone_is_said_to_be(
    servers: Servers, host: LocalHost, change: dict[str, Any], known: bool
) -> None:
    servers.lock.write_text(json.dumps(gone(**change)))
    restart, told = await driven(host, servers.plan(), None, limits=QUICK)
    assert states(told) == ["checking", "failed"]
    problem = restart.standing.problem
    assert problem is not None
    assert ("that eagletui is gone" in problem.title) == known
    if known:
        assert problem.title.endswith(
            "in the middle of launching 5/6 on :30000 on this host, and that eagletui is gone."
        )
        assert "eagletui launch --resume 20260101-lost" in problem.advice
        assert "--break-lock" in problem.advice


def test_no_owner_who_is_there_seems_to_be_gone() -> None:
    """Both give a sign of life in time, also where one look at the host, and then one at the
    server, takes as long as it may."""
    looks = agent._PATIENCE + inspect.signature(LocalHost.run).parameters["timeout"].default
    assert Limits().renew + looks < QUIET
    assert service.RENEW + looks < QUIET
