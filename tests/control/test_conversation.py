"""One agent that stays: its answers told apart, its end, and what it leaves alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eagletui.control.agent import Agent, AgentRefused, sent
from eagletui.control.conversation import Conversation
from eagletui.control.problems import GARBLED
from eagletui.host.channel import Channel
from eagletui.host.local import LocalHost
from eagletui.hostside.agent import bootstrap, lock
from eagletui.model.errors import CommandTimeout
from tests.control.servers import Servers, alive, stat, wait_for
from tests.control.test_restart import QUICK, driven, states

PROGRAM = Path(bootstrap.__file__).read_text("utf-8")


class Counting(LocalHost):
    """Counts what was started on it with its input open."""

    def __init__(self) -> None:
        super().__init__()
        self.agents: list[int] = []

    async def start(self, argv: Sequence[str]) -> Any:
        channel = await super().start(argv)
        if any("hostside" in word or "sources" in word for word in argv):
            assert channel._transport is not None
            self.agents.append(channel._transport.get_pid())
        return channel


async def test_a_whole_restart_is_one_agent_s_and_it_is_gone_afterwards(servers: Servers) -> None:
    host = Counting()
    old = servers.start()
    _, told = await driven(host, servers.plan(), old, limits=QUICK)
    assert states(told)[-1] == "ready"
    [agent] = host.agents
    await asyncio.to_thread(wait_for, lambda: not alive(agent), "the agent ends")
    await host.close()


def descriptors(pid: int) -> dict[int, str]:
    links = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links[int(entry.name)] = os.readlink(entry)
    return links


async def test_a_server_holds_and_needs_nothing_of_the_agent(servers: Servers) -> None:
    """Not a descriptor: a channel of SSH would stay open with it. Nor is it the agent's child."""
    host = Counting()
    restart, _ = await driven(host, servers.plan(), None)
    assert restart.pid is not None
    links = descriptors(restart.pid)
    held = [links.pop(fd) for fd in range(3)]
    assert held == ["/dev/null", restart.log, restart.log]
    assert [link for link in links.values() if link.startswith("pipe:")] == []
    assert int(stat(restart.pid)[1]) not in host.agents
    assert alive(restart.pid)
    await host.close()


