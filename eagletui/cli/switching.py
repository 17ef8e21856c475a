"""Switching what a host runs, for the screen: profiles, checks and restarts joined.

Everything unmasked (the running server's command line, the plans) stays in here.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from eagletui.cli.going_back import BEFORE, GoingBack
from eagletui.cli.profile_import import chosen, import_lines, imported_server, write_import
from eagletui.control.agent import Agent, AgentRefused
from eagletui.control.api import (
    Detached,
    Limits,
    Owner,
    Running,
    refuse_what_cannot_be,
)
from eagletui.control.owner import is_gone
from eagletui.control.problems import LOCKED, QUIET, refusal
from eagletui.control.restart import Restart, unfinished
from eagletui.engine.check.asked import Question, question
from eagletui.engine.check.run import check
from eagletui.engine.command import parse_command
from eagletui.engine.import_server import Imported
from eagletui.engine.plan_difference import difference
from eagletui.engine.releases import told_version
from eagletui.engine.running_profile import with_secrets
from eagletui.engine.start_plan import start_plan
from eagletui.host.base import Host
from eagletui.host.containers import named
from eagletui.host.processes import RawServer, find_servers
from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError, HostError
from eagletui.model.finding import Finding, HostFacts
from eagletui.model.profile import Profile, ServerPart, SpeculativePart, StartPlan
from eagletui.model.references import mask_start, mask_start_environment
from eagletui.model.restart import Standing
from eagletui.model.switching import (
    PARTS,
    Change,
    Choice,
    Kept,
    Lock,
    LockHeld,
    Menu,
    Moment,
    Part,
    Preview,
    Row,
    SwitchRefused,
    Unfinished,
)
from eagletui.model.text import visible
from eagletui.monitor.preflight import host_facts, loading_beside
from eagletui.store.installations import InstallationMemory
from eagletui.store.launches import LaunchMemory
from eagletui.store.profiles.shelf import Profiles, Shelved

AS_IT_RUNS = Choice()
_Key = tuple[Question, str, str, tuple[str, ...]]


class _Base(Data, frozen=True):
    """What runs. Unmasked: never to be shown."""

    raw: RawServer
    profile: Profile
    plan: StartPlan
    version: str = ""

    def __repr__(self) -> str:
        """Without the command line: a traceback may show it."""
        return f"_Base({self.raw.pid})"


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


class _Asked(Data, frozen=True):
    """What the host said of a start. Unmasked: never to be shown."""

    replaced: RawServer | None
    facts: HostFacts
    notes: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Without the command line: a traceback may show it."""
        return "_Asked()"


