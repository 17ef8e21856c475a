"""Drives the machine of `model.restart` on a host."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from eagletui.control.agent import Agent, AgentRefused, asked_once
from eagletui.control.api import (
    Detached,
    Limits,
    Outcome,
    Owner,
    Progress,
    Running,
    new_launch_id,
    refuse_what_cannot_be,
)
from eagletui.control.facts import Facts
from eagletui.control.job import Job
from eagletui.control.owner import is_gone
from eagletui.control.problems import GARBLED, QUIET, problem
from eagletui.control.works import Check, Works
from eagletui.host.base import Host
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import HostError
from eagletui.model.events import Event
from eagletui.model.finding import Finding
from eagletui.model.launches import left
from eagletui.model.profile import Guard, StartPlan
from eagletui.model.restart import (
    RULES,
    Action,
    Goal,
    Happened,
    Kind,
    Standing,
    account,
    begin,
    step,
)

_Restored = tuple[Standing, "StartPlan | None", Guard, "Running | None"]
_BACKOFF = (0.2, 0.5, 1.0, 2.0, 5.0)
_GARBLED = 3
"""Times that the agent is asked again where it ended without an answer."""
_ANOTHER_LOSS = 60.0
"""Seconds without a loss after which the next one is tried for its whole time again."""


class Restart:
    """One change of what runs on a host, from the check to the first token or back.

    Losing the connection, or being abandoned, stops nothing on the host: `resume` goes on.

    Args:
        host: connected.
        plan: what is to be started; None only stops.
        replaces: the server that has to go first.
        owner: who does it, for the lock.
        guard: limits of a plain stop; with a plan, its own guard counts.
        again: start what `replaces` is, with its whole environment, which stays on the host.
        agent: one that others ask too, and that stays; None is one of its own, which is closed.
        check: a further check before anything is touched; a diagnosis refuses.
        break_lock: take the lock away from whoever has it when it is checked, or only from who
            had the one of this key.
        reconnect: makes a lost connection again; None is `host.connect`.

    Raises:
        ReadOnly: the guard of the plan forbids it.
    """

    def __init__(
        self,
        host: Host,
        plan: StartPlan | None,
        *,
        replaces: Running | None = None,
        owner: Owner,
        limits: Limits | None = None,
        guard: Guard | None = None,
        again: bool = False,
        agent: Agent | None = None,
        check: Check | None = None,
        break_lock: bool | str = False,
        reconnect: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        if plan is not None:
            refuse_what_cannot_be(plan)
        guard = plan.guard if plan is not None else guard or Guard()
        if plan is None:
            guard = replace(guard, roll_back="never")
        goal: Goal = "launch" if plan is not None else "stop"
        standing, actions = begin(
            goal=goal, replaces=replaces is not None, roll_back=guard.roll_back
        )
        facts = Facts(new_launch_id(), plan, guard, replaces, again=again)
        self._set_up(host, facts, standing, actions, owner, limits or Limits(), reconnect)
        asked = agent or Agent(host)
        self._own_agent = asked if agent is None else None
        self._works = self._make_works(asked, check=check, breaks=break_lock or "")

    def _set_up(
        self,
        host: Host,
        facts: Facts,
        standing: Standing,
        actions: tuple[Action, ...],
        owner: Owner,
        limits: Limits,
        reconnect: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._host = host
        self._facts = facts
        self._standing = standing
        self._actions = actions
        self._owner = owner
        self._limits = limits
        self._reconnect = reconnect or host.connect
        self._begun = self._ended = 0.0
        self._wishes: asyncio.Queue[Kind] = asyncio.Queue()
        self._progress: asyncio.Queue[Progress | None] = asyncio.Queue()

    def _make_works(
        self,
        agent: Agent,
        *,
        check: Check | None = None,
        breaks: bool | str = "",
        kept: bool = False,
    ) -> Works:
        job = Job(
            self._host,
            self._facts,
            agent=agent,
            owner=self._owner,
            limits=self._limits,
            standing=lambda: self._standing,
            tell=self._tell,
        )
        return Works(job, check=check, breaks=breaks, kept=kept)

    @classmethod
    async def resume(
        cls,
        host: Host,
        launch: str,
        *,
        owner: Owner,
        limits: Limits | None = None,
        agent: Agent | None = None,
        break_lock: bool | str = False,
        reconnect: Callable[[], Awaitable[None]] | None = None,
    ) -> Restart:
        """Go on with a launch that somebody left in any state.

        Raises:
            AgentRefused: the host knows no such launch, or its eagletui is still at it.
            HostError: the host did not answer.
        """
        asked = agent or Agent(host)
        try:
            kept, (standing, plan, guard, old) = await _taken_over(asked, launch, owner, break_lock)
        except BaseException:
            if agent is None:
                asked.close()
            raise
        state = kept["state"]
        self = cls.__new__(cls)
        facts = Facts(launch, plan, guard, old, again=bool(state.get("again")))
        actions = (RULES[standing.state].action,)
        self._set_up(host, facts, standing, actions, owner, limits or Limits(), reconnect)
        self._works = self._make_works(asked, kept=True)
        self._own_agent = asked if agent is None else None
        child = state.get("back" if standing.rolling_back else "new")
        if child:
            self._works.adopt(child)
        if state.get("boot") != kept["boot"]:
            self._tell("the host was started anew meanwhile: nothing of before runs", None)
        return self

    # --- from outside -------------------------------------------------------------------------

    @property
    def launch(self) -> str:
        """The id by which it can be resumed."""
        return self._facts.launch

    @property
    def standing(self) -> Standing:
        """Where it stands."""
        return self._standing

    @property
    def pid(self) -> int | None:
        """The process that was started last; None where it was over before it was seen."""
        return int(self._facts.child.get("pid") or 0) or None

    @property
    def log(self) -> str:
        """The log on the host of what was started last."""
        return str(self._facts.child.get("log", ""))

    @property
    def phases(self) -> dict[str, float]:
        """Seconds by phase of the last start."""
        return self._facts.log.phases if self._facts.log is not None else {}

    @property
    def seconds(self) -> float:
        """How long it has taken since `run`."""
        return (self._ended or time.monotonic()) - self._begun if self._begun else 0.0

    async def check_only(self) -> Diagnosis | None:
        """What stands in the way, changing nothing; None when nothing does. See `notes` then.

        Call `close` where it is not run afterwards.

        Raises:
            HostError: the connection was lost; nothing was begun that would be worth a wait.
        """
        return (await self._patiently(self._works.do["check"], waits=False)).problem

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What the last check found that a person should know: what a runner cannot do."""
        return self._works.notes

    def cancel(self) -> None:
        """Undo what was begun; `standing.on_cancel` says what that means now."""
        self._wishes.put_nowait("cancel")

    def answer(self, put_back: bool) -> None:
        """The answer to `asking`: whether what ran before is put back."""
        self._wishes.put_nowait("yes" if put_back else "no")

    async def progress(self) -> AsyncGenerator[Progress, None]:
        """Run it, telling what happens; leaving the iteration early detaches.

        Raises:
            Detached: the host stayed out of reach.
        """
        task = asyncio.ensure_future(self.run())
        task.add_done_callback(lambda _: self._progress.put_nowait(None))
        try:
            while (told := await self._progress.get()) is not None:
                yield told
            task.result()
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def run(self) -> Outcome:
        """Drive it to its end.

        Raises:
            Detached: the host stayed out of reach; everything on it goes on.
        """
        try:
            return await self._run()
        finally:
            self.close()

    def close(self) -> None:
        """Let the host's agent go, which `check_only` leaves waiting for more."""
        if self._own_agent is not None:
            self._own_agent.close()

    async def _run(self) -> Outcome:
        self._begun = time.monotonic()
        while True:
            if self._actions and self._actions[0] == "ask":
                await self._patiently(self._noted)  # who is asked may be gone before the answer
            self._tell("", None)
            if self._standing.final:
                break
            happened = await self._happen(self._actions[0])
            standing, actions = step(self._standing, happened)
            if standing.state != self._standing.state:
                self._actions = actions
            self._standing = standing
        await self._patiently(self._works.do["release"])
        self._ended = time.monotonic()
        return Outcome(
            launch=self.launch,
            standing=self._standing,
            account=account(self._standing),
            pid=self.pid,
            log=self.log,
            phases=self.phases,
            seconds=self.seconds,
        )

    async def leave(self) -> None:
        """Leave what was started to itself: the lock is free again, and any eagletui may go on.

        Call it when `progress` was left.

        Raises:
            AgentRefused, HostError: the host does not say; then the lock goes stale by itself.
        """
        try:
            await self._works.leave()
        finally:
            self.close()

    async def withdraw(self) -> None:
        """Give it up where the server was not yet told to stop; later nothing is done.

        Call it when `progress` was left.

        Raises:
            HostError: the host does not say; then the lock goes stale by itself.
        """
        if self._standing.state == "checking" or self._standing.old_gone or self._standing.started:
            return
        if self._standing.final:
            return
        self._standing, _ = step(self._standing, Happened(kind="cancel"))
        try:
            await self._patiently(self._works.withdraw, waits=False)
        finally:
            self.close()

    # --- inside -------------------------------------------------------------------------------

    async def _happen(self, action: Action) -> Happened:
        """The state's own work, or a wish of the person that leads out of it."""
        if action == "ask":
            return await self._asked()
        work = asyncio.ensure_future(self._patiently(self._works.do[action]))
        wish = asyncio.ensure_future(self._wishes.get())
        try:
            while True:
                await asyncio.wait({work, wish}, return_when=asyncio.FIRST_COMPLETED)
                if wish.done():
                    wanted = Happened(kind=wish.result())
                    changed, _ = step(self._standing, wanted)
                    if changed.state != self._standing.state:
                        return wanted
                    self._standing = changed
                    self._tell("", None)
                    wish = asyncio.ensure_future(self._wishes.get())
                if work.done():
                    return work.result()
        finally:
            wish.cancel()
            if not work.done():
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await work

    async def _asked(self) -> Happened:
        waiting = asyncio.ensure_future(self._wishes.get())
        end = self._limits.answer
        begun = time.monotonic()
        try:
            while not waiting.done():
                if end is not None and time.monotonic() - begun >= end:
                    return Happened(kind="no")
                await asyncio.wait({waiting}, timeout=min(self._limits.renew, end or 1e9))
                await self._patiently(self._noted)
            return Happened(kind=waiting.result())
        finally:
            waiting.cancel()

    async def _noted(self) -> Happened:
        await self._works.note()
        return Happened(kind="done")

    async def _patiently(
        self, work: Callable[[], Awaitable[Happened]], *, waits: bool = True
    ) -> Happened:
        """Do it again after a lost connection: each work finds what it did before.

        So also where the agent did not answer, a few times; any other refusal ends the state.

        Args:
            waits: whether a lost connection is waited for.
        """
        end, last, tries = 0.0, float("-inf"), 0
        garbled = 0
        while True:
            try:
                return await work()
            except Detached:
                raise
            except HostError as error:
                if not waits:
                    raise
                now = time.monotonic()
                if now - last > _ANOTHER_LOSS:
                    end, tries = now + self._limits.lost, 0
                last = now
                self._tell(f"{error.what} What runs on the host goes on; trying again.", None)
                if now >= end:
                    raise self._detached(error) from error
            except AgentRefused as refused:
                garbled += 1
                if refused.diagnosis.code != GARBLED or garbled > _GARBLED:
                    return Happened(kind="failed", problem=refused.diagnosis)
                self._tell(f"{refused.what} Asking again.", None)
            await asyncio.sleep(_BACKOFF[min(tries, len(_BACKOFF) - 1)])
            tries += 1
            with contextlib.suppress(HostError):
                await self._reconnect()

    def _detached(self, error: HostError) -> Detached:
        return Detached(
            f"The host is out of reach: {error.what}",
            meaning=f"The restart stands at: {self._standing.title}. The host goes on.",
            advice=f"Go on with it by --resume {self.launch} when the host is back.",
        )

    def _tell(self, detail: str, event: Event | None) -> None:
        self._progress.put_nowait(
            Progress(
                at=time.time(),
                launch=self.launch,
                standing=self._standing,
                detail=detail,
                event=replace(event, server=f":{self._facts.port}")
                if event is not None and hasattr(event, "server")
                else event,
            )
        )


