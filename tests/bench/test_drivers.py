"""Both ways of sending a load: the same requests, the same numbers, the same words."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from eagletui.bench.client import Client
from eagletui.bench.load import Driver, Endpoint, Load, Moving, Reply
from eagletui.bench.onhost import OnHost, program
from eagletui.host.local import LocalHost
from eagletui.model.errors import HostError
from tests.bench.server import FakeServer, serving

WAYS = ("client", "host")


@contextlib.asynccontextmanager
async def driver(way: str) -> AsyncIterator[Driver]:
    if way == "host":
        yield OnHost(LocalHost(), sys.executable)
        return
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        yield Client(session)


def load(server: FakeServer, count: int = 4, **how: Any) -> Load:
    endpoint: Endpoint = how.pop("endpoint", "/v1/chat/completions")
    body: dict[str, Any] = {"messages": [], "max_tokens": 9, "stream": True}
    if endpoint == "/generate":
        body = {"text": "x", "sampling_params": {"max_new_tokens": 9}, "stream": True}
    bodies = tuple(json.dumps({**body, "number": n}).encode() for n in range(count))
    return Load(url=server.url, endpoint=endpoint, bodies=bodies, **{"concurrency": 2, **how})


async def sent(way: str, what: Load, stop: asyncio.Event | None = None) -> dict[int, Reply]:
    heard: list[Reply | Moving] = []
    async with driver(way) as sender:
        seconds = await sender.drive(what, heard.append, stop or asyncio.Event())
    replies = {item.index: item for item in heard if isinstance(item, Reply)}
    assert seconds >= max(r.sent.began + (r.sent.latency or 0.0) for r in replies.values())
    return replies


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("endpoint", ["/v1/chat/completions", "/v1/completions", "/generate"])
async def test_counts_are_the_servers(way: str, endpoint: Endpoint) -> None:
    async with serving() as server:
        replies = await sent(way, load(server, 5, endpoint=endpoint))
        assert sorted(body["number"] for body in server.bodies) == [0, 1, 2, 3, 4]
        assert server.most_under_way == 2
    assert sorted(replies) == [0, 1, 2, 3, 4]
    for reply in replies.values():
        assert (reply.sent.error, reply.sent.output_tokens) == ("", 9)
        assert reply.sent.prompt_tokens == 7
        assert reply.sent.ttft is not None
        assert reply.sent.latency is not None
        assert reply.sent.latency >= reply.sent.ttft > 0.0
        assert 0 < sum(tokens for _, tokens in reply.gaps) < 9
        assert reply.counted
        if endpoint == "/generate":
            assert (reply.sent.verify_steps, reply.sent.accepted) == (5, (1, 4))
            assert reply.cached_tokens == 3


@pytest.mark.parametrize("stopped", [False, True])
async def test_collections_do_not_look_through_the_whole_program_while_it_measures(
    stopped: bool,
) -> None:
    """And do again afterwards, however it ended."""
    frozen: list[int] = []
    stop = asyncio.Event()

    def heard(item: Reply | Moving) -> None:
        frozen.append(gc.get_freeze_count())
        if stopped:
            stop.set()

    async with serving() as server, driver("client") as sender:
        await sender.drive(load(server, 6), heard, stop)
    assert min(frozen) > 10_000
    assert gc.get_freeze_count() == 0


async def test_what_a_screen_left_out_of_collections_stays_left_out() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        async with serving() as server, driver("client") as sender:
            await sender.drive(load(server, 6), lambda _: None, asyncio.Event())
        assert gc.get_freeze_count() >= 0.9 * before
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("way", WAYS)
async def test_every_third_request_fails_and_the_rest_is_kept(way: str) -> None:
    async with serving(misbehave=lambda n: "500" if n % 3 == 2 else "") as server:
        replies = await sent(way, load(server, 6, concurrency=1))
    errors = [replies[index].sent.error for index in range(6)]
    assert errors == ["", "", 'HTTP 500: {"message": "out of luck"}'] * 2
    assert [replies[i].sent.output_tokens for i in range(6)] == [9, 9, 0, 9, 9, 0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("wrong", "tokens", "words"),
    [
        ("close", 4, "the stream ended before it was complete"),
        ("hang", 4, "no token for 0.3 s"),
        ("error", 2, "the server said: no memory left"),
    ],
)
async def test_a_stream_that_breaks_keeps_what_came(
    way: str, wrong: str, tokens: int, words: str
) -> None:
    async with serving(misbehave=lambda n: wrong if n == 1 else "") as server:
        replies = await sent(way, load(server, 3, concurrency=1, gap_s=0.3))
    assert [replies[index].sent.error for index in range(3)] == ["", words, ""]
    assert replies[1].sent.output_tokens == tokens
    assert replies[1].sent.ttft is not None
    assert replies[1].sent.latency is None


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_that_is_gone_fails_every_request_with_its_reason(way: str) -> None:
    async with serving() as server:
        what = load(server, 3)
    replies = await sent(way, what)
    assert {reply.sent.error for reply in replies.values()} == {"no connection: Connection refused"}


@pytest.mark.parametrize("way", WAYS)
async def test_stopping_keeps_what_came(way: str) -> None:
    """The third request hangs: stop then."""
    stop = asyncio.Event()

    def misbehave(number: int) -> str:
        if number == 2:
            asyncio.get_running_loop().call_later(0.2, stop.set)
        return "hang" if number == 2 else ""

    async with serving(misbehave=misbehave) as server:
        replies = await sent(way, load(server, 9, concurrency=1), stop)
    assert [replies[index].sent.error for index in sorted(replies)] == ["", "", "stopped"]
    assert replies[2].sent.output_tokens == 4


async def test_a_stop_that_overtakes_the_program_on_the_host_is_heard() -> None:
    """It stands behind the job on standard input before the program reads anything."""
    stop = asyncio.Event()
    stop.set()
    heard: list[Reply | Moving] = []
    async with serving(misbehave=lambda _: "hang") as server, driver("host") as sender:
        what = load(server, 4, concurrency=1, gap_s=5.0)
        assert await sender.drive(what, heard.append, stop) < 1.0
    assert len(heard) <= 2


@pytest.mark.parametrize("way", WAYS)
async def test_a_rate_sends_each_at_its_moment(way: str) -> None:
    starts = (0.0, 0.05, 0.3)
    async with serving() as server:
        replies = await sent(way, load(server, 3, concurrency=3, starts=starts))
    for index, start in enumerate(starts):
        assert start <= replies[index].sent.began


async def test_a_key_is_sent_and_stands_in_no_command_line() -> None:
    async with serving() as server:
        what = load(server, 1, headers={"Authorization": "Bearer hunter2"})
        for way in WAYS:
            await sent(way, what)
        assert [h["Authorization"] for h in server.headers] == ["Bearer hunter2"] * 2
    assert "hunter2" not in program()
    assert "hunter2" not in repr(what)


async def test_a_host_without_a_fitting_python_is_said() -> None:
    async with serving() as server:
        with pytest.raises(HostError, match="ended before its work was done"):
            await OnHost(LocalHost(), "/bin/false").drive(
                load(server), lambda _: None, asyncio.Event()
            )


async def test_progress_is_told_while_a_request_hangs() -> None:
    for way in WAYS:
        stop = asyncio.Event()
        moves: list[Moving] = []

        def heard(item: Reply | Moving, moves: list[Moving] = moves, stop: Any = stop) -> None:
            if isinstance(item, Moving):
                moves.append(item)
                stop.set()

        async with serving(misbehave=lambda _: "hang") as server, driver(way) as sender:
            await sender.drive(load(server, 2), heard, stop)
        assert moves[0] == Moving(tokens=8, running=2)
