"""Servers that are systemd's: a drop-in says what is started, systemctl starts and stops it.

Nothing is ended by a signal of ours, for a unit with a restart policy would come back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time

from eagletui.hostside.agent import environment, unit_file
from eagletui.hostside.agent.base import MARK, Json, Refused, read
from eagletui.hostside.agent.process_runner import (
    RUNNER as PROCESSES,
)
from eagletui.hostside.agent.process_runner import (
    described,
    folder_of,
    refuse_missing_folder,
    refuse_missing_program,
    refuse_taken_port,
)
from eagletui.hostside.agent.processes import Process, marked, members, process, there
from eagletui.hostside.agent.runner import Runner, Task, note, refuse_ourselves
from eagletui.hostside.agent.unit_end import STARTED, ended, start_of
from eagletui.hostside.agent.unit_start import (
    begun,
    found,
    output_of,
    record,
    rested,
    sizes_of,
    up,
)
from eagletui.hostside.agent.units import Unit, unit_of_record

CONF, ENV = "50-eagletui.conf", "50-eagletui.env"
TYPES = ("simple", "exec", "notify", "notify-reload", "idle")
"""Kinds of services whose main process is what `ExecStart=` names."""
SETTLED = 2.0
LINGER = "/var/lib/systemd/linger"
MANAGE = "org.freedesktop.systemd1.manage-units"


class SystemdRunner(Runner):
    """Services of the system, or of the user who asks."""

    name = "systemd"

    # --- a server that runs -------------------------------------------------------------------

    def may_stop(self, server: Json) -> bool:
        """Refused where this account may not stop units."""
        if not there(server):
            return False
        refuse_ourselves(server)
        unit = unit_of_record(server)
        refuse_unloaded(unit, unit.show())
        refuse_unmanageable(unit)
        return True

    def about(self, server: Json, plan: Json | None) -> list[Json]:
        """What makes this unit special."""
        unit, notes = unit_of_record(server), []
        about = unit.show()
        if about.get("Transient") == "yes":
            notes.append(note("unit-transient", unit=unit.name))
        if plan is not None and plan["runner"] != "systemd":
            notes.append(note("unit-left", unit=unit.name))
        if unit.user and not os.path.exists(os.path.join(LINGER, user())):
            notes.append(note("unit-without-linger", unit=unit.name, user=user()))
        return notes

    def keep(self, folder: str, server: Json) -> tuple[Json, Json]:  # noqa: ARG002
        """What ran, and whose it was."""
        unit = unit_of_record(server)
        before = described(server["pid"], server["port"])
        row = process(server["pid"])
        if row is None or row.start != server["start"]:
            raise Refused("gone", pid=server["pid"])
        before.update(runner="systemd", unit=unit.name, user_unit=unit.user)
        before["transient"] = unit.show().get("Transient") == "yes"
        before["output"] = output_of(server["pid"])
        return before, record(unit, row, server["port"], before["environment"].get(MARK, ""))

    def terminate(self, server: Json, seconds: float) -> bool:  # noqa: ARG002
        """`systemctl stop`, which its restart policy respects."""
        unit_of_record(server).do("stop", "--no-block")
        return True

    def kill(self, server: Json) -> None:
        """`systemctl kill`; what left its control group gets a signal where it may be sent."""
        unit = unit_of_record(server)
        if unit.show().get("ActiveState") in ("active", "activating", "deactivating", "reloading"):
            # A unit that is killed without having been stopped would be started again.
            unit.told("stop", "--no-block")
        unit.told("kill", "--signal=SIGKILL")
        if not members(server, anybody=True):
            return
        with contextlib.suppress(Refused):
            PROCESSES.kill({**server, "pgid": None})

    def members(self, server: Json) -> list[Process]:
        """Whoever's they are: a service may run as another user."""
        return members(server, anybody=True)

    def put_back(self, task: Task, server: Json) -> Json:
        """Start the unit as its files say; a transient one is gone, and is a plain process now."""
        if task.before.get("transient"):
            return PROCESSES.start(task._replace(plan=task.before))
        unit, port = unit_of_record(server), int(server["port"])
        about = unit.show()
        if not int(about.get("MainPID") or 0):
            refuse_taken_port(port)
        sizes = sizes_of(unit, task.before.get("output", ""), task.state)
        with task.sure():
            begin = begun(unit, about.get(STARTED, ""))
        return up(unit, port, begin, sizes)

    def ended(self, server: Json) -> Json:
        """As systemd says of that very start."""
        return ended(unit_of_record(server), server)

    # --- a server that is planned -------------------------------------------------------------

    def examine(self, plan: Json, target: Json | None) -> list[Json]:
        """Whether the unit can be told to start this."""
        unit = unit_of_record(plan)
        about = unit.show()
        refuse_unloaded(unit, about)
        if about.get("Transient") == "yes":
            raise Refused("unit-is-transient", unit=unit.name)
        if about.get("Type") not in TYPES:
            raise Refused("unit-type", unit=unit.name, type=about.get("Type"))
        running = int(about.get("MainPID") or 0)
        if running and (target is None or not unit.runs(target["pid"])):
            raise Refused("unit-busy", unit=unit.name, pid=running)
        refuse_unmanageable(unit)
        refuse_read_only(unit.folder())
        given = environment_of(plan, target)
        refuse_missing_folder(folder_of(plan))
        path = given.get("PATH") or environment.PATH
        refuse_missing_program(str(plan["argv"][0]), folder_of(plan), path)
        texts(plan, given, unit, {})
        if target is not None and is_wrapped(unit, target["pid"], about):
            return [note("unit-wrapped", unit=unit.name)]
        return []

    def prepare(self, task: Task) -> Json:
        """What the drop-in says now, to be put back."""
        unit = unit_of_record(task.plan)
        folder, old = unit.folder(), task.state.get("old") or {}
        theirs = old.get("unit") == unit.name and old.get("runner") == "systemd"
        given = environment_of(task.plan, old if theirs else None)
        conf, env = texts(task.plan, {**given, MARK: task.mark}, unit, task.before)
        return {
            "folder": folder,
            "files": {name: text_of(os.path.join(folder, name)) for name in (CONF, ENV)},
            "new": {CONF: conf, ENV: env},
        }

    def started(self, task: Task) -> Json | None:
        """The unit, where its main process carries the mark."""
        if task.plan.get("transient"):
            return PROCESSES.started(task)
        unit = unit_of_record(task.plan)
        about = unit.show()
        main = int(about.get("MainPID") or 0)
        row = process(main) if main else None
        if row is None or not marked(main, task.mark):
            return None
        return {**found(unit, row, task.plan["port"], task.mark), **start_of(about)}

    def start(self, task: Task) -> Json:
        """Write the drop-in and start the unit."""
        unit, prepared = unit_of_record(task.plan), task.state["prepared"]
        refuse_taken_port(task.plan["port"])
        log = os.path.join(folder_of(task.plan), os.path.expanduser(task.plan["log"]))
        output = log if task.plan["log"] else task.before.get("output", "")
        with task.sure():
            put(prepared["folder"], prepared["new"])
            unit.reload()
        sizes, before = sizes_of(unit, output, task.state), unit.show().get(STARTED, "")
        with task.sure():
            begin = begun(unit, before)
        server = up(unit, task.plan["port"], begin, sizes)
        refuse_overridden(unit, server, task.plan)
        return {**server, "mark": task.mark}

    def clear(self, task: Task, server: Json | None) -> None:  # noqa: ARG002
        """The drop-in says again what it said before."""
        prepared = task.state.get("prepared") or {}
        if not prepared:
            return
        unit = unit_of_record(task.plan)
        with task.sure():
            unit.told("stop", "--no-block")
        rested(unit)
        with task.sure():
            put(prepared["folder"], prepared["files"])
            unit.reload()

    def finish(self, task: Task, ending: str) -> list[str]:
        """A unit that does not serve keeps its drop-in, and the person is told."""
        prepared = task.state.get("prepared") or {}
        if ending == "failed" and task.state.get("new") and prepared:
            unit = unit_of_record(task.plan).name
            return [f"{unit} keeps the drop-in {os.path.join(prepared['folder'], CONF)}."]
        return []


