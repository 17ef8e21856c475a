"""What a person gives by hand, and what a look that fails leaves standing."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.host.listening import Listener
from eagletui.host.processes import Found, RawServer
from eagletui.model.errors import CommandTimeout, ConnectionLost
from eagletui.monitor import discovery as discovery_module
from eagletui.monitor.api import Wanted
from eagletui.monitor.discovery import Discovery
from eagletui.monitor.servers import port_held

ARGV = ("python", "-m", "sglang.launch_server", "--model-path", "m", "--api-key", "sesame")
RAW = RawServer(key="7@1", pid=7, start_ticks=1, argv=ARGV, cwd="/srv", environment={})
OTHER = RawServer(
    key="8@1", pid=8, start_ticks=1, argv=(*ARGV, "--port", "30001"), cwd="/home", environment={}
)


SOCKETS: dict[int, tuple[Listener, ...]] = {}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the next looks give: a `Found`, or an error to raise."""
    answers: list[Any] = []

    async def find(_: object, before: object = None) -> Found:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Found)
        return answer

    async def version(*_: object) -> str:
        return "0.5.\x1b[2J23"

    class NoGpus:
        def __init__(self, _: object) -> None: ...

        async def processes(self) -> tuple[()]:
            return ()

    async def sockets(*_: object) -> dict[int, tuple[Listener, ...]]:
        return SOCKETS

    monkeypatch.setattr(discovery_module, "find_servers", find)
    monkeypatch.setattr(discovery_module, "listeners", sockets)
    monkeypatch.setattr(discovery_module, "sglang_version", version)
    monkeypatch.setattr(discovery_module, "GpuReader", NoGpus)
    return answers


async def look(wanted: Wanted, answers: list[Any], *founds: Any) -> Any:
    discovery = Discovery(wanted)
    answers.extend(founds)
    for _ in founds:
        result = await discovery.look(None)  # type: ignore[arg-type]
    return result


async def test_a_servers_key_goes_to_its_own_address_only(host: list[Any]) -> None:
    (own,), _ = await look(Wanted(), host, Found(servers=(RAW,)))
    assert own.api_key == "sesame"
    assert "sesame" not in repr(own)
    assert own.secrets.hide_text("<sesame>") == "<******>"
    odd = replace(RAW, argv=(*ARGV, "--note", "x-sesame"), environment={"HF_HOME": "/x/sesame"})
    (own,), _ = await look(Wanted(), host, Found(servers=(odd,)))
    assert "sesame" not in repr(own.process)
    assert own.process.environment["HF_HOME"] == "/x/******"
    (same,), _ = await look(Wanted(metrics=own.url), host, Found(servers=(RAW,)))
    assert same.api_key == "sesame"
    (elsewhere,), _ = await look(Wanted(metrics="http://elsewhere:1"), host, Found(servers=(RAW,)))
    assert (elsewhere.url, elsewhere.api_key) == ("http://elsewhere:1", None)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("servers", [(RAW,), (OTHER, RAW)])
async def test_an_address_means_the_server_that_was_found_there(
    host: list[Any], name: str, servers: tuple[RawServer, ...]
) -> None:
    wanted = Wanted(metrics=f"http://{name}:30000/metrics", log="/x.log")
    targets, _ = await look(wanted, host, Found(servers=servers))
    assert [target.process.pid for target in targets] == [raw.pid for raw in servers]
    ours = targets[-1]
    assert (ours.url, ours.api_key) == ("http://127.0.0.1:30000", "sesame")
    assert ours.process.log.target == "/x.log"
    assert [target.given for target in targets] == [raw is RAW for raw in servers]


