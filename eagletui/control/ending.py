"""The end of a server: its requests, its processes, its port and its GPU memory."""

from __future__ import annotations

import asyncio
import time

from eagletui.control.agent import AgentRefused
from eagletui.control.job import DONE, PATIENCE, Job, failed
from eagletui.control.problems import left_words
from eagletui.control.requests import ServerHttp
from eagletui.control.verdicts import not_free, still_there, unkillable
from eagletui.model.restart import Happened

ASK_AGAIN = 0.5
LOOK = 2.0


class Ending:
    """Ends the old server, and what has to go of a new one."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def _old_http(self) -> ServerHttp | None:
        old, secrets = self._job.facts.old, self._job.facts.secrets
        if old is None:
            return None
        return ServerHttp(self._job.host, old.argv, old.answers or old.port, secrets)

    async def drained(self) -> Happened:
        """Wait until no request runs, as long as the guard allows."""
        http = self._old_http()
        renewed = time.monotonic()
        end = renewed + self._job.facts.guard.drain_seconds
        while http is not None:
            if time.monotonic() - renewed >= self._job.limits.renew:
                renewed = time.monotonic()
                await self._job.note()
            running = await http.running()
            if running is None:
                # Was it the connection? Then this raises, and the state is done again.
                await self._job.host.run(["true"])
                return Happened(kind="failed")
            if running == 0:
                return DONE
            left = end - time.monotonic()
            if left <= 0:
                return Happened(kind="late")
            self._job.say(f"{running} in flight; aborted in {left:.0f} s if they have not ended")
            await asyncio.sleep(min(ASK_AGAIN, left))
        return DONE

    async def aborted(self) -> Happened:
        """End every request that runs."""
        http = self._old_http()
        before = await http.running() if http is not None else None
        if http is None or not await http.abort_all():
            self._job.say("the server did not take the request to abort; it stops all the same")
            return Happened(kind="failed")
        end = time.monotonic() + LOOK
        # New ones may come as long as it serves: that some went shows that it did.
        while (left := await http.running()) and left >= (before or 0):
            if time.monotonic() >= end:
                break
            await asyncio.sleep(0.1)
        return DONE

    async def terminated(self) -> Happened:
        """Ask the old server to go, and wait until its main process is gone."""
        seconds = self._job.facts.guard.stop_seconds
        asked = await self._job.asked("terminate", which="old", stop_seconds=seconds)
        if asked.kind != "done":
            return asked
        end = time.monotonic() + seconds
        while True:
            wait = max(0.0, min(LOOK, end - time.monotonic()))
            try:
                about = await self._job.ask(
                    "gone", which="old", main=True, seconds=wait, patience=wait
                )
            except AgentRefused as refused:
                # It was told to stop: that nobody can say whether it did is no refusal.
                self._job.say(refused.what)
                await asyncio.sleep(min(wait, ASK_AGAIN))
            else:
                if about["gone"]:
                    return DONE
                self._job.say(f"still there: {left_words(about['left'])}")
            if time.monotonic() >= end:
                return Happened(kind="late")

    async def killed(self) -> Happened:
        """End what is left of the old server."""
        return await self.kill("old", "")

    async def gone(self) -> Happened:
        """Wait until the old server holds nothing any more."""
        return await self.until_gone("old")

    async def kill(self, which: str, mark: str, *, clear: bool = False) -> Happened:
        """End every process of a server; with `clear` also what it left behind."""
        end = time.monotonic() + self._job.limits.kill
        while True:
            try:
                about = await self._job.ask(
                    "kill",
                    which=which,
                    mark=mark,
                    clear=clear,
                    seconds=LOOK,
                    patience=PATIENCE,
                    note=self._job.noted(),
                )
            except AgentRefused as refused:
                return failed(refused)
            if about["killed"]:
                self._job.say(f"ended: {left_words(about['killed'])}")
            if not about["left"]:
                return DONE
            if time.monotonic() > end:
                return Happened(kind="failed", problem=unkillable(about["left"]))

    async def until_gone(self, which: str) -> Happened:
        """Wait for processes, port and GPU memory; orphans are ended."""
        begun = time.monotonic()
        while True:
            about = await self._job.ask("gone", which=which, seconds=LOOK, patience=2 * LOOK + 6)
            if about["gone"]:
                tool = about["gpu"]["tool"]
                if tool in ("hangs", "fails"):
                    self._job.say(f"nvidia-smi {tool}: GPU memory was not looked at")
                return DONE
            took = time.monotonic() - begun
            self._job.say(still_there(about))
            if about["left"] and took >= self._job.limits.orphans:
                killed = await self.kill(which, "")
                if killed.kind != "done":
                    return killed
            if took >= self._job.limits.gone:
                return Happened(kind="failed", problem=not_free(about, self._job.limits.gone))