RUNNER = SystemdRunner()


def user() -> str:
    """Who asks."""
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def refuse_unloaded(unit: Unit, about: dict[str, str]) -> None:
    if about.get("LoadState") != "loaded":
        raise Refused("unit-not-loaded", unit=unit.name, state=about.get("LoadState") or "unknown")


def refuse_unmanageable(unit: Unit) -> None:
    """A unit of the system needs root, or polkit's word."""
    if unit.user or os.geteuid() == 0:
        return
    asked = ["pkcheck", "--action-id", MANAGE, "--process", str(os.getpid())]
    try:
        allowed = subprocess.run(asked, capture_output=True, timeout=5.0).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        allowed = False
    if not allowed:
        raise Refused("unit-not-allowed", unit=unit.name, detail="neither root nor polkit's yes")


def refuse_read_only(folder: str) -> None:
    """A drop-in can be written."""
    path = folder
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    room = os.statvfs(path)
    if not os.access(path, os.W_OK | os.X_OK) or room.f_flag & os.ST_RDONLY:
        raise Refused("unit-read-only", path=folder)


def is_wrapped(unit: Unit, pid: int, about: dict[str, str]) -> bool:
    """Whether the unit starts something else, which starts the server."""
    if int(about.get("MainPID") or 0) != pid:
        return True
    done = unit.told("show", "--property=ExecStart", "--value")
    words = done.out.partition("argv[]=")[2].partition(" ; ")[0]
    shown = " ".join(os.fsdecode(w) for w in read(f"/proc/{pid}/cmdline").split(b"\0")).strip()
    # systemctl shows words without their quotes: what cannot be compared is taken for the same.
    return bool(words) and "sglang" not in words and "sglang" in shown