@pytest.fixture
def served() -> Any:
    """The program as the host runs it; its parts may be changed before."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(change: Callable[[str], str] = lambda text: text) -> subprocess.Popen[bytes]:
        document = json.loads(sent())
        name = document["main"]
        document["sources"][name] = change(document["sources"][name])
        modules = json.dumps(document).encode()
        program = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", PROGRAM, str(len(modules))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert program.stdin is not None
        program.stdin.write(modules)
        program.stdin.flush()
        begun.append(program)
        return program

    yield start
    for program in begun:
        with program:
            program.kill()


def asked(program: subprocess.Popen[bytes], *documents: dict[str, Any]) -> None:
    assert program.stdin is not None
    for document in documents:
        program.stdin.write(json.dumps(document).encode() + b"\n")
    program.stdin.flush()


def answer(program: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert program.stdout is not None
    told: dict[str, Any] = json.loads(program.stdout.readline())
    return told


def waiting(servers: Servers, number: int) -> dict[str, Any]:
    """A request that lasts: a server that is not going to be gone."""
    folder = servers.state / "launches" / "it"
    folder.mkdir(parents=True, exist_ok=True)
    old = servers.start()
    server = {"pid": old.pid, "start": old.start_ticks, "port": old.port}
    (folder / "state.json").write_text(json.dumps({"id": "it", "old": server}))
    return {"id": number, "do": "gone", "launch": "it", "which": "old", "seconds": 60,
            "owner": {}}  # fmt: skip


def test_it_answers_on_and_ends_with_its_input(servers: Servers, served: Any) -> None:
    program = served()
    for number in range(1, 4):
        asked(program, {"id": number, "do": "list"})
        told = answer(program)
        assert (told["id"], told["answer"]["launches"]) == (number, [])
    program.stdin.close()
    assert program.wait(timeout=10) == 0


def test_it_ends_where_nobody_says_a_word_any_more(servers: Servers, served: Any) -> None:
    program = served(lambda text: text.replace("IDLE = 60.0", "IDLE = 0.2"))
    assert program.wait(timeout=10) == 0


def test_what_takes_long_holds_up_nothing_and_can_be_ended(servers: Servers, served: Any) -> None:
    program = served()
    asked(program, waiting(servers, 1), {"id": 2, "do": "list"})
    assert answer(program)["id"] == 2
    asked(program, {"drop": 1})
    assert answer(program) == {"id": 1, "ended": "signal 9"}


def test_it_goes_on_after_a_request_that_was_its_end(servers: Servers, served: Any) -> None:
    program = served(lambda text: text.replace("told = answer(ask)", "told = answer(ask) if "
                                               "ask['do'] == 'list' else os.abort()"))  # fmt: skip
    asked(program, {"id": 1, "do": "check"}, {"id": 2, "do": "list"})
    told = {reply["id"]: reply for reply in (answer(program), answer(program))}
    assert told[1] == {"id": 1, "ended": "signal 6"}
    assert "answer" in told[2]


LONG_AGO = (1.0, 1.0)
OFTEN = ("RENEW = 15.0", "RENEW = 0.02")


def looks_used(servers: Servers) -> bool:
    return servers.lock.stat().st_mtime > 1.0


def lasting(servers: Servers, program: subprocess.Popen[bytes], **about: Any) -> None:
    """A request that lasts is being done, whose own sign of life is long ago."""
    lock.take_lock("it", {"session": "a"}, "")
    os.utime(servers.lock, LONG_AGO)
    ask = {**waiting(servers, 1), "owner": {"session": "a"}, "within": 60.0, **about}
    ours = ask["owner"]["session"] == "a"
    asked(program, ask)
    # It gives one itself when it begins.
    if ours:
        wait_for(lambda: looks_used(servers), "it begins")
    os.utime(servers.lock, LONG_AGO)


def test_a_request_that_takes_long_keeps_the_lock_in_use(servers: Servers, served: Any) -> None:
    """A start through docker may take a minute, in which its owner looked gone."""
    program = served(lambda text: text.replace(*OFTEN))
    lasting(servers, program)
    for _ in range(3):
        wait_for(lambda: looks_used(servers), "another sign of life")
        os.utime(servers.lock, LONG_AGO)


@pytest.mark.parametrize("about", [{"owner": {"session": "b"}}, {"within": 0.0}])
def test_what_nobody_waits_for_or_another_asked_keeps_no_lock(
    servers: Servers, served: Any, about: dict[str, Any]
) -> None:
    program = served(lambda text: text.replace(*OFTEN))
    lasting(servers, program, **about)
    for number in range(2, 22):
        asked(program, {"id": number, "do": "list"})
        assert answer(program)["id"] == number
    assert not looks_used(servers)


def test_a_lost_connection_lets_the_lock_go_quiet(servers: Servers, served: Any) -> None:
    """What was asked for goes on, but nobody is there any more."""
    program = served(lambda text: text.replace(*OFTEN))
    lasting(servers, program)
    program.stdin.close()
    assert program.wait(timeout=60) == 0
    [at_work] = servers.at_work()
    try:
        os.utime(servers.lock, LONG_AGO)
        for _ in range(20):
            assert not looks_used(servers)
            os.kill(at_work, 0)
    finally:
        os.kill(at_work, signal.SIGKILL)


async def test_the_host_is_told_how_long_somebody_waits(host: LocalHost) -> None:
    channel = Said()
    talk = of(channel)
    with pytest.raises(CommandTimeout):
        await talk.ask({"do": "x"}, 0.01)
    assert channel.asked[0] == {"id": 1, "within": 0.01, "do": "x"}
    talk.close()


async def test_an_answer_nobody_waited_for_longer_is_ended_on_the_host(
    servers: Servers, host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagletui.control.agent._PATIENCE", 1.0)
    agent = Agent(host)
    request = waiting(servers, 1)
    del request["id"]
    with pytest.raises(CommandTimeout, match="within 1 s"):
        await agent.ask(**request)
    assert (await agent.ask("list", most=0))["launches"] == []
    agent.close()


class Said:
    """A channel whose other side says what the test gives it."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.stderr = bytearray()
        self.told: asyncio.Queue[bytes] = asyncio.Queue()
        self.asked: list[dict[str, Any]] = []
        self.closed = False

    async def read(self) -> bytes:
        return await self.told.get()

    def write(self, data: bytes) -> None:
        self.asked.append(json.loads(data))

    async def wait_closed(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def of(channel: Said) -> Conversation:
    typed: Channel = channel
    return Conversation(typed)


async def test_an_answer_that_comes_twice_is_not_the_next_one_s() -> None:
    channel = Said()
    talk = of(channel)
    for number, said in [(1, b"one"), (2, b"two")]:
        asking = asyncio.ensure_future(talk.ask({"do": "x"}, 5.0))
        await asyncio.sleep(0)
        if number == 2:
            channel.told.put_nowait(b'{"id": 1, "answer": {"was": "one"}}\n')
        channel.told.put_nowait(b'{"id": %d, "answer": {"was": "%s"}}\n' % (number, said))
        assert await asking == {"was": said.decode()}
    talk.close()


async def test_one_that_comes_late_is_nobody_s() -> None:
    channel = Said()
    talk = of(channel)
    with pytest.raises(CommandTimeout):
        await talk.ask({"do": "x"}, 0.01)
    assert channel.asked[-1] == {"drop": 1}
    asking = asyncio.ensure_future(talk.ask({"do": "y"}, 5.0))
    await asyncio.sleep(0)
    channel.told.put_nowait(b'{"id": 1, "answer": {"was": "x"}}\n{"id": 2, "ans')
    channel.told.put_nowait(b'wer": {"was": "y"}}\n')
    assert await asking == {"was": "y"}
    talk.close()


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (b'{"id": 1, "answer": {"all": "of i', '{"id": 1, "answer": {"all": "of i'),
        (b"Welcome to the host!\n", "Welcome to the host!"),
        (b'{"answer": {}}\n', '{"answer": {}}'),
        (b'{"id": [], "answer": {}}\n', '{"id": [], "answer": {}}'),
        (b"[1]\n", "[1]"),
        (b"\xff\n", "\N{REPLACEMENT CHARACTER}"),
        (b"[" * 5000 + b"\n", "[" * 300),
        (b'{"id": 1, "ended": "signal 9"}\n', "signal 9"),
        (b'{"id": 1, "answer": 5}\n', ""),
        (b"", "status None"),
    ],
)
async def test_what_is_no_whole_answer_is_none(said: bytes, detail: str) -> None:
    channel = Said()
    talk = of(channel)
    asking = asyncio.ensure_future(talk.ask({"do": "x"}, 5.0))
    await asyncio.sleep(0)
    channel.told.put_nowait(said)
    channel.told.put_nowait(b"")
    with pytest.raises(AgentRefused) as refused:
        await asking
    assert refused.value.diagnosis.code == GARBLED
    assert refused.value.diagnosis.title.endswith(f"not understood: {detail}")


async def test_an_agent_that_was_killed_is_started_again(servers: Servers) -> None:
    host = Counting()
    agent = Agent(host)
    await agent.ask("list")
    os.kill(host.agents[0], signal.SIGKILL)
    await asyncio.to_thread(wait_for, lambda: not alive(host.agents[0]), "it ends")
    talk = agent._talk
    assert talk is not None
    await asyncio.wait_for(asyncio.wait({talk._reading}), 10.0)
    assert (await agent.ask("list"))["launches"] == []
    assert len(host.agents) == 2
    agent.close()
    await host.close()
