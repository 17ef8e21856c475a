"""One server's HTTP address read again and again: metrics, loads, and what it says of itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp
from msgspec.structs import replace

from eagletui.engine.http_problems import Problem, classify_exception, classify_reply, unfinished
from eagletui.engine.loads import read_loads, with_moments
from eagletui.engine.metrics import MAX_BODY, MetricsReader, NotMetrics
from eagletui.engine.rates import RateMeter
from eagletui.engine.server_info import PATHS, read_server_info
from eagletui.model.base import Data
from eagletui.model.events import Event, InfoRead, Scraped, ScrapeFailed
from eagletui.model.literals import Literals
from eagletui.model.readings import Reading

# A scrape costs the server 30 to 200 ms of its HTTP loop: leave it at least four times as long.
REST = 4.0
ASK_AGAIN = 15.0
"""Seconds until a server without metrics is asked for them again."""
LONGEST_REST = 5.0
# A release that has decode moments says null until some steps were taken; one that lacks them says
# nothing ever. After so many replies without, between which tokens came, they are not asked for.
GIVE_UP_LOADS = 20
LOADS_PATH = "/v1/loads?include=core,spec"
HELD_ADVICE = (
    "Stop one of the two, or start this server with another --port. Its metrics are read once it "
    "listens itself."
)


class Unfinished(asyncio.TimeoutError):
    """A reply that began and was not over in time."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class Reply(Data, frozen=True):
    """An HTTP reply that came, whole or cut at the limit.

    Attributes:
        packed: its Content-Encoding; `body` is unpacked.
        sized: whether it said how long it is.
    """

    status: int
    body: bytes
    whole: bool = True
    packed: str = ""
    sized: bool = True


