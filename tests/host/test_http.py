"""HTTP whose connections start on the host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web

from eagletui.host.local import LocalHost
from eagletui.host.ssh import SshHost
from tests.sshd import free_port

AnyHost = LocalHost | SshHost
BIG = bytes(range(256)) * 3360


class Site:
    """An HTTP server on loopback that remembers its connections."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.peers: set[object] = set()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    port = free_port()
    made = Site(port)

    async def hello(request: web.Request) -> web.Response:
        assert request.transport is not None
        made.peers.add(request.transport.get_extra_info("peername"))
        return web.Response(text="hello " + await request.text())

    async def big(request: web.Request) -> web.Response:
        return web.Response(body=BIG)

    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000000"})
        await response.prepare(request)
        await response.write(b"x" * 1000)
        assert request.transport is not None
        request.transport.close()
        return response

    async def never(request: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    app = web.Application()
    routes: list[tuple[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = [
        ("/hello", hello),
        ("/big", big),
        ("/half", half),
        ("/never", never),
    ]
    for path, handler in routes:
        app.router.add_route("*", path, handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield made
    await runner.cleanup()


@pytest.fixture
async def client(host: AnyHost) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=host.http()) as session:
        yield session


async def test_a_connection_is_used_again(client: aiohttp.ClientSession, site: Site) -> None:
    for word in ("a", "b", "c"):
        async with client.post(f"{site.url}/hello", data=word) as response:
            assert await response.text() == f"hello {word}"
    assert len(site.peers) == 1


async def test_big_bodies(client: aiohttp.ClientSession, site: Site) -> None:
    for _ in range(3):
        async with client.get(f"{site.url}/big") as response:
            assert await response.read() == BIG
    async with client.post(f"{site.url}/hello", data="y" * 700_000) as response:
        assert len(await response.text()) == 700_006


async def test_many_at_once(client: aiohttp.ClientSession, site: Site) -> None:
    async def one(i: int) -> str:
        async with client.post(f"{site.url}/hello", data=str(i)) as response:
            return await response.text()

    assert await asyncio.gather(*map(one, range(30))) == [f"hello {i}" for i in range(30)]


async def test_server_closes_in_the_middle(client: aiohttp.ClientSession, site: Site) -> None:
    with pytest.raises(aiohttp.ClientError):
        async with client.get(f"{site.url}/half") as response:
            await asyncio.wait_for(response.read(), 5)


async def test_nobody_listens(client: aiohttp.ClientSession) -> None:
    with pytest.raises(aiohttp.ClientConnectorError) as caught:
        async with client.get(f"http://127.0.0.1:{free_port()}/"):
            pass
    assert isinstance(caught.value.os_error, ConnectionRefusedError)


async def test_time_limit(client: aiohttp.ClientSession, site: Site) -> None:
    with pytest.raises(asyncio.TimeoutError):
        async with client.get(f"{site.url}/never", timeout=aiohttp.ClientTimeout(total=0.3)):
            pass


@pytest.mark.sshd
async def test_after_a_reconnect(ssh: SshHost, site: Site) -> None:
    async with aiohttp.ClientSession(connector=ssh.http()) as session:
        async with session.get(f"{site.url}/hello") as response:
            assert response.status == 200
        await ssh.close()
        with pytest.raises(aiohttp.ClientConnectionError):
            async with session.get(f"{site.url}/hello"):
                pass
        await ssh.connect()
        async with session.get(f"{site.url}/hello") as response:
            assert response.status == 200
