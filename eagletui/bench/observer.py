"""Looks at a server and its GPUs while a cell is measured, without being what is measured.

A page of `/metrics` holds up the server's HTTP process, which streams every reply: for 31 ms at
one rank and 197 ms at eight (0.5.23). It is read before and after a cell. Meanwhile `/v1/loads` is
asked where it tells the decode moments (0.5.18+), which costs next to nothing; elsewhere the page,
and seldom enough to take no more than `SHARE` of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from eagletui.bench.watch import Verdict, Watch
from eagletui.model.errors import HostError
from eagletui.model.readings import Reading
from eagletui.model.server import Gpu

LOOK_EVERY = 1.0
SHARE = 0.02
"""Of the time that looks take together."""

SETTLE = 3.0
"""Seconds that the server's counters may take to show the last request's end."""

SETTLE_EVERY = 0.2

Gpus = Callable[[], AsyncIterator[tuple[Gpu, ...]]]


class Eye(Protocol):
    """Reads the server's counters (`bench.eye.Eye`)."""

    problem: str

    async def look(self) -> Reading | None: ...

    async def glance(self) -> Reading | None: ...

    async def flush(self) -> str: ...


class Observer:
    """Tells a watch what is seen, and hands on what it rules.

    Args:
        eye: reads counters; None where there are none.
        gpus: readings of the host's GPUs, one iteration a cell; None where there are none.
        ruled: hears a watch's verdicts.
        noted: hears what is to be known of the whole, in words.
        seen: hears every look at the counters while a cell runs.
    """

    def __init__(
        self,
        eye: Eye | None,
        gpus: Gpus | None,
        *,
        ruled: Callable[[Verdict | None], None],
        noted: Callable[[str], None],
        seen: Callable[[Reading], None] = lambda _: None,
        clock: Callable[[], float],
    ) -> None:
        self._eye = eye
        self._gpus = gpus
        self._ruled = ruled
        self._noted = noted
        self._seen = seen
        self._clock = clock

    async def look(self, watch: Watch) -> Reading | None:
        """Read every counter."""
        reading = None if self._eye is None else await self._eye.look()
        if reading is not None:
            self._ruled(watch.saw(reading))
        return reading

    @contextlib.asynccontextmanager
    async def watching(self, watch: Watch) -> AsyncIterator[None]:
        """Look now and then until the block ends."""
        tasks = []
        if self._eye is not None:
            tasks.append(asyncio.create_task(self._look_on(self._eye, watch)))
        if self._gpus is not None:
            tasks.append(asyncio.create_task(self._look_at_gpus(self._gpus(), watch)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def settle(self, watch: Watch) -> None:
        """Look until the counter of generated tokens holds all of ours, or moves no more."""
        end = self._clock() + SETTLE
        while await self.look(watch) is not None:
            counted = watch.server_tokens
            if counted is None or counted >= watch.tokens or self._clock() >= end:
                return
            await asyncio.sleep(SETTLE_EVERY)

    async def _look_on(self, eye: Eye, watch: Watch) -> None:
        rest = LOOK_EVERY
        while True:
            await asyncio.sleep(rest)
            began = self._clock()
            reading = await eye.glance()
            rest = rest_after(self._clock() - began)
            if reading is not None:
                self._seen(reading)
                self._ruled(watch.saw(reading))

    async def _look_at_gpus(self, readings: AsyncIterator[tuple[Gpu, ...]], watch: Watch) -> None:
        try:
            async for gpus in readings:
                self._ruled(watch.saw_gpus(gpus))
        except HostError as error:
            self._noted(f"GPUs were not read: {error.what}")


def rest_after(seconds: float) -> float:
    """Seconds until the next look after one that took this long."""
    return max(LOOK_EVERY, seconds / SHARE)