class HostSwitcher:
    """A `model.switching.Switcher` over a host that somebody else keeps connected.

    Args:
        profiles: what can be chosen.
        installations: where the options of SGLangs are kept.
        launches: what was learned of load times.
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
        limits: Limits | None = None,
        reconnect: Callable[[], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._profiles = profiles
        self._installations = installations
        self._launches = launches
        self._limits = limits or Limits()
        self._reconnect = reconnect or _kept_by_another
        self._clock = clock
        self._base: _Base | None = None
        self._shown: dict[Choice, _Shown] = {}
        self._asking: dict[_Key, asyncio.Task[_Asked]] = {}
        self._restart: Restart | None = None
        self._name = ""
        self._seen = ""
        self._names: dict[str, str] = {}
        # Started for the first look, it is there for what is chosen a little later.
        self._agent = Agent(host)
        self._going_back = GoingBack(self._agent, host.name, _plan, clock)

    # --- what can be chosen -------------------------------------------------------------------

    async def menu(self, pid: int | None, version: str = "") -> Menu:
        """What can be chosen in the place of this server."""
        self._base = None
        self._asking.clear()
        if pid is not None:
            found = await find_servers(self._host)
            raw = next((server for server in found.servers if server.pid == pid), None)
            if raw is not None:
                raw = await named(self._host, raw)
                self._base = _base_of(raw, self._host.name, version)
        await self._look_back()
        return await asyncio.to_thread(self._menu)

    async def _look_back(self) -> None:
        base = self._base
        port = base.plan.port if base is not None else None
        present = (base.raw.pid, base.raw.start_ticks) if base is not None else None
        await self._going_back.look(port, present)

    def _menu(self) -> Menu:
        shelf = self._profiles.shelf()
        rows: dict[Part, list[Row]] = {part: [] for part in PARTS}
        for shelved in shelf.profiles:
            if shelved.parts:
                rows[_list_of(shelved)].append(self._row(shelved))
        base = self._base
        return Menu(
            servers=(*([Row(runs=True)] if base else []), *rows["server"]),
            speculative=(Row(runs=True), *rows["speculative"]),
            environments=(Row(runs=True), *rows["environment"]),
            runs=visible(base.profile.name) if base else "",
            problems=tuple(visible(problem.what) for problem in shelf.problems),
            back=self._going_back.before.name if self._going_back.before else "",
        )

    def _row(self, shelved: Shelved) -> Row:
        profile, base = shelved.profile, self._base
        runs = False
        if base is not None and _sets_something(profile):
            try:
                laid = _plan(self._combined_with(profile.name))
            except EagletuiError:
                laid = None
            plain = _plan(base.profile)
            runs = laid is not None and not [
                change for change in difference(plain, laid) if change.where != "plan"
            ]
        return Row(
            name=profile.name,
            title=visible(profile.title),
            note=visible(profile.note),
            runs=runs,
            whole=_complete(profile),
        )

    def _combined_with(self, name: str) -> Profile:
        profile = self._profiles.load(name)
        if _complete(profile) or self._base is None:
            return profile
        return self._profiles.over(self._base.profile, name)

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
        asked = await self._asked(plan) if ask else self._said(plan)
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
            before=self._going_back.before if choice.back else None,
        )

    async def _asked(self, plan: StartPlan) -> _Asked:
        """What the host says of this start; asked once, however often the choice changes."""
        key = _key(plan)
        task = self._asking.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._asking[key] = asyncio.ensure_future(self._ask(plan))
        return await asyncio.shield(task)

    def _said(self, plan: StartPlan) -> _Asked | None:
        task = self._asking.get(_key(plan))
        good = task is not None and task.done() and not task.cancelled() and not task.exception()
        return task.result() if task is not None and good else None

    async def _ask(self, plan: StartPlan) -> _Asked:
        replaced, servers = await self._on_port(plan.port)
        leaving = replaced.pids if replaced is not None else ()
        loading = await loading_beside(self._host, leaving)
        facts, notes = await asyncio.gather(
            host_facts(
                self._host, plan, memory=self._installations, loading=loading, leaving=leaving
            ),
            self._runner_s(plan, replaced, servers),
        )
        return _Asked(replaced=replaced, facts=facts, notes=notes)

    async def _runner_s(
        self, plan: StartPlan, old: RawServer | None, servers: Sequence[RawServer]
    ) -> tuple[Finding, ...]:
        """What docker, systemd or a script cannot do; a plain process has nothing to say."""
        if plan.runner == "process" and (old is None or not (old.container or old.unit)):
            return ()
        replaces = Running.of(old, plan.port, servers) if old is not None else None
        restart = Restart(
            self._host, plan, replaces=replaces, owner=Owner.here(""), agent=self._agent
        )
        problem = await restart.check_only()
        return (refusal(problem),) if problem is not None else restart.notes

    def _planned(self, choice: Choice) -> StartPlan:
        base = self._base
        if not choice.server and base is None:
            raise SwitchRefused(
                "No server runs here that could be changed.", advice="Choose a server's profile."
            )
        if choice.server:
            profile = self._combined_with(choice.server)
        else:
            assert base is not None
            profile = base.profile
        parts = [name for name in (choice.speculative, choice.environment) if name]
        return _plan(self._profiles.over(profile, *parts))

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

    async def _on_port(self, port: int) -> tuple[RawServer | None, tuple[RawServer, ...]]:
        """The server that has this port, and all; where several want it, the one watched."""
        found = await find_servers(self._host)
        there = [server for server in found.servers if parse_command(server.argv).port == port]
        watched = self._base.raw.key if self._base is not None else ""
        there.sort(key=lambda server: server.key != watched)
        return (await named(self._host, there[0]) if there else None), tuple(found.servers)

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
        old, servers = await self._on_port(plan.port)
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
            yield replace(moment, at=self._clock(), detached=visible(str(error)))
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
        found = tuple(_unfinished(state, held) for state in left)
        self._names = {one.launch: one.name for one in found}
        return found

    async def lock(self) -> Lock | None:
        """Who restarts something on the host; None for nobody."""
        held = await self._lock()
        self._seen = str(held.get("key", ""))
        if not held:
            return None
        age, quiet = held.get("age"), float(held.get("quiet", 0.0))
        return Lock(
            who=visible(f"{held.get('user', 'somebody')}@{held.get('host', '?')}"),
            what=visible(str(held.get("what") or "a restart")),
            since=self._clock() - age if isinstance(age, (int, float)) else None,
            quiet=quiet,
            damaged=bool(held.get("damaged")),
            stale=quiet >= QUIET or bool(held.get("rebooted")) or _is_free(held),
        )

    async def _lock(self) -> dict[str, Any]:
        return (await self._agent.ask("list", most=0))["lock"] or {}

    async def resume(
        self, launch: str, *, break_lock: bool = False
    ) -> AsyncGenerator[Moment, None]:
        """Go on with one of them."""
        self._refuse_second()
        held = await self._lock()
        free = held.get("launch") == launch and _is_free(held) and str(held["key"])
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


def _key(plan: StartPlan) -> _Key:
    """What the host's answer depends on."""
    return question(plan), plan.runner, plan.container or plan.unit, plan.argv[:1]


