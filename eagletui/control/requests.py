"""What a restart asks a server over HTTP: requests in flight, their end, a first token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import aiohttp

from eagletui.engine.command import parse_command
from eagletui.engine.loads import read_loads
from eagletui.host.base import Host
from eagletui.model.bodies import body_of
from eagletui.model.jsontext import read_json
from eagletui.model.literals import Literals, literals_of

_TIMEOUT = 3.0
_TOKENS = 4
_MOST = 1 << 20
_ADMIN = "--admin-api-key"


class ServerHttp:
    """One server's HTTP side, as seen from its host.

    Args:
        argv: its command line, unmasked: keys are taken from it, used, and never shown.
        port: where it answers.
        secrets: what is covered in every reply; those of the command line too.
    """

    def __init__(
        self, host: Host, argv: Sequence[str], port: int, secrets: Literals | None = None
    ) -> None:
        command = parse_command(argv)
        self._host = host
        self._url = f"{command.url.rpartition(':')[0]}:{port}"
        self._key = command.api_key
        self._secrets = literals_of(argv) | (secrets or Literals())
        self._admin_key = _value(argv, _ADMIN) or self._key

    async def running(self) -> int | None:
        """Requests that run or wait; None where the server does not say."""
        async with self._session() as session:
            for path in ("/v1/loads", "/get_load"):
                try:
                    body = await self._get(session, path)
                except (aiohttp.ClientError, asyncio.TimeoutError, OSError):
                    return None
                if body is None:
                    continue
                if path == "/v1/loads":
                    reading = read_loads(body, at=time.time())
                    if reading is not None and reading.running is not None:
                        return int(reading.running + (reading.queued or 0))
                elif (count := _old_load(body)) is not None:
                    return count
        return None

    async def abort_all(self) -> bool:
        """End every request (`/abort_request` with `abort_all`, 0.4.10+)."""
        try:
            async with (
                self._session() as session,
                session.post(
                    f"{self._url}/abort_request",
                    json={"rid": "", "abort_all": True},
                    headers=_bearer(self._admin_key),
                ) as reply,
            ):
                return reply.status == 200
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError):
            return False

    async def first_token(self, limit: float) -> str:
        """Let it generate a few tokens; "" when it did, else what it answered instead."""
        said = ""
        for prompt in ({"text": "The"}, {"input_ids": [1, 2, 3]}):
            try:
                said = await self._generate(prompt, limit)
            except asyncio.TimeoutError:
                return f"no token within {limit:g} s"
            except (aiohttp.ClientError, OSError) as error:
                return self._secrets.hide_text(str(error)) or type(error).__name__
            # A server without tokenizer takes ids alone.
            if not said.startswith("HTTP 4"):
                break
        return said

    async def _generate(self, prompt: dict[str, Any], limit: float) -> str:
        sampling = {"max_new_tokens": _TOKENS, "temperature": 0}
        async with (
            self._session(limit) as session,
            session.post(
                f"{self._url}/generate",
                json={**prompt, "sampling_params": sampling},
                headers=_bearer(self._key),
            ) as reply,
        ):
            body = await self._body(reply)
            if reply.status != 200:
                return f"HTTP {reply.status}: {body[:200].decode('utf-8', 'replace')}"
        try:
            answer = read_json(body)
        except ValueError:
            return f"no JSON: {body[:200].decode('utf-8', 'replace')}"
        meta = answer.get("meta_info") if isinstance(answer, dict) else None
        tokens = meta.get("completion_tokens") if isinstance(meta, dict) else None
        if isinstance(tokens, int):
            return "" if tokens > 0 else "it generated no token"
        return "" if isinstance(answer, dict) and "text" in answer else "an answer without text"

    async def _get(self, session: aiohttp.ClientSession, path: str) -> bytes | None:
        async with session.get(self._url + path, headers=_bearer(self._key)) as reply:
            if reply.status != 200:
                return None
            return await self._body(reply)

    async def _body(self, reply: aiohttp.ClientResponse) -> bytes:
        body, _ = await body_of(reply.content.iter_any(), _MOST)
        return self._secrets.hide(body)

    def _session(self, limit: float = _TIMEOUT) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=self._host.http(), timeout=aiohttp.ClientTimeout(total=limit)
        )


def _bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _value(argv: Sequence[str], flag: str) -> str | None:
    for index, word in enumerate(argv):
        if word.replace("_", "-").startswith(f"{flag}="):
            return word.partition("=")[2]
        if word.replace("_", "-") == flag and index + 1 < len(argv):
            return argv[index + 1]
    return None


def _old_load(body: bytes) -> int | None:
    """`/get_load` (0.4.10 to 0.5.21): one entry a DP rank."""
    try:
        reply = read_json(body)
    except ValueError:
        return None
    ranks = reply if isinstance(reply, list) else [reply]
    counts = [rank.get("num_reqs") for rank in ranks if isinstance(rank, dict)]
    known = [count for count in counts if isinstance(count, int)]
    return sum(known) if known else None