def environment_of(plan: Json, old: Json | None) -> dict[str, str]:
    """What the drop-in has to set: the unit's own settings stay as they are.

    Where a script stands between unit and server, also what that script had set.
    """
    given = dict(plan["environment"])
    if old is None:
        return given
    unit = unit_of_record(plan)
    seen = environment.environment_of(old["pid"])
    if seen is None or not is_wrapped(unit, old["pid"], unit.show()):
        return given
    return {**environment.handed_on(seen), **given}


def texts(plan: Json, given: dict[str, str], unit: Unit, before: Json) -> tuple[str, str]:
    """The drop-in and its file of variables."""
    program, workdir = str(plan["argv"][0]), os.path.expanduser(plan["workdir"])
    if "/" not in program:
        path = given.get("PATH") or (before.get("environment") or {}).get("PATH")
        program = shutil.which(program, path=path or environment.PATH) or program
    program = os.path.join(workdir, program)
    had = before.get("environment") or {}
    conf = unit_file.drop_in(
        argv=plan["argv"],
        program=program,
        environment_file=os.path.join(unit.folder(), ENV),
        unset=[n for n in sorted(had) if environment.tuning(n) and n not in given
               and unit_file.NAME.fullmatch(n)],
        workdir=workdir,
        log=os.path.join(workdir, os.path.expanduser(plan["log"])) if plan["log"] else "",
    )  # fmt: skip
    return conf, unit_file.environment_file(given)


def text_of(path: str) -> str | None:
    """A file's text; None where there is none."""
    try:
        return os.fsdecode(read(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused("no-folder", path=path, detail=error.strerror) from error


def put(folder: str, files: dict[str, str | None]) -> None:
    """Files as they shall be, whole or not at all; None takes one away."""
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        for name, text in files.items():
            path = os.path.join(folder, name)
            if text is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                continue
            # Its variables may be secrets, and so may be the words of the command line.
            fd = os.open(
                path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
            )
            with os.fdopen(fd, "wb") as file:
                file.write(os.fsencode(text))
            os.replace(path + ".new", path)
        if not os.listdir(folder):
            os.rmdir(folder)
    except OSError as error:
        raise Refused("unit-read-only", path=folder, detail=error.strerror) from error


def refuse_overridden(unit: Unit, server: Json, plan: Json) -> None:
    """Another drop-in may have the last word on what is started."""
    end, wanted = time.monotonic() + SETTLED, [os.fsencode(word) for word in plan["argv"][1:]]
    while time.monotonic() < end and there(server):
        with contextlib.suppress(OSError):
            words = read(f"/proc/{server['pid']}/cmdline").split(b"\0")[:-1]
            if not wanted or words[-len(wanted) :] == wanted:
                return
        time.sleep(0.05)
    if there(server):
        raise Refused("unit-overridden", unit=unit.name)