def _plan(profile: Profile) -> StartPlan:
    return start_plan(profile, now=datetime.now().astimezone(), variables=os.environ)


def _base_of(raw: RawServer, place: str, version: str) -> _Base:
    imported = imported_server(raw, name=None, place=place)
    profile = with_secrets(imported, raw.argv, raw.environment or {})
    return _Base(raw=raw, profile=profile, plan=_plan(profile), version=version)


def _list_of(shelved: Shelved) -> Part:
    """Where a profile is chosen: by its first part; a guard says how a server is treated."""
    return next((part for part in PARTS if part in shelved.parts), "server")


def _sets_something(profile: Profile) -> bool:
    """Whether a server can be seen to run with it.

    One that only takes away fits every server that never had it, and a guard shows in no process.
    """
    parts = (profile.server, profile.speculative, profile.environment)
    return parts != (ServerPart(), SpeculativePart(), {})


def _complete(profile: Profile) -> bool:
    """Whether it says a server by itself, and is not a part to be laid over one."""
    return bool(profile.server.model or profile.server.command)


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


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _is_free(held: dict[str, Any]) -> bool:
    """Whether a lock's owner is gone, or this very process, which drives nothing any more."""
    here = Owner.here("")
    ours = held.get("host") == here.host and held.get("pid") == here.pid
    return ours or is_gone(held, here.host)


def _unfinished(state: dict[str, Any], held: dict[str, Any]) -> Unfinished:
    busy = ""
    launch = str(state.get("id", ""))
    if held.get("launch") == launch and held.get("quiet", QUIET) < QUIET and not _is_free(held):
        busy = visible(f"{held.get('user', '')}@{held.get('host', '')}")
    return Unfinished(
        launch=visible(launch),
        name=visible(str(state.get("profile", ""))),
        began=_number(state.get("began")),
        standing=msgspec.convert(state.get("standing", {}), Standing),
        busy=busy,
        unattended=bool(state.get("unattended")),
    )
