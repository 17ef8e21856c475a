"""The load client: every request of a cell on one event loop, over any aiohttp session."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence

import aiohttp

from eagletui.bench.load import Heard, Load, Moving, reply_from
from eagletui.hostside.stream_meter import StreamMeter
from eagletui.model.bodies import body_of
from eagletui.model.run import STOPPED

LOOK_EVERY = 0.5
"""Seconds between two looks at who waits too long."""

REST = 0.004
"""Seconds between two results. Streams of one length end together, and a result takes as long as a
hundred chunks: all at once, they would hold up the last chunks of those that still run."""

_NO_LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=30.0)
_BUFFER = 1 << 18
_OF_PYTHON = 1_000
"""More objects than Python leaves out of collections by itself (3.12: 375); a screen leaves out
tens of thousands."""


class Client:
    """Sends loads through a session; connections begin where the session's connector says.

    The session's connector must allow as many connections as a load's concurrency.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def drive(self, load: Load, heard: Heard, stop: asyncio.Event) -> float:
        """Send it all; see `bench.load.Driver`."""
        return await _Cell(self._session, load, heard).run(stop)


class _Cell:
    """One load under way."""

    def __init__(self, session: aiohttp.ClientSession, load: Load, heard: Heard) -> None:
        self._session = session
        self._load = load
        self._heard = heard
        self._url = load.url + load.endpoint
        self._headers = {"Content-Type": "application/json", **load.headers}
        self._meters: dict[int, tuple[StreamMeter, asyncio.Task[None]]] = {}
        self._ready: deque[tuple[int, StreamMeter]] = deque()
        self._finished = 0
        self._began = 0.0
        self._ended = 0.0

    async def run(self, stop: asyncio.Event) -> float:
        # What is there already is not looked through again while chunks wait for their time. A
        # screen has seen to that, and would be held up.
        if gc.get_freeze_count() > _OF_PYTHON:
            return await self._run(stop)
        gc.collect()
        gc.freeze()
        try:
            return await self._run(stop)
        finally:
            gc.unfreeze()

    async def _run(self, stop: asyncio.Event) -> float:
        self._began = self._ended = time.perf_counter()
        order = iter(range(len(self._load.bodies)))
        lanes = min(self._load.concurrency, len(self._load.bodies))
        workers = [asyncio.create_task(self._lane(order)) for _ in range(lanes)]
        watching = asyncio.create_task(self._watch())
        telling = asyncio.create_task(self._tell_on())
        stopping = asyncio.create_task(stop.wait())
        done = asyncio.create_task(_finished(workers))
        try:
            await asyncio.wait({done, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                done.result()
        finally:
            for task in (watching, telling, stopping, done, *workers):
                task.cancel()
            for meter, _ in self._meters.values():
                meter.fail(STOPPED)
            await asyncio.gather(
                watching, telling, stopping, done, *workers, return_exceptions=True
            )
            self._tell_all()
        return self._ended - self._began

    async def _lane(self, order: Iterator[int]) -> None:
        """One request after the other; with a rate, each not before its moment."""
        for index in order:
            if self._load.starts:
                wait = self._began + self._load.starts[index] - time.perf_counter()
                await asyncio.sleep(max(wait, 0.0))
            meter = StreamMeter(self._load.native, time.perf_counter())
            task = asyncio.create_task(self._one(index, meter))
            self._meters[index] = meter, task
            try:
                await asyncio.wait({task})
            finally:
                await self._over(index, meter, task)

    async def _over(self, index: int, meter: StreamMeter, task: asyncio.Task[None]) -> None:
        if not task.done():
            meter.fail(STOPPED)
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled() and (wrong := task.exception()) is not None:
            raise wrong
        del self._meters[index]
        self._ended = time.perf_counter()
        self._finished += meter.tokens
        self._ready.append((index, meter))
        if not meter.tokens:
            # Enough failures in a row end it all: they are told at once, and in their order.
            self._tell_all()

    async def _tell_on(self) -> None:
        while True:
            if self._ready:
                self._tell(*self._ready.popleft())
            await asyncio.sleep(REST if self._ready else 10 * REST)

    def _tell_all(self) -> None:
        while self._ready:
            self._tell(*self._ready.popleft())

    def _tell(self, index: int, meter: StreamMeter) -> None:
        self._heard(reply_from(index, meter.began - self._began, meter.result()))

    async def _one(self, index: int, meter: StreamMeter) -> None:
        try:
            async with self._session.post(
                self._url,
                data=self._load.bodies[index],
                headers=self._headers,
                timeout=_NO_LIMIT,
                read_bufsize=_BUFFER,
            ) as response:
                if response.status != 200:
                    body, _ = await body_of(response.content.iter_any(), 2000)
                    said = body.decode("utf-8", "replace")
                    meter.fail(f"HTTP {response.status}: {' '.join(said.split())[:200]}")
                    return
                clock, feed = time.perf_counter, meter.feed
                async for data in response.content.iter_any():
                    feed(data, clock())
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            meter.fail(_words(error))

    async def _watch(self) -> None:
        """End requests that wait too long, and say how far it is."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = time.perf_counter()
            tokens = self._finished
            for meter, task in self._meters.values():
                tokens += meter.tokens
                patience = self._load.first_s if meter.first is None else self._load.gap_s
                if now - meter.heard > patience:
                    meter.fail(f"no token for {patience:g} s")
                    task.cancel()
            self._heard(Moving(tokens=tokens, running=len(self._meters)))


async def _finished(workers: Sequence[asyncio.Task[None]]) -> None:
    """Wait until all are done; the first that fails is raised."""
    done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    for worker in done:
        worker.result()


def _words(error: BaseException) -> str:
    """What an HTTP client's exception means, in a few words."""
    if isinstance(error, aiohttp.ClientConnectorError):
        code = error.os_error.errno
        return f"no connection: {os.strerror(code) if code else error.os_error}"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the stream ended before it was complete"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection ended before an answer"
    if isinstance(error, asyncio.TimeoutError):
        return "no connection in time"
    text = str(error).strip().split("\n", 1)[0]
    return text[:200] or type(error).__name__
