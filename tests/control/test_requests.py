"""What a restart asks a server over HTTP, of one that answers slowly."""

from __future__ import annotations

import asyncio
import json

import pytest

from eagletui.control.requests import ServerHttp
from eagletui.host.local import LocalHost

GENERATED = {"text": "x", "meta_info": {"completion_tokens": 4}}
LOADS = {"loads": [{"dp_rank": 0, "num_running_reqs": 2, "num_waiting_reqs": 1}]}


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_reply_that_comes_in_pieces_is_read_to_its_end(chunked: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = json.dumps(GENERATED if b"/generate" in head else LOADS).encode()
        sized = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
        writer.write(b"HTTP/1.1 200 OK\r\n" + sized + b"\r\n\r\n")
        for piece in (body[:9], body[9:]):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
            # The client reads the first piece before the second is there.
            for _ in range(200):
                await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n" if chunked else b"")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        http = ServerHttp(LocalHost(), ("python", "-m", "sglang.launch_server"), port)
        assert await http.first_token(10) == ""
        assert await http.running() == 3
