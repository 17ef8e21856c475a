"""Decode moments are asked for as long as a server may still give them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from eagletui.engine.metrics import KNOWN_AT_ONCE, NEW_AT_ONCE, MetricsReader
from eagletui.model.events import Scraped, ScrapeFailed
from eagletui.model.readings import Reading
from eagletui.monitor.scraper import GIVE_UP_LOADS, Scraper

NOT_YET = '{"loads": [{"dp_rank": 0, "num_running_reqs": 0, "decode_moments": null}]}'
MOMENTS = (
    '{"loads": [{"dp_rank": 0, "num_running_reqs": 1, "decode_moments": [%d, %d, %d, 1, 1, %d]}]}'
)


class Served:
    """What the server answers next, and how often each path was asked for."""

    def __init__(self) -> None:
        self.loads = NOT_YET
        self.decoded = 0
        self.asked = 0

    async def metrics(self, _: web.Request) -> web.Response:
        lines = (
            "# TYPE sglang:num_running_reqs gauge",
            'sglang:num_running_reqs{tp_rank="0"} 1',
            "# TYPE sglang:realtime_tokens_total counter",
            f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0"}} {self.decoded}',
        )
        return web.Response(text="\n".join(lines) + "\n", content_type="text/plain")

    async def reply(self, _: web.Request) -> web.Response:
        self.asked += 1
        return web.Response(text=self.loads, content_type="application/json")


Once = Callable[[], Awaitable[Scraped]]


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.fixture
async def once(served: Served) -> AsyncIterator[Once]:
    app = web.Application()
    app.router.add_get("/metrics", served.metrics)
    app.router.add_get("/v1/loads", served.reply)
    server = TestServer(app)
    await server.start_server()
    clock = iter(range(1, 1000))
    async with aiohttp.ClientSession() as session:
        scraper = Scraper(
            session,
            server=":1",
            url=str(server.make_url("")).rstrip("/"),
            api_key=None,
            wall=lambda: float(next(clock)),
        )

        async def scrape() -> Scraped:
            (event,) = [e for e in await scraper.once() if isinstance(e, Scraped)]
            return event

        yield scrape
    await server.close()


async def test_moments_that_come_later_are_taken(served: Served, once: Once) -> None:
    """SGLang 0.5.23 says null until the first steps, and that is when one connects."""
    for _ in range(50):
        assert (await once()).reading.decode_moments is None
    served.loads = MOMENTS % (10, 10, 50_000, 20)
    assert (await once()).reading.decode_moments is not None
    served.loads = MOMENTS % (20, 20, 110_000, 44)
    rates = (await once()).rates
    assert rates.source == "decode moments"
    assert rates.step_ms == pytest.approx(6.0)


async def test_a_release_without_them_is_not_asked_for_ever(served: Served, once: Once) -> None:
    for served.decoded in range(GIVE_UP_LOADS + 10):
        await once()
    assert served.asked == GIVE_UP_LOADS + 1


@pytest.mark.parametrize(
    ("size", "elsewhere"),
    [
        (NEW_AT_ONCE, [False, False]),
        (NEW_AT_ONCE + 100, [True, False]),
        (KNOWN_AT_ONCE + 100, [True, True]),
    ],
)
async def test_a_page_that_takes_long_is_read_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, size: int, elsewhere: list[bool]
) -> None:
    line = 'sglang:num_running_reqs{tp_rank="0"} 1\n'
    page = line + "# a line of comment\n" * ((size - len(line)) // 20)
    page += "#" * (size - len(page) - 1) + "\n"
    threads: list[bool] = []
    read = MetricsReader.read

    def noted(reader: MetricsReader, body: bytes, *, at: float) -> Reading:
        assert len(body) == size
        threads.append(threading.current_thread() is not threading.main_thread())
        return read(reader, body, at=at)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=page, content_type="text/plain")

    monkeypatch.setattr(MetricsReader, "read", noted)
    async with _scraper({"/metrics": metrics}) as scraper:
        for _ in range(2):
            (scraped,) = await scraper.once()
            assert isinstance(scraped, Scraped)
            assert scraped.reading.running == 1
    assert threads == elsewhere


async def test_a_server_without_metrics_is_not_asked_every_second() -> None:
    asked = 0

    async def metrics(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(status=404)

    async with _scraper({"/metrics": metrics}) as scraper:
        for _ in range(5):
            (failed,) = await scraper.once()
            assert isinstance(failed, ScrapeFailed)
            assert failed.problem == "not found"
    assert asked == 1


@contextlib.asynccontextmanager
async def _scraper(
    routes: dict[str, Callable[[web.Request], Awaitable[web.Response]]],
    held: Callable[[], str] = lambda: "",
) -> AsyncIterator[Scraper]:
    app = web.Application()
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        url = str(server.make_url("")).rstrip("/")
        yield Scraper(session, server=":1", url=url, api_key=None, wall=lambda: 1.0, held=held)


async def test_a_port_that_another_process_holds_is_not_read() -> None:
    asked = 0
    held = "Port 1 is held by process 7: this server cannot open it"

    async def metrics(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(text='sglang:num_running_reqs{tp_rank="0"} 1\n')

    async with _scraper({"/metrics": metrics}, held=lambda: held) as scraper:
        (failed,) = await scraper.once()
        assert isinstance(failed, ScrapeFailed)
        assert (failed.problem, failed.detail, asked) == ("refused", held, 0)
        assert "--port" in failed.advice
        held = ""
        (scraped,) = await scraper.once()
        assert isinstance(scraped, Scraped)
