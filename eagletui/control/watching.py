"""A server that was started: its log and its process, until something is so."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from eagletui.control.agent import AgentRefused
from eagletui.control.ends import died
from eagletui.control.job import DONE, PATIENCE, Job
from eagletui.control.launch_log import LaunchLog
from eagletui.control.verdicts import stalled, too_slow
from eagletui.model.restart import Happened

AGAIN = 0.2
"""Seconds until a log that ended is opened again."""
LAST_WORDS = 1.5
"""Seconds for the last lines of a process that died to arrive."""
FIRST_WORDS = 5.0
"""The same where nothing of its log has come yet: a busy host takes a while to begin."""
ENDING = 15.0
"""Seconds between the line that ends a launch and the end of its process."""


class Watching:
    """Watches the server that was started last."""

    def __init__(self, job: Job) -> None:
        self._job = job

    async def watch(
        self, until: Callable[[], bool], *, limit: float | None, stalls: bool = True
    ) -> Happened:
        """Follow log and process until something is so, the server dies, or time is up."""
        log = self._job.facts.log
        assert log is not None
        begun = renewed = looked = time.monotonic()
        log.moved = begun
        ended_at: float | None = None
        reading = asyncio.ensure_future(log.read(self._job.host))
        try:
            while not until():
                now = time.monotonic()
                if reading.done():
                    if log.is_file:
                        reading.result()  # raises what ended it
                    elif not await self.alive():  # what shows the log ends with the server
                        return await self._died(log, reading)
                    await asyncio.sleep(AGAIN)
                    reading = asyncio.ensure_future(log.read(self._job.host))
                if now - looked >= self._job.limits.poll:
                    looked = now
                    if not await self.alive():
                        return await self._died(log, reading)
                if log.ended and not log.ready:
                    ended_at = ended_at if ended_at is not None else now
                    if now - ended_at >= ENDING:
                        return Happened(kind="failed", problem=log.verdict)
                if now - renewed >= self._job.limits.renew:
                    renewed = now
                    await self._job.note()
                if limit is not None and now - begun >= limit:
                    return Happened(kind="late", problem=too_slow(limit))
                if stalls and now - log.moved >= self._job.limits.stall:
                    return Happened(kind="late", problem=stalled(self._job.limits.stall))
                await asyncio.sleep(min(0.05, self._job.limits.poll))
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await reading
        return DONE

    async def _died(self, log: LaunchLog, reading: asyncio.Future[None]) -> Happened:
        begun = time.monotonic()
        while not reading.done():
            waited = time.monotonic() - begun
            if waited >= (LAST_WORDS if log.heard else FIRST_WORDS):
                break
            await asyncio.sleep(0.1)
            if time.monotonic() - log.moved > 0.5 and log.verdict is not None:
                break
        ended = await self._ended() if log.verdict is None else {}
        verdict, pid = log.finish(), self._job.facts.child.get("pid")
        return Happened(kind="failed", problem=verdict or died(pid, ended))

    async def _ended(self) -> dict[str, Any]:
        """What the host says of its end."""
        try:
            told = await self._job.ask("look", which=self._job.which, patience=PATIENCE)
        except AgentRefused:
            return {}
        return dict(told.get("ended") or {})

    async def alive(self) -> bool:
        """Whether the server is there; a script may have left it to itself."""
        if await self._is_there():
            return True
        if self._job.facts.child.get("runner") != "command":
            return False
        # The script has ended; what it started may go on.
        told = await self._job.ask("look", which=self._job.which)
        if told["alive"]:
            self._job.facts.child = told["server"]
        return bool(told["alive"])

    async def _is_there(self) -> bool:
        child = self._job.facts.child
        done = await self._job.host.run(["cat", f"/proc/{child.get('pid', 0)}/stat"])
        words = done.stdout.rpartition(b")")[2].split()
        if not done.ok or len(words) < 20:
            return False
        return words[0] not in (b"Z", b"X") and int(words[19]) == child.get("start")
