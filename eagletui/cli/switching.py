"""Switching what a host runs, for the screen: profiles, checks and restarts joined.

Everything unmasked (the running server's command line, the plans) stays in here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from eagletui.cli.going_back import BEFORE, GoingBack
from eagletui.cli.profile_import import chosen, import_lines, imported_server, write_import
from eagletui.cli.running_base import Base, base_of, exact
from eagletui.cli.switch_asking import HostAsking
from eagletui.cli.switch_locks import is_free, lock_of, unfinished_of
from eagletui.cli.switch_measured import MeasuredRuns
from eagletui.cli.switch_menu import combined_with, menu_of
from eagletui.control.agent import Agent, AgentRefused
from eagletui.control.api import (
    Detached,
    Limits,
    Owner,
    Running,
    refuse_what_cannot_be,
)
from eagletui.control.problems import LOCKED
from eagletui.control.restart import Restart, unfinished
from eagletui.engine.check.run import check
from eagletui.engine.command import parse_command
from eagletui.engine.import_server import Imported
from eagletui.engine.plan_difference import difference
from eagletui.engine.releases import told_version
from eagletui.host.base import Host
from eagletui.host.containers import named
from eagletui.host.processes import find_servers
from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.finding import Finding
from eagletui.model.profile import StartPlan
from eagletui.model.references import mask_start, mask_start_environment
from eagletui.model.switching import (
    Change,
    Choice,
    Kept,
    Lock,
    LockHeld,
    Menu,
    Moment,
    Preview,
    SwitchRefused,
    Unfinished,
)
from eagletui.model.text import visible
from eagletui.store.installations import InstallationMemory
from eagletui.store.launches import LaunchMemory
from eagletui.store.profiles.shelf import Profiles

AS_IT_RUNS = Choice()


class _Shown(Data, frozen=True):
    """What a preview stands for. Unmasked: never to be shown."""

    plan: StartPlan
    again: bool = False
    asked: bool = False
    replaces: str = ""
    """The key of the server that would go; "" for none."""

    def __repr__(self) -> str:
        """Without the command line: a traceback may show it."""
        return f"_Shown({self.plan.profile})"


class HostSwitcher:
    """A `model.switching.Switcher` over a host that somebody else keeps connected.

    Args:
        profiles: what can be chosen.
        installations: where the options of SGLangs are kept.
        launches: what was learned of load times.
        measured: what was measured before; None shows nothing of it.
        reconnect: called after a loss, before the next try; None waits for whoever keeps the host.
        clock: the user's, seconds since the epoch.
    """

    def __init__(
        self,
        host: Host,
        *,
        profiles: Profiles,
        installations: InstallationMemory,
        launches: LaunchMemory,
        measured: MeasuredRuns | None = None,
        limits: Limits | None = None,
        reconnect: Callable[[], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._profiles = profiles
        self._launches = launches
        self._measured = measured
        self._limits = limits or Limits()
        self._reconnect = reconnect or _kept_by_another
        self._clock = clock
        self._base: Base | None = None
        self._shown: dict[Choice, _Shown] = {}
        self._restart: Restart | None = None
        self._name = ""
        self._seen = ""
        self._names: dict[str, str] = {}
        # Started for the first look, it is there for what is chosen a little later.
        self._agent = Agent(host)
        self._going_back = GoingBack(self._agent, host.name, exact, clock)
        self._host_says = HostAsking(host, self._agent, installations)

    # --- what can be chosen -------------------------------------------------------------------

    async def menu(self, pid: int | None, version: str = "") -> Menu:
        """What can be chosen in the place of this server."""
        self._base = None
        self._host_says.forget()
        if self._measured is not None:
            self._measured.forget()
        if pid is not None:
            found = await find_servers(self._host)
            raw = next((server for server in found.servers if server.pid == pid), None)
            if raw is not None:
                raw = await named(self._host, raw)
                self._base = base_of(raw, self._host.name, version)
        await self._look_back()
        before = self._going_back.before
        back = before.name if before is not None else ""
        return await asyncio.to_thread(menu_of, self._profiles, self._base, back)

    async def _look_back(self) -> None:
        base = self._base
        port = base.plan.port if base is not None else None
        present = (base.raw.pid, base.raw.start_ticks) if base is not None else None
        await self._going_back.look(port, present)

    # --- what it would do ---------------------------------------------------------------------

    async def preview(self, choice: Choice, *, ask: bool) -> Preview:
        """What a choice would do; nothing is changed."""
        try:
            if choice.back:
                plan = await self._going_back.plan()
            else:
                plan = await asyncio.to_thread(self._planned, choice)
            refuse_what_cannot_be(plan)
        except HostError:
            raise
        except EagletuiError as error:
            return Preview(
                choice=choice,
                problem=visible(error.what),
                advice=visible(error.advice or error.meaning),
                asked=True,
            )
        base = self._base
        here = base is not None and base.plan.port == plan.port
        asked = (
            await self._host_says.asked(plan, self._watched_key)
            if ask
            else self._host_says.said(plan)
        )
        replaced = asked.replaced if asked is not None else base.raw if base and here else None
        facts = asked.facts if asked is not None else None
        notes = asked.notes if asked is not None else ()
        again = here and choice == AS_IT_RUNS
        self._shown[choice] = _Shown(
            plan=plan,
            again=again,
            asked=asked is not None,
            replaces=replaced.key if replaced is not None else "",
        )
        release = told_version(base.version) if base is not None else None
        load, launches = await asyncio.to_thread(self._load, plan)
        before = base.plan if base is not None and here else StartPlan(argv=())
        measured = None
        if self._measured is not None:
            measured = await asyncio.to_thread(self._measured.last, plan)
        return Preview(
            choice=choice,
            name=visible(plan.profile) or (BEFORE if choice.back else ""),
            changes=_safe(difference(before, plan)),
            command=tuple(map(visible, mask_start(plan.argv))),
            environment={
                visible(k): visible(v) for k, v in mask_start_environment(plan.environment).items()
            },
            port=plan.port,
            replaces=replaced.pid if replaced is not None else None,
            findings=_safe(
                (
                    *(note for note in notes if note.severity == "error"),
                    *check(plan, release=release, facts=facts),
                    *(note for note in notes if note.severity != "error"),
                )
            ),
            asked=asked is not None,
            guard=plan.guard,
            load=load,
            launches=launches,
            measured=measured,
            before=self._going_back.before if choice.back else None,
        )

    def _planned(self, choice: Choice) -> StartPlan:
        base = self._base
        if not choice.server and base is None:
            raise SwitchRefused(
                "No server runs here that could be changed.", advice="Choose a server's profile."
            )
        if choice.server:
            profile = combined_with(self._profiles, base, choice.server)
        else:
            assert base is not None
            profile = base.profile
        parts = [name for name in (choice.speculative, choice.environment) if name]
        return exact(self._profiles.over(profile, *parts))

    @property
    def _watched_key(self) -> str:
        return self._base.raw.key if self._base is not None else ""

    def _load(self, plan: StartPlan) -> tuple[float | None, int]:
        command = parse_command(plan.argv)
        model = visible(command.served_name or command.model)
        try:
            known = self._launches.experience(self._host.name, model)
        except OSError:
            return None, 0
        if not known:
            return None, 0
        return sum(p.typical for p in known.values()), max(p.launches for p in known.values())

    # --- doing it -----------------------------------------------------------------------------

    async def begin(
        self, choice: Choice, *, break_lock: bool = False
    ) -> AsyncGenerator[Moment, None]:
        """Do what was last shown for this choice."""
        self._refuse_second()
        shown = self._shown.get(choice)
        if shown is None:
            raise SwitchRefused("This was not shown before.", advice="Open the switcher again.")
        plan = shown.plan
        old, servers = await self._host_says.on_port(plan.port, self._watched_key)
        self._refuse_second()
        if old is not None and (shown.asked or shown.replaces) and old.key != shown.replaces:
            raise SwitchRefused(
                f"Another server runs on :{plan.port} now (pid {old.pid}) than was shown.",
                meaning="Somebody started it meanwhile. Nothing was changed.",
                advice="Open the switcher again and look.",
            )
        self._restart = Restart(
            self._host,
            plan,
            replaces=Running.of(old, plan.port, servers) if old is not None else None,
            owner=Owner.here(f"launching {plan.profile or 'a command'} on :{plan.port}"),
            limits=self._limits,
            again=shown.again and old is not None,
            agent=self._agent,
            break_lock=break_lock and (self._seen or True),
            reconnect=self._reconnect,
        )
        self._name = visible(plan.profile) or (BEFORE if choice.back else "")
        async for moment in self._watched(self._restart):
            yield moment

    def _refuse_second(self) -> None:
        if self._restart is not None and not self._restart.standing.final:
            raise SwitchRefused(
                f"{self._name} is being started: {self._restart.standing.title}.",
                meaning="One restart at a time.",
                advice="Wait for its end, or cancel it first.",
            )

    async def _watched(self, restart: Restart) -> AsyncGenerator[Moment, None]:
        began = self._clock()
        detail, state = "", restart.standing.state
        moment = self._moment(restart, began, "")
        stream = restart.progress()
        try:
            async for progress in stream:
                if progress.standing.state != state:
                    detail, state = "", progress.standing.state
                if progress.event is not None:
                    continue  # the monitor reads the same log
                detail = visible(progress.detail) or detail
                moment = self._moment(restart, began, detail)
                yield moment
        except Detached as error:
            self._restart = None
            yield replace(moment, at=self._clock(), detached=visible(error.sentences))
        finally:
            await stream.aclose()
            self._restart = None

    def _moment(self, restart: Restart, began: float, detail: str) -> Moment:
        return Moment(
            at=self._clock(),
            began=began,
            launch=restart.launch,
            name=self._name,
            standing=restart.standing,
            detail=detail,
        )

    def cancel(self) -> None:
        """Undo what was begun."""
        if self._restart is not None:
            self._restart.cancel()

    def answer(self, put_back: bool) -> None:
        """Whether what ran before is put back."""
        if self._restart is not None:
            self._restart.answer(put_back)

    # --- what runs, as a profile --------------------------------------------------------------

    async def profile_name(self, pid: int) -> str:
        """What a profile of this server would be called."""
        return (await self._imported(pid, None)).profile.name

    async def keep(self, pid: int, name: str, *, over: bool = False) -> Kept:
        """Write this server down as a profile of the person's; its secrets are left out."""
        imported = await self._imported(pid, name)
        path = await asyncio.to_thread(write_import, imported, force=over)
        return Kept(
            name=name, path=str(path), notes=tuple(visible(said) for said in import_lines(imported))
        )

    async def _imported(self, pid: int, name: str | None) -> Imported:
        found = await find_servers(self._host)
        return imported_server(
            chosen(found.servers, pid, found.looked_at), name=name, place=self._host.name
        )

    # --- what was left ------------------------------------------------------------------------

    async def unfinished(self) -> tuple[Unfinished, ...]:
        """Launches on the host that somebody left."""
        left = await unfinished(self._host)
        if not left:
            return ()
        held = await self._lock()
        found = tuple(unfinished_of(state, held) for state in left)
        self._names = {one.launch: one.name for one in found}
        return found

    async def lock(self) -> Lock | None:
        """Who restarts something on the host; None for nobody."""
        held = await self._lock()
        self._seen = ""
        if not held:
            return None
        lock = lock_of(held, self._clock())
        # Where it is said that they seem to be gone, that has to be true when it is broken.
        self._seen = str(held["still"] if lock.stale else held["key"])
        return lock

    async def _lock(self) -> dict[str, Any]:
        return (await self._agent.ask("list", most=0))["lock"] or {}

    async def resume(
        self, launch: str, *, break_lock: bool = False
    ) -> AsyncGenerator[Moment, None]:
        """Go on with one of them."""
        self._refuse_second()
        held = await self._lock()
        free = held.get("launch") == launch and is_free(held) and str(held["key"])
        try:
            self._restart = restart = await Restart.resume(
                self._host,
                launch,
                owner=Owner.here("a launch that was left"),
                limits=self._limits,
                agent=self._agent,
                break_lock=(self._seen or True) if break_lock else free,
                reconnect=self._reconnect,
            )
        except AgentRefused as refused:
            if refused.diagnosis.code == LOCKED:
                raise LockHeld(refused.what, advice=refused.advice) from refused
            raise
        self._name = self._names.get(launch) or visible(launch)
        async for moment in self._watched(restart):
            yield moment


async def _kept_by_another() -> None:
    """The monitor makes a lost connection again."""


_S = TypeVar("_S", Change, Finding)


def _safe(items: Sequence[_S]) -> tuple[_S, ...]:
    """The same without a control character in any text."""
    return tuple(
        replace(
            item,
            **{
                key: visible(value)
                for key, value in msgspec.structs.asdict(item).items()
                if isinstance(value, str)
            },
        )
        for item in items
    )