async def _taken_over(
    agent: Agent, launch: str, owner: Owner, break_lock: bool | str
) -> tuple[dict[str, Any], _Restored]:
    """What the host keeps of a launch whose lock is ours now."""
    held = (await agent.ask("list", most=0))["lock"] or {}
    theirs = held.get("launch") == launch and is_gone(held, owner.host)
    breaks = held.get("key", "") if break_lock is True or theirs else break_lock or ""
    me = msgspec.to_builtins(owner)
    kept = await agent.ask("resume", launch=launch, owner=me, stale=QUIET, breaks=breaks)
    try:
        return kept, _restored(kept)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        with contextlib.suppress(AgentRefused):
            await agent.ask("leave", launch=launch, owner=me, note={})
        about = {"launch": launch, "detail": str(error) or type(error).__name__}
        raise AgentRefused(problem("damaged", about)) from error


def _restored(kept: dict[str, Any]) -> _Restored:
    """What a host keeps of a launch; nothing in it is taken for granted."""
    state = kept["state"]
    standing = msgspec.convert(state["standing"], Standing)
    plan, guard = None, msgspec.convert(kept.get("guard") or {}, Guard)
    if standing.goal == "launch":
        plan = StartPlan(
            argv=tuple(kept["argv"]["plan"]),
            port=state["port"],
            guard=guard,
            profile=state.get("profile", ""),
            runner=kept.get("runner", "process"),
        )
    return standing, plan, guard, _old_of(state, kept["argv"]["before"])


def _old_of(state: dict[str, Any], argv: list[str]) -> Running | None:
    old = state.get("old")
    if not old:
        return None
    return Running(
        pid=old["pid"],
        start_ticks=old["start"],
        port=old.get("port", 0),
        argv=tuple(argv),
        container=old.get("container", ""),
        unit=old.get("unit", ""),
        user_unit=bool(old.get("user_unit")),
        beside=tuple((pid, start) for pid, start in old.get("beside", ())),
        answers=old.get("answers", 0),
    )


async def unfinished(host: Host) -> list[dict[str, Any]]:
    """Launches on the host that did not come to an end and that no later one replaced.

    Newest first.

    Raises:
        AgentRefused, HostError: the host does not say.
    """
    kept = await asked_once(host, "list")
    return [dict(record) for record in left(kept["launches"]) if _readable(record)]


def _readable(record: Mapping[str, Any]) -> bool:
    try:
        msgspec.convert(record.get("standing"), Standing)
    except msgspec.ValidationError:
        return False
    return True