class Scraper:
    """Reads one server.

    Args:
        session: connects from the host.
        server: key that events carry.
        url: base address as seen from the host.
        api_key: sent as a bearer token where there is one.
        secrets: what is covered in every reply.
        wall: the user's clock.
        held: words about the process that listens on the server's port in its place, "" for none.
            As long as there is one, nothing is read: its numbers are not this server's.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        server: str,
        url: str,
        api_key: str | None,
        wall: Callable[[], float],
        secrets: Literals | None = None,
        held: Callable[[], str] = lambda: "",
    ) -> None:
        self._session = session
        self._secrets = secrets or Literals()
        self._held = held
        self._server = server
        self._url = url
        # A command line may hold anything; no header carries a control character.
        sendable = api_key is not None and api_key.isprintable() and api_key != ""
        self._headers = {"Authorization": f"Bearer {api_key}"} if sendable else {}
        self._wall = wall
        self._reader = MetricsReader()
        self._meter = RateMeter()
        self._loads: bool | None = None
        self._without_moments = 0
        self._decoded: float | None = None
        self._informed = False
        self._answered = False
        self._off: ScrapeFailed | None = None
        self._off_until = 0.0
        self.took = 0.0
        """Seconds that the last page of metrics took."""

    async def run(self, emit: Callable[[Event], None], interval: Callable[[], float]) -> None:
        """Scrape for ever."""
        while True:
            began = time.monotonic()
            for event in await self.once():
                emit(event)
            took = time.monotonic() - began
            rest = min(REST * self.took, LONGEST_REST)
            await asyncio.sleep(max(interval() - took, rest, 0.05))

    async def once(self) -> list[Event]:
        """One scrape; what the server says of itself too, the first time it answers."""
        if held := self._held():
            self._informed = False
            return [self._failed("refused", held, HELD_ADVICE)]
        began = time.monotonic()
        reading, failed = await self._unless_off()
        if failed is not None and failed.problem != "not found":
            self._informed = self._informed and failed.problem != "refused"
            return [failed]
        self.took = time.monotonic() - began
        reading = await self._with_loads(reading)
        events: list[Event] = []
        if failed is not None:
            events.append(failed)
        if reading is not None:
            rates = self._meter.add(reading)
            if rates.reset:
                self._informed = False
            events.append(
                Scraped(
                    at=reading.at, server=self._server, reading=reading, rates=rates, took=self.took
                )
            )
        if not self._informed:
            info = await self._info()
            if info is not None:
                self._informed = True
                events.append(info)
        return events

    async def _unless_off(self) -> tuple[Reading | None, ScrapeFailed | None]:
        """A server that was started without metrics is asked for them now and then only."""
        if self._off is not None and time.monotonic() < self._off_until:
            return None, replace(self._off, at=self._wall())
        reading, failed = await self._metrics()
        self._answered = self._answered or reading is not None
        self._off = failed if failed is not None and failed.problem == "not found" else None
        self._off_until = time.monotonic() + ASK_AGAIN
        return reading, failed

    async def _metrics(self) -> tuple[Reading | None, ScrapeFailed | None]:
        at = self._wall()
        try:
            reply = await self._get("/metrics")
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            late = error.problem if isinstance(error, Unfinished) else None
            problem = late or classify_exception(error, ready=self._answered)
            return None, self._failed(problem.problem, problem.detail, problem.advice)
        problem_or_none = classify_reply(
            reply.status,
            reply.body[:4096],
            whole=reply.whole,
            key_sent=bool(self._headers),
            packed=reply.packed,
            sized=reply.sized,
        )
        if problem_or_none is not None:
            p = problem_or_none
            return None, self._failed(p.problem, p.detail, p.advice, reply.status)
        try:
            return await self._read(reply.body, at), None
        except NotMetrics as error:
            return None, self._failed("not metrics", error.what, error.advice, reply.status)

    async def _read(self, body: bytes, at: float) -> Reading:
        """The page's numbers; a page that takes long leaves the event loop to others meanwhile."""
        if self._reader.takes_long(body):
            return await asyncio.to_thread(self._reader.read, body, at=at)
        return self._reader.read(body, at=at)

    def _failed(
        self, problem: str, detail: str, advice: str, status: int | None = None
    ) -> ScrapeFailed:
        return ScrapeFailed(
            at=self._wall(),
            server=self._server,
            problem=problem,  # type: ignore[arg-type]
            detail=detail,
            advice=advice,
            status=status,
        )

    async def _with_loads(self, reading: Reading | None) -> Reading | None:
        """Add decode moments where the device timer does not speak (0.5.18+)."""
        if self._loads is False or (reading is not None and reading.verify_seconds_total):
            return reading
        at = self._wall()
        try:
            reply = await self._get(LOADS_PATH)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
            return reading
        if reply.status != 200:
            self._loads = False
            return reading
        loads = read_loads(reply.body, at=at)
        if loads is None:
            self._loads = False
            return reading
        if reading is not None and loads.decode_moments is None:
            self._note_absence(reading)
            return reading
        self._loads = True
        if reading is None:
            return loads
        return with_moments(reading, loads)

    def _note_absence(self, reading: Reading) -> None:
        moved = self._decoded is not None and reading.decode_tokens_total != self._decoded
        self._decoded = reading.decode_tokens_total
        self._without_moments += moved
        if self._without_moments >= GIVE_UP_LOADS:
            self._loads = False

    async def _info(self) -> InfoRead | None:
        for path in PATHS:
            try:
                reply = await self._get(path)
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
                return None
            if reply.status == 404:
                continue
            if reply.status != 200:
                return None
            info = read_server_info(reply.body)
            if info is None:
                return None
            return InfoRead(
                at=self._wall(),
                server=self._server,
                version=info.version,
                args=info.args,
                speculative=info.speculative,
            )
        return None

    async def _get(self, path: str) -> Reply:
        """One reply, read as far as a page may be long, with the server's secrets covered.

        Raises:
            Unfinished: it began and was not over in time.
        """
        body = bytearray()
        async with self._session.get(self._url + path, headers=self._headers) as response:
            try:
                async for block in response.content.iter_chunked(1 << 16):
                    body += block
                    if len(body) > MAX_BODY:
                        break
            except asyncio.TimeoutError as error:
                late = unfinished(self._session.timeout.total, len(body))
                raise Unfinished(late) from error
            return Reply(
                status=response.status,
                body=self._secrets.hide(bytes(body)),
                whole=len(body) <= MAX_BODY,
                packed=response.headers.get("Content-Encoding", ""),
                sized="Content-Length" in response.headers,
            )
