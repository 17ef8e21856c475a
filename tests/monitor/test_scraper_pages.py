"""One server's address, whatever its command line holds."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from eagletui.model.events import InfoRead, Scraped, ScrapeFailed
from eagletui.model.literals import Literals
from eagletui.monitor import scraper as scraper_module
from eagletui.monitor.scraper import Scraper

REPLY = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("key", "sent"),
    [("sesame", True), ("open\nsesame", False), ("nul\0", False), ("\ud800", False), ("", False)],
)
async def test_a_key_from_a_command_line_may_be_anything(key: str, sent: bool) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(REPLY)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, aiohttp.ClientSession() as session:
        scraper = Scraper(session, server="s", url=url, api_key=key, wall=lambda: 1.0)
        (failed,) = await scraper.once()
    assert isinstance(failed, ScrapeFailed)
    assert failed.problem == "unauthorised"
    assert (b"Authorization: Bearer sesame" in heads[0]) is sent


@asynccontextmanager
async def answering(reply: Callable[[str], tuple[int, bytes]]) -> AsyncIterator[str]:
    """An address that answers each path so."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        status, body = reply(path)
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
            % (status, len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_servers_own_secret_is_covered_in_every_reply() -> None:
    secrets = Literals(["hunter2/Zq"])
    info = {"version": "0.5.23", "note": "got hunter2/Zq", "n": 1, "hunter2/Zq": ["hunter2%2FZq"]}
    pages = {
        "/metrics": (200, b'sglang:num_running_reqs{model_name="hunter2/Zq"} 3\n'),
        "/server_info": (200, json.dumps(info).replace("/", "\\/").encode()),
    }
    answers = answering(lambda path: pages.get(path, (404, b"")))
    async with answers as url, aiohttp.ClientSession() as session:
        scraper = Scraper(
            session, server="s", url=url, api_key=None, secrets=secrets, wall=lambda: 1.0
        )
        scraped, read = await scraper.once()
    assert isinstance(scraped, Scraped)
    assert scraped.reading.running == 3
    assert isinstance(read, InfoRead)
    assert read.args["note"].startswith("got ***")
    assert "hunter2" not in repr((scraped, read))


async def test_neither_does_an_error_tell_it() -> None:
    answers = answering(lambda path: (500, b"wrong: hunter2Zq"))
    async with answers as url, aiohttp.ClientSession() as session:
        scraper = Scraper(
            session,
            server="s",
            url=url,
            api_key=None,
            secrets=Literals(["hunter2Zq"]),
            wall=lambda: 1.0,
        )
        (failed,) = await scraper.once()
    assert isinstance(failed, ScrapeFailed)
    assert "wrong: *********" in failed.detail


PAGE = b"# a line of comment\n" * 5000


async def _failed(respond: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> ScrapeFailed:
    """What a scrape of this page tells, with half a second for it."""
    app = web.Application()
    app.router.add_get("/metrics", respond)
    limit = aiohttp.ClientTimeout(total=0.5)
    async with TestServer(app) as server, aiohttp.ClientSession(timeout=limit) as session:
        url = str(server.make_url("")).rstrip("/")
        scraper = Scraper(session, server="s", url=url, api_key=None, wall=lambda: 1.0)
        (failed,) = await scraper.once()
    assert isinstance(failed, ScrapeFailed)
    return failed


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is reached within half a second."""
    monkeypatch.setattr(scraper_module, "MAX_BODY", 1 << 20)


@pytest.mark.usefixtures("small")
async def test_a_bomb_is_told_from_a_large_page() -> None:
    async def bomb(_: web.Request) -> web.StreamResponse:
        body = gzip.compress(bytes(4 << 20))
        assert len(body) < 10_000
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async def large(_: web.Request) -> web.StreamResponse:
        return web.Response(body=bytes(4 << 20))

    failed = await _failed(bomb)
    assert failed.problem == "too large"
    assert "is packed (gzip) and unpacks to far more than a page" in failed.detail
    assert "proxy" in failed.advice
    failed = await _failed(large)
    assert (failed.problem, "packed" in failed.detail) == ("too large", False)


@pytest.mark.usefixtures("small")
async def test_a_page_that_never_ends_is_called_so() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(PAGE)
        return response

    failed = await _failed(endless)
    assert failed.problem == "too large"
    assert failed.detail.startswith("The reply does not end")
    assert "stream" in failed.advice


async def test_a_slow_page_says_how_far_it_came() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"sglang:num_running_reqs 1\n")
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.sleep(60)
        return response

    async def silent(_: web.Request) -> web.StreamResponse:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return web.Response()

    failed = await _failed(slow)
    assert failed.problem == "timeout"
    assert failed.detail == "The reply began, but was not over within 0.5 s: 26 bytes came."
    assert "slow" in failed.advice
    assert (await _failed(silent)).detail.startswith("The server did not answer in time.")