async def test_an_address_means_the_server_that_answers_there(
    host: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that want one port, the one that holds it; neither is it where a stranger does."""
    loser = replace(RAW, key="6@1", pid=6)
    for holder, given in ((7, [False, True]), (99, [False, False, True])):
        listener = (Listener(address="127.0.0.1", pid=holder),)
        monkeypatch.setitem(SOCKETS, 6, listener)
        monkeypatch.setitem(SOCKETS, 7, listener)
        wanted = Wanted(metrics="localhost:30000")
        targets, _ = await look(wanted, host, Found(servers=(loser, RAW)))
        assert [target.given for target in targets] == given


@pytest.mark.parametrize("address", ["127.0.0.1:3000", "localhost:300000", "gpu1:30000"])
async def test_another_address_stands_beside_several_servers(host: list[Any], address: str) -> None:
    targets, _ = await look(Wanted(metrics=address), host, Found(servers=(RAW, OTHER)))
    assert [target.process.pid for target in targets] == [7, 8, None]
    assert [target.given for target in targets] == [False, False, True]
    assert targets[-1].api_key is None


async def test_a_password_in_a_given_address_is_used_and_not_shown(host: list[Any]) -> None:
    wanted = Wanted(metrics="http://bob:hunter2@gpu1:30000/metrics")
    (target,), _ = await look(wanted, host, Found())
    assert target.url == "http://bob:hunter2@gpu1:30000"
    assert "hunter2" not in target.process.key + target.process.url


async def test_what_a_host_says_is_made_safe(host: list[Any]) -> None:
    (target,), _ = await look(Wanted(), host, Found(servers=(RAW,)))
    assert "\x1b" not in target.process.version
    assert "sesame" not in " ".join(target.process.argv)


async def test_a_look_that_fails_forgets_nobody(host: list[Any]) -> None:
    slow = CommandTimeout("too slow")
    targets, _ = await look(Wanted(), host, Found(servers=(RAW,)), slow)
    assert [target.process.pid for target in targets] == [7]


async def test_a_host_that_cannot_be_looked_at_still_takes_a_given_log(host: list[Any]) -> None:
    targets, looked_at = await look(Wanted(log="/srv/x.log"), host, CommandTimeout("no /proc"))
    assert [target.process.key for target in targets] == ["log:/srv/x.log"]
    assert looked_at == ("no /proc",)


async def test_a_lost_connection_is_not_swallowed(host: list[Any]) -> None:
    with pytest.raises(ConnectionLost):
        await look(Wanted(), host, ConnectionLost("gone"))


async def test_a_named_pid_is_the_only_one(host: list[Any]) -> None:
    both = Found(servers=(RAW, OTHER))
    targets, _ = await look(Wanted(pid=8), host, both)
    assert [target.process.pid for target in targets] == [8]
    targets, looked_at = await look(Wanted(pid=9), host, both)
    assert targets == ()
    assert "9" in looked_at[-1]


async def test_only_servers_below_a_folder(host: list[Any]) -> None:
    targets, _ = await look(Wanted(under="/srv"), host, Found(servers=(RAW, OTHER)))
    assert [target.process.pid for target in targets] == [7]


async def test_who_holds_a_servers_port_is_told(
    host: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two launches race for a port: the loser is told of the winner, until it listens itself."""
    loser = RawServer(key="9@1", pid=9, start_ticks=1, argv=ARGV, cwd="/srv", environment={})
    winner = Listener(address="0.0.0.0", pid=7)
    said: list[dict[int, tuple[Listener, ...]]] = [
        {7: (), 9: ()},
        {7: (winner,), 9: (winner,)},
        {9: (winner,)},
        {9: (Listener(address="127.0.0.1", pid=9),)},
    ]
    asked: list[dict[int, int]] = []

    async def sockets(_: object, ports: dict[int, int], __: object) -> object:
        asked.append(ports)
        return said.pop(0)

    monkeypatch.setattr(discovery_module, "listeners", sockets)
    discovery = Discovery(Wanted())
    both = Found(servers=(RAW, loser))
    host.extend([both] * 5)
    seen = []
    for _ in range(5):
        targets, _looked = await discovery.look(None)  # type: ignore[arg-type]
        seen.append([(target.port_held_by, port_held(target)) for target in targets])
    words = "Port 30000 is held by process 7: this server cannot open it"
    free, taken = (None, ""), (7, words)
    assert seen == [[free, free], [free, taken], [free, taken], [free, free], [free, free]]
    # Who listens, listens on: nobody is asked about twice.
    assert asked == [{7: 30000, 9: 30000}] * 2 + [{9: 30000}] * 2


async def test_what_takes_the_port_of_the_named_server_is_its_restart(host: list[Any]) -> None:
    new = RawServer(key="9@1", pid=9, start_ticks=1, argv=ARGV, cwd="/srv", environment={})
    both = Found(servers=(RAW, OTHER))
    (named,), _ = await look(Wanted(pid=7), host, both)
    (again,), _ = await look(Wanted(pid=7), host, both, Found(servers=(new, OTHER)))
    assert (named.process.pid, again.process.pid) == (7, 9)
    assert again.process.key == named.process.key
    none, _ = await look(Wanted(pid=7), host, Found(servers=(new, OTHER)))
    assert none == ()


async def test_a_log_given_by_hand_may_hold_any_servers_secret(host: list[Any]) -> None:
    other = replace(OTHER, environment={"HF_TOKEN": "abrakadabra"})
    targets, _ = await look(
        Wanted(log="/x.log", api_key="simsalabim"), host, Found(servers=(RAW, other))
    )
    given = targets[-1]
    assert given.process.pid is None
    assert given.secrets.hide(b"sesame abrakadabra simsalabim").strip(b"* ") == b""
