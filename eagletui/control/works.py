"""What is done on the host in each state of a restart."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from eagletui.control.agent import Agent, AgentRefused
from eagletui.control.api import Detached, Limits, Owner, Running, plan_document
from eagletui.control.launch_log import LaunchLog
from eagletui.control.problems import GARBLED, holder_words, left_words, note_words
from eagletui.control.requests import ServerHttp
from eagletui.host.base import Host
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.events import Event
from eagletui.model.finding import Finding
from eagletui.model.literals import Literals, literals_of
from eagletui.model.profile import Guard, StartPlan
from eagletui.model.restart import Action, Happened, Standing
from eagletui.model.safe import safe
from eagletui.model.server import LogPlace

DONE = Happened(kind="done")
ASK_AGAIN = 0.5
LOOK = 2.0
AGAIN = 0.2
"""Seconds until a log that ended is opened again."""
LAST_WORDS = 1.5
"""Seconds for the last lines of a process that died to arrive."""
PATIENCE = 100.0
"""Seconds for docker and systemd to do what they are told."""
ENDING = 15.0
"""Seconds between the line that ends a launch and the end of its process."""

Tell = Callable[[str, "Event | None"], None]
Check = Callable[[], Awaitable["Diagnosis | None"]]


class Facts:
    """What a restart knows of its two servers; all of it is on the host too."""

    def __init__(
        self,
        launch: str,
        plan: StartPlan | None,
        guard: Guard,
        old: Running | None,
        *,
        again: bool = False,
    ) -> None:
        self.launch = launch
        self.again = again
        self.plan = plan
        self.guard = guard
        self.old = old
        self.new_argv: tuple[str, ...] = plan.argv if plan is not None else ()
        self.child: dict[str, Any] = {}
        self.log: LaunchLog | None = None

    @property
    def secrets(self) -> Literals:
        """What the logs and the replies of both may hold."""
        plan, old = self.plan, self.old
        new = literals_of(plan.argv, plan.environment) if plan is not None else Literals()
        return new | (literals_of(old.argv, old.environment) if old is not None else Literals())

    @property
    def port(self) -> int:
        """Where the server answers that is being started or stopped."""
        if self.plan is not None:
            return self.plan.port
        return self.old.port if self.old is not None else 0


class Works:
    """The host's side of a restart: one method for each action of the machine.

    Args:
        agent: one that may have been asked already; None is one of its own.
        standing: where the machine stands when it is asked.
        tell: shows a detail or an event of the log.
        check: a further check of the caller's own, `engine.check` for one.
    """

    def __init__(
        self,
        host: Host,
        facts: Facts,
        *,
        agent: Agent | None = None,
        owner: Owner,
        limits: Limits,
        standing: Callable[[], Standing],
        tell: Tell,
        check: Check | None = None,
        breaks: bool | str = "",
        kept: bool = False,
    ) -> None:
        pythons = [facts.plan.argv[0]] if facts.plan is not None and facts.plan.argv else []
        pythons += [facts.old.python] if facts.old is not None else []
        self._host = host
        self._agent = agent or Agent(host)
        self._agent.know(pythons)
        self._facts = facts
        self._owner = owner
        self._limits = limits
        self._standing = standing
        self._tell = tell
        self._check = check
        self._breaks = breaks
        self._kept = self._resumed = kept
        self.notes: tuple[Finding, ...] = ()
        self.do: dict[Action, Callable[[], Awaitable[Happened]]] = {
            "check": self._checked,
            "save": self._saved,
            "drain": self._drained,
            "abort": self._aborted,
            "terminate": self._terminated,
            "kill": self._killed,
            "await-gone": self._gone,
            "start": self._started,
            "follow": self._followed,
            "generate": self._generated,
            "settle": self._settled,
            "clear": self._cleared,
            "release": self._released,
        }

    # --- before anything changes --------------------------------------------------------------

    async def _checked(self) -> Happened:
        found = await self._check() if self._check is not None else None
        if found is not None:
            return Happened(kind="failed", problem=found)
        plan = None if self._facts.again else self._plan()
        try:
            told = await self._ask(
                "check",
                breaks=self._breaks,
                target=self._target(),
                plan=plan,
                patience=PATIENCE,
            )
        except AgentRefused as refused:
            return _failed(refused)
        self._breaks = told["breaks"]  # and no other: somebody may take it before us
        self.notes = tuple(note_words(note) for note in told.get("notes", ()))
        for note in self.notes:
            self._say(note.message)
        return DONE

    async def _saved(self) -> Happened:
        try:
            told = await self._ask(
                "save",
                breaks=self._breaks,
                note=self._note(),
                target=self._target(),
                # What was left is on the host, whole; here is only what is shown of it.
                plan=None if self._resumed else self._plan() or {},
                patience=PATIENCE,
            )
        except AgentRefused as refused:
            return _failed(refused)
        self._kept = True
        if self._facts.old is not None:
            answers = (told["old"] or {}).get("answers", 0)
            self._facts.old = replace(self._facts.old, answers=answers)
        return DONE

    def _target(self) -> dict[str, object] | None:
        return self._facts.old.target if self._facts.old is not None else None

    def _plan(self) -> dict[str, object] | None:
        return plan_document(self._facts.plan) if self._facts.plan is not None else None

    # --- the old server -----------------------------------------------------------------------

    def _old_http(self) -> ServerHttp | None:
        old = self._facts.old
        if old is None:
            return None
        return ServerHttp(self._host, old.argv, old.answers or old.port, self._facts.secrets)

    async def _drained(self) -> Happened:
        http = self._old_http()
        end = time.monotonic() + self._facts.guard.drain_seconds
        while http is not None:
            running = await http.running()
            if running is None:
                # Was it the connection? Then this raises, and the state is done again.
                await self._host.run(["true"])
                return Happened(kind="failed")
            if running == 0:
                return DONE
            left = end - time.monotonic()
            if left <= 0:
                return Happened(kind="late")
            self._say(f"{running} in flight; aborted in {left:.0f} s if they have not ended")
            await asyncio.sleep(min(ASK_AGAIN, left))
        return DONE

    async def _aborted(self) -> Happened:
        http = self._old_http()
        before = await http.running() if http is not None else None
        if http is None or not await http.abort_all():
            self._say("the server did not take the request to abort; it stops all the same")
            return Happened(kind="failed")
        end = time.monotonic() + LOOK
        # New ones may come as long as it serves: that some went shows that it did.
        while (left := await http.running()) and left >= (before or 0):
            if time.monotonic() >= end:
                break
            await asyncio.sleep(0.1)
        return DONE

    async def _terminated(self) -> Happened:
        seconds = self._facts.guard.stop_seconds
        asked = await self._asked("terminate", which="old", stop_seconds=seconds)
        if asked.kind != "done":
            return asked
        end = time.monotonic() + seconds
        while True:
            wait = max(0.0, min(LOOK, end - time.monotonic()))
            try:
                about = await self._ask(
                    "gone",
                    which="old",
                    main=True,
                    seconds=wait,
                    patience=wait,
                )
            except AgentRefused as refused:
                # It was told to stop: that nobody can say whether it did is no refusal.
                self._say(refused.what)
                await asyncio.sleep(min(wait, ASK_AGAIN))
            else:
                if about["gone"]:
                    return DONE
                self._say(f"still there: {left_words(about['left'])}")
            if time.monotonic() >= end:
                return Happened(kind="late")

    async def _killed(self) -> Happened:
        return await self._kill("old", "")

    async def _gone(self) -> Happened:
        return await self._until_gone("old")

    async def _kill(self, which: str, mark: str, *, clear: bool = False) -> Happened:
        end = time.monotonic() + self._limits.kill
        while True:
            try:
                about = await self._ask(
                    "kill",
                    which=which,
                    mark=mark,
                    clear=clear,
                    seconds=LOOK,
                    patience=PATIENCE,
                    note=self._note(),
                )
            except AgentRefused as refused:
                return _failed(refused)
            if about["killed"]:
                self._say(f"ended: {left_words(about['killed'])}")
            if not about["left"]:
                return DONE
            if time.monotonic() > end:
                return Happened(kind="failed", problem=_unkillable(about["left"]))

    async def _until_gone(self, which: str) -> Happened:
        begun = time.monotonic()
        while True:
            about = await self._ask("gone", which=which, seconds=LOOK, patience=2 * LOOK + 6)
            if about["gone"]:
                if about["gpu"]["tool"] in ("hangs", "fails"):
                    self._say(f"nvidia-smi {about['gpu']['tool']}: GPU memory was not looked at")
                return DONE
            took = time.monotonic() - begun
            self._say(_still_there(about))
            if about["left"] and took >= self._limits.orphans:
                killed = await self._kill(which, "")
                if killed.kind != "done":
                    return killed
            if took >= self._limits.gone:
                return Happened(kind="failed", problem=_not_free(about, self._limits.gone))

    # --- the new one --------------------------------------------------------------------------

    @property
    def _which(self) -> str:
        return "back" if self._standing().rolling_back else "new"

    @property
    def _mark(self) -> str:
        return f"{self._facts.launch}-back" if self._which == "back" else self._facts.launch

    async def _started(self) -> Happened:
        try:
            child = await self._ask(
                "start",
                which=self._which,
                mark=self._mark,
                source="before.json" if self._which == "back" or self._facts.again else "plan.json",
                note=self._note(),
                patience=PATIENCE,
            )
        except AgentRefused as refused:
            return _failed(refused)
        self.adopt(child)
        self._say(f"pid {child['pid']}, log {safe(str(child.get('log', '')))}")
        return DONE

    def adopt(self, child: dict[str, Any]) -> None:
        """Follow this process from now on."""
        self._facts.child = child
        self._facts.log = LaunchLog(
            place_of(child),
            inode=child.get("inode"),
            offset=child.get("offset", 0),
            secrets=self._facts.secrets,
            tell=lambda event: self._tell("", event),
        )

    async def _followed(self) -> Happened:
        await self.note()
        log = self._facts.log
        assert log is not None
        return await self._watch(lambda: log.ready, limit=self._facts.guard.start_seconds)

    async def _generated(self) -> Happened:
        await self.note()
        facts = self._facts
        argv = facts.new_argv
        if self._which == "back":
            argv = facts.old.argv if facts.old is not None else ()
        child = facts.child
        port = child.get("answers") or child.get("port") or facts.port
        http = ServerHttp(self._host, argv, port, facts.secrets)
        asking = asyncio.ensure_future(http.first_token(self._limits.first_token))
        try:
            watched = await self._watch(asking.done, limit=None, stalls=False)
            if watched.kind != "done":
                return watched
            said = asking.result()
        finally:
            asking.cancel()
        if not said:
            await self._alive()  # a script may have left the server to itself meanwhile
            return DONE
        # Was it the connection? Then this raises, and the state is done again.
        if not await self._alive():
            return await self._watch(lambda: False, limit=None, stalls=False)  # its log says why
        return Happened(
            kind="failed",
            problem=_problem(
                "no-first-token",
                f"The server says it is ready, but did not generate: {said}",
                "Look at its log; a model that loads but does not run has a wrong backend or "
                "too little memory.",
            ),
        )

    async def _settled(self) -> Happened:
        await self.note()
        end = time.monotonic() + self._limits.settle
        return await self._watch(lambda: time.monotonic() >= end, limit=None, stalls=False)

    async def _cleared(self) -> Happened:
        # What failed may have been started under the mark without anybody having noted it.
        cleared = await self._kill("new", self._facts.launch, clear=True)
        if cleared.kind != "done":
            return cleared
        self._facts.child, self._facts.log = {}, None
        return await self._until_gone("new")

    async def _released(self) -> Happened:
        if self._kept:
            log = self._facts.log
            note = {
                **self._note(),
                "phases": log.phases if log is not None else {},
                "version": log.version if log is not None else "",
            }
            try:
                told = await self._ask(
                    "release",
                    note=note,
                    ending=self._standing().state,
                    patience=PATIENCE,
                )
            except AgentRefused as refused:
                self._say(refused.diagnosis.title)
                return DONE
            for line in told["left"]:
                self._say(safe(str(line)))
        return DONE

    # --- watching -----------------------------------------------------------------------------

    async def _watch(
        self, until: Callable[[], bool], *, limit: float | None, stalls: bool = True
    ) -> Happened:
        """Follow log and process until something is so, the server dies, or time is up."""
        log = self._facts.log
        assert log is not None
        begun = renewed = looked = time.monotonic()
        log.moved = begun
        ended_at: float | None = None
        reading = asyncio.ensure_future(log.read(self._host))
        try:
            while not until():
                now = time.monotonic()
                if reading.done():
                    if log.is_file:
                        reading.result()  # raises what ended it
                    elif not await self._alive():  # what shows the log ends with the server
                        return await self._died(log, reading)
                    await asyncio.sleep(AGAIN)
                    reading = asyncio.ensure_future(log.read(self._host))
                if now - looked >= self._limits.poll:
                    looked = now
                    if not await self._alive():
                        return await self._died(log, reading)
                if log.ended and not log.ready:
                    ended_at = ended_at if ended_at is not None else now
                    if now - ended_at >= ENDING:
                        return Happened(kind="failed", problem=log.verdict)
                if now - renewed >= self._limits.renew:
                    renewed = now
                    await self.note()
                if limit is not None and now - begun >= limit:
                    return Happened(kind="late", problem=_too_slow(limit))
                if stalls and now - log.moved >= self._limits.stall:
                    return Happened(kind="late", problem=_stalled(self._limits.stall))
                await asyncio.sleep(min(0.05, self._limits.poll))
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await reading
        return DONE

    async def _died(self, log: LaunchLog, reading: asyncio.Future[None]) -> Happened:
        end = time.monotonic() + LAST_WORDS
        while time.monotonic() < end and not reading.done():
            await asyncio.sleep(0.1)
            if time.monotonic() - log.moved > 0.5 and log.verdict is not None:
                break
        verdict = log.finish()
        return Happened(
            kind="failed",
            problem=verdict
            or _problem(
                "process-died",
                f"The server's process (pid {self._facts.child.get('pid')}) is gone, and its log "
                "does not say why.",
                "It may have been killed, by the system's out-of-memory killer for one: see "
                "`dmesg` on the host.",
            ),
        )

    async def _alive(self) -> bool:
        if await self._is_there():
            return True
        if self._facts.child.get("runner") != "command":
            return False
        # The script has ended; what it started may go on.
        told = await self._ask("look", which=self._which)
        if told["alive"]:
            self._facts.child = told["server"]
        return bool(told["alive"])

    async def _is_there(self) -> bool:
        child = self._facts.child
        done = await self._host.run(["cat", f"/proc/{child.get('pid', 0)}/stat"])
        words = done.stdout.rpartition(b")")[2].split()
        if not done.ok or len(words) < 20:
            return False
        return words[0] not in (b"Z", b"X") and int(words[19]) == child.get("start")

    # --- small --------------------------------------------------------------------------------

    async def note(self) -> None:
        """Write down where the restart stands.

        Raises:
            Detached: the lock is no longer ours.
        """
        try:
            about = await self._ask("note", note=self._note())
        except AgentRefused:
            return  # a full disk stops no restart
        if not about.get("ours", True):
            raise Detached(
                "Somebody took the lock of this host away.",
                meaning="They may restart the same server; this restart is left where it is.",
                advice="Look at the host before anything else.",
            )

    async def leave(self) -> None:
        """Write down that nobody watches any more, and give the lock back."""
        await self._ask("leave", note=self._note())

    async def withdraw(self) -> None:
        """Tidy up and give the lock back, also where nobody heard that it was taken."""
        self._kept = True
        await self._released()

    def close(self) -> None:
        """Let the agent go; a further request starts another."""
        self._agent.close()

    async def _ask(self, do: str, *, patience: float = 0.0, **request: Any) -> dict[str, Any]:
        """What the agent says to a request about this launch."""
        owner = msgspec.to_builtins(self._owner)
        return await self._agent.ask(
            do, launch=self._facts.launch, owner=owner, patience=patience, **request
        )

    async def _asked(self, do: str, **request: Any) -> Happened:
        try:
            await self._ask(do, note=self._note(), **request)
        except AgentRefused as refused:
            return _failed(refused)
        return DONE

    def _note(self) -> dict[str, object]:
        plan = self._facts.plan
        return {
            "standing": msgspec.to_builtins(self._standing()),
            "profile": plan.profile if plan is not None else "",
            "port": self._facts.port,
            "again": self._facts.again,
        }

    def _say(self, detail: str) -> None:
        self._tell(detail, None)


def _failed(refused: AgentRefused) -> Happened:
    """A refusal as the end of a state.

    Raises:
        AgentRefused: there was no answer, so it may have been done: asking again finds out.
    """
    if refused.diagnosis.code == GARBLED:
        raise refused
    return Happened(kind="failed", problem=refused.diagnosis)


def place_of(child: Mapping[str, Any]) -> LogPlace:
    """Where the log of a started server is read."""
    place = child.get("place") or {"kind": "file", "target": child.get("log", "")}
    return msgspec.convert(place, LogPlace)


def _problem(code: str, title: str, advice: str = "") -> Diagnosis:
    return Diagnosis(code=code, severity="fatal", title=safe(title)[:400], advice=advice)


def _unkillable(left: list[Any]) -> Diagnosis:
    return _problem(
        "unkillable",
        f"Killed, but still there: {left_words(left)}.",
        "A process in the kernel (a hanging driver or file system) goes only when that lets go; "
        "the host may need a restart.",
    )


def _not_free(about: dict[str, Any], limit: float) -> Diagnosis:
    return _problem(
        "not-free", f"After {limit:g} s still not free: {_still_there(about)}.", "End it by hand."
    )


def _still_there(about: dict[str, Any]) -> str:
    parts = []
    if about["left"]:
        parts.append(f"processes {left_words(about['left'])}")
    if about["port"] is not None:
        parts.append(f"the port, held by {holder_words(about['port'])}")
    if about["gpu"]["pids"]:
        parts.append("GPU memory of " + ", ".join(map(str, about["gpu"]["pids"])))
    return "; ".join(parts) or "nothing"


def _too_slow(limit: float) -> Diagnosis:
    return _problem(
        "start-too-slow",
        f"The server was not ready within {limit:g} s.",
        "Raise `guard.start-seconds`, if it needs longer.",
    )


def _stalled(limit: float) -> Diagnosis:
    return _problem(
        "start-stalled",
        f"The log has been silent for {limit:g} s while the server loads.",
        "It hangs: often NCCL, or a file system that does not answer.",
    )
