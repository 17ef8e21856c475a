"""The start of a server, up to its first token and a while beyond."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from eagletui.control.agent import AgentRefused
from eagletui.control.ending import Ending
from eagletui.control.job import DONE, PATIENCE, Job, failed
from eagletui.control.launch_log import LaunchLog
from eagletui.control.requests import ServerHttp
from eagletui.control.verdicts import fatal
from eagletui.control.watching import Watching
from eagletui.model.restart import Happened
from eagletui.model.safe import safe
from eagletui.model.server import LogPlace


class Starting:
    """Starts the new server, or again what ran before, and clears away one that failed."""

    def __init__(self, job: Job, ending: Ending) -> None:
        self._job = job
        self._ending = ending
        self._watching = Watching(job)

    async def started(self) -> Happened:
        """Start it; a second call finds the first one's."""
        again = self._job.which == "back" or self._job.facts.again
        try:
            child = await self._job.ask(
                "start",
                which=self._job.which,
                mark=self._job.mark,
                source="before.json" if again else "plan.json",
                note=self._job.noted(),
                patience=PATIENCE,
            )
        except AgentRefused as refused:
            return failed(refused)
        self.adopt(child)
        what = f"pid {child['pid']}" if child["pid"] else "it has ended already"
        self._job.say(f"{what}, log {safe(str(child.get('log', '')))}")
        return DONE

    def adopt(self, child: dict[str, Any]) -> None:
        """Follow this process from now on."""
        self._job.facts.child = child
        self._job.facts.log = LaunchLog(
            place_of(child),
            inode=child.get("inode"),
            offset=child.get("offset", 0),
            secrets=self._job.facts.secrets,
            tell=lambda event: self._job.tell("", event),
        )

    async def followed(self) -> Happened:
        """Read its log up to the ready line."""
        await self._job.note()
        log = self._job.facts.log
        assert log is not None
        return await self._watching.watch(
            lambda: log.ready, limit=self._job.facts.guard.start_seconds
        )

    async def generated(self) -> Happened:
        """Have it generate a few tokens."""
        await self._job.note()
        facts = self._job.facts
        argv = facts.new_argv
        if self._job.which == "back":
            argv = facts.old.argv if facts.old is not None else ()
        child = facts.child
        port = child.get("answers") or child.get("port") or facts.port
        http = ServerHttp(self._job.host, argv, port, facts.secrets)
        asking = asyncio.ensure_future(http.first_token(self._job.limits.first_token))
        try:
            watched = await self._watching.watch(asking.done, limit=None, stalls=False)
            if watched.kind != "done":
                return watched
            said = asking.result()
        finally:
            asking.cancel()
        if not said:
            await self._watching.alive()  # a script may have left the server to itself meanwhile
            return DONE
        # Was it the connection? Then this raises, and the state is done again.
        if not await self._watching.alive():
            # Its log says why.
            return await self._watching.watch(lambda: False, limit=None, stalls=False)
        return Happened(
            kind="failed",
            problem=fatal(
                "no-first-token",
                f"The server says it is ready, but did not generate: {said}",
                "Look at its log; a model that loads but does not run has a wrong backend or "
                "too little memory.",
            ),
        )

    async def settled(self) -> Happened:
        """Watch it for a while as it serves."""
        await self._job.note()
        end = time.monotonic() + self._job.limits.settle
        settled = await self._watching.watch(
            lambda: time.monotonic() >= end, limit=None, stalls=False
        )
        if settled.kind != "done" or await self._watching.alive():
            return settled
        # It died between the last look and the end.
        return await self._watching.watch(lambda: False, limit=None, stalls=False)

    async def cleared(self) -> Happened:
        """Make way for what ran before."""
        # What failed may have been started under the mark without anybody having noted it.
        cleared = await self._ending.kill("new", self._job.facts.launch, clear=True)
        if cleared.kind != "done":
            return cleared
        self._job.facts.child, self._job.facts.log = {}, None
        return await self._ending.until_gone("new")


def place_of(child: Mapping[str, Any]) -> LogPlace:
    """Where the log of a started server is read."""
    place = child.get("place") or {"kind": "file", "target": child.get("log", "")}
    return msgspec.convert(place, LogPlace)
