"""One server's address, whatever its command line holds."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from eagletui.model.events import ScrapeFailed
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
