"""Reads a server's counters while it is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp

from eagletui.engine.http_problems import classify_exception, classify_reply
from eagletui.engine.loads import read_loads, with_moments
from eagletui.engine.metrics import MAX_BODY, MetricsReader, NotMetrics
from eagletui.model.bodies import body_of
from eagletui.model.readings import Reading
from eagletui.model.safe import excerpt

LOADS_PATH = "/v1/loads?include=core,spec"
_LIMIT = aiohttp.ClientTimeout(total=8.0, sock_connect=5.0)


class Eye:
    """One server's `/metrics`, joined with the decode moments of `/v1/loads` (0.5.18+).

    Args:
        url: base of its address, as the session's connections see it.
        wall: the clock that readings carry.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        headers: dict[str, str],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._url = url
        self._headers = headers
        self._wall = wall
        self._reader = MetricsReader()
        self._cheap = False
        self.problem = ""
        """Why the last look saw no metrics, in words; "" where it saw them."""

    async def look(self) -> Reading | None:
        """What the counters say now; None where neither address says anything."""
        reading, loads = await asyncio.gather(self._metrics(), self._loads())
        self._cheap = loads is not None and loads.decode_moments is not None
        if reading is None:
            return loads
        return with_moments(reading, loads)

    async def glance(self) -> Reading | None:
        """What can be seen without holding the server up: the loads where they tell how decoding
        goes, else everything."""
        if self._cheap and (loads := await self._loads()) is not None:
            return loads
        return await self.look()

    async def flush(self) -> str:
        """Empty the prefix cache; "" or why that was not done (0.4.x answers both, newer POST)."""
        try:
            async with self._session.post(
                self._url + "/flush_cache", headers=self._headers, timeout=_LIMIT
            ) as response:
                if response.status == 200:
                    return ""
                body, _ = await body_of(response.content.iter_any(), MAX_BODY)
                return f"HTTP {response.status}: {excerpt(body, 120)}"
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            return classify_exception(error, ready=True).detail

    async def round_trip(self, times: int = 5) -> float | None:
        """Seconds of the fastest of some small requests; None where none is answered."""
        found = []
        for _ in range(times):
            began = time.perf_counter()
            try:
                await self._get("/v1/models")
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
                return None
            found.append(time.perf_counter() - began)
        return min(found)

    async def _metrics(self) -> Reading | None:
        at = self._wall()
        try:
            status, body, whole = await self._get("/metrics")
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            self.problem = classify_exception(error, ready=True).detail
            return None
        wrong = classify_reply(status, body[:4096], whole=whole, key_sent=bool(self._headers))
        if wrong is not None:
            self.problem = f"{wrong.detail} {wrong.advice}".strip()
            return None
        try:
            read = self._reader.read
            if self._reader.takes_long(body):
                reading = await asyncio.to_thread(read, body, at=at)
            else:
                reading = read(body, at=at)
        except NotMetrics as error:
            self.problem = error.what
            return None
        self.problem = "" if reading.engine == "sglang" else "These are no metrics of SGLang."
        return reading if reading.engine == "sglang" and not reading.truncated else None

    async def _loads(self) -> Reading | None:
        at = self._wall()
        try:
            status, body, _ = await self._get(LOADS_PATH)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
            return None
        return read_loads(body, at=at) if status == 200 else None

    async def _get(self, path: str) -> tuple[int, bytes, bool]:
        async with self._session.get(
            self._url + path, headers=self._headers, timeout=_LIMIT
        ) as response:
            return (response.status, *await body_of(response.content.iter_any(), MAX_BODY))
