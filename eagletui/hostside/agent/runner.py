"""Who starts and stops servers: one class a kind, found by its name in `RUNNERS`.

A server that is known is a record of `state.json` with at least `runner`, `pid`, `start` and
`port`; what else stands in it is its runner's own.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import NamedTuple

from eagletui.hostside.agent import kept, lock
from eagletui.hostside.agent.base import Json, Refused, read, record
from eagletui.hostside.agent.processes import (
    Process,
    is_protected,
    manager_of,
    members,
    there,
    unit_of,
)

RUNNERS = {
    "process": "eagletui.hostside.agent.process_runner",
    "command": "eagletui.hostside.agent.command_runner",
    "docker": "eagletui.hostside.agent.docker_runner",
    "systemd": "eagletui.hostside.agent.systemd_runner",
}


class Task(NamedTuple):
    """One start that is being made.

    Attributes:
        owner: whose lock it is made under.
        folder: of the launch, with `plan.json` and `before.json`.
        plan: what is started.
        mark: carried by every process of it.
        state: what is kept of the launch.
    """

    launch: str
    owner: Json
    folder: str
    plan: Json
    mark: str
    state: Json

    @property
    def before(self) -> Json:
        """What ran before, whole; {} where nothing did."""
        return record(os.path.join(self.folder, "before.json"))

    def sure(self) -> contextlib.AbstractContextManager[None]:
        """With the lock in hand; see `lock.sure`."""
        return lock.sure(self.launch, self.owner)

    @property
    def log(self) -> str:
        """Where a log goes that the plan gives no place."""
        return os.path.join(kept.state_folder(), "logs", self.mark + ".log")


class Runner:
    """What has to be done differently for each kind. Everything may raise `Refused`."""

    name = ""

    # --- a server that runs -------------------------------------------------------------------

    def may_stop(self, server: Json) -> bool:
        """Whether the server is there and may be stopped; refused where it may not."""
        raise NotImplementedError

    def about(self, server: Json, plan: Json | None) -> list[Json]:
        """What a person should know before this server is stopped."""
        raise NotImplementedError

    def keep(self, folder: str, server: Json) -> tuple[Json, Json]:
        """What is needed to put it back, and its record."""
        raise NotImplementedError

    def port(self, server: Json) -> int:
        """The port of the host that it answers on."""
        return int(server.get("port") or 0)

    def terminate(self, server: Json, seconds: float) -> bool:
        """Ask it to go; False where it is gone already."""
        raise NotImplementedError

    def kill(self, server: Json) -> None:
        """End what is left of it, as often as it is called."""
        raise NotImplementedError

    def members(self, server: Json) -> list[Process]:
        """Its living processes."""
        return members(server)

    def put_back(self, task: Task, server: Json) -> Json:
        """Start it again as it was, with `task.sure()`."""
        raise NotImplementedError

    # --- a server that is planned -------------------------------------------------------------

    def outside(self, plan: Json) -> int:
        """The port of the host that it will answer on; 0 for none."""
        return int(plan.get("port") or 0)

    def examine(self, plan: Json, target: Json | None) -> list[Json]:
        """What a person should know before it is started; nothing is changed."""
        raise NotImplementedError

    def prepare(self, task: Task) -> Json:  # noqa: ARG002
        """What can be done while the old server still serves; kept as `prepared`."""
        return {}

    def started(self, task: Task) -> Json | None:
        """What an earlier call has started, whose record nobody could write down."""
        raise NotImplementedError

    def start(self, task: Task) -> Json:
        """Start it, with `task.sure()`; a second call finds the first one's."""
        raise NotImplementedError

    def followed(self, server: Json) -> Json | None:
        """The record as it is now; None where its process is gone."""
        return server if there(server) else None

    def ended(self, server: Json) -> Json:  # noqa: ARG002
        """How a server ended that is gone: `by` whose word, `result` as systemd names it, and its
        `status` or signal; {} where nobody knows."""
        return {}

    def clear(self, task: Task, server: Json | None) -> None:
        """What it left behind once its processes are gone: make way for what ran before, with
        `task.sure()` for each change."""

    def finish(self, task: Task, ending: str) -> list[str]:  # noqa: ARG002
        """The restart has come to this end: tidy up; what is left, in words."""
        return []


def runner(name: str) -> Runner:
    """The runner of this name."""
    if name not in RUNNERS:
        raise Refused("bad-request", detail=f"no runner {name}")
    found = importlib.import_module(RUNNERS[name]).RUNNER
    assert isinstance(found, Runner)
    return found


def known(server: Json) -> Runner:
    """The runner of a server's record."""
    return runner(str(server.get("runner") or "process"))


def planned(plan: Json) -> Runner:
    """The runner that a plan names."""
    return runner(str(plan.get("runner") or "process"))


def recognised(target: Json) -> Json:
    """A server that was pointed at, with the runner that would bring it back or stop it for good.

    Raises:
        Refused: something else keeps it, which nobody here can talk to.
    """
    if not there(target):
        return target
    if target.get("container"):
        return {**target, "runner": "docker"}
    unit = str(target.get("unit") or "")
    if unit and unit != unit_of(read("/proc/self/cgroup")):
        from eagletui.hostside.agent.units import unit_of_record

        if unit_of_record(target).runs(target["pid"]):
            return {**target, "runner": "systemd"}
        raise Refused("managed", pid=target["pid"], manager=f"the systemd unit {unit}")
    manager = manager_of(target["pid"])
    if manager:
        raise Refused("managed", pid=target["pid"], manager=manager)
    return {**target, "runner": "process"}


def refuse_ourselves(server: Json) -> None:
    """Nothing that this program runs in is ended."""
    if is_protected(server["pid"]):
        raise Refused("own-shell", pid=server["pid"])


def argv_of(pid: int) -> list[str]:
    """A process's command line, bytes kept by surrogates."""
    return [os.fsdecode(word) for word in read(f"/proc/{pid}/cmdline").split(b"\0")][:-1]


def with_children(server: Json, rows: list[Process]) -> Json:
    """The record with every process it was seen with, also those that leave it later."""
    seen = {(pid, start) for pid, start in server.get("children", ())}
    seen |= {(row.pid, row.start) for row in rows}
    return {**server, "children": sorted(seen)}


def note(code: str, severity: str = "warning", **about: object) -> Json:
    """One thing to know; the words stand in `control.problems`."""
    return {"code": code, "severity": severity, **about}
