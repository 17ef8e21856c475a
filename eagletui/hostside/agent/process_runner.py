"""Servers that are plain processes: started detached, ended by signal."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat

from eagletui.hostside.agent import environment
from eagletui.hostside.agent.base import MARK, Json, Refused
from eagletui.hostside.agent.machine import port_holder
from eagletui.hostside.agent.processes import (
    found_by_mark,
    kill_own_group,
    members,
    process,
    send,
    starters,
    variables,
)
from eagletui.hostside.agent.runner import Runner, Task, argv_of, refuse_ourselves

LEAST_FREE = 1 << 20


class ProcessRunner(Runner):
    """Starts `argv` in a session of its own."""

    name = "process"

    def may_stop(self, server: Json) -> bool:
        """Refused where it is another user's, or this program runs inside it."""
        row = process(server["pid"])
        if row is None or row.dead or row.start != server["start"]:
            return False
        if row.uid != os.geteuid():
            raise Refused("other-user", pid=row.pid, uid=row.uid)
        refuse_ourselves(server)
        return True

    def about(self, server: Json, plan: Json | None) -> list[Json]:  # noqa: ARG002
        """A process is what it is."""
        return []

    def keep(self, folder: str, server: Json) -> tuple[Json, Json]:  # noqa: ARG002
        """Command line, environment and folder."""
        pid = server["pid"]
        before = described(pid, server["port"])
        row = process(pid)
        if row is None or row.start != server["start"]:
            raise Refused("gone", pid=pid)
        record = {
            "runner": "process",
            "pid": pid,
            "start": row.start,
            "uid": row.uid,
            "pgid": row.pgid,
            "sid": row.sid,
            "port": server["port"],
            "mark": before["environment"].get(MARK, ""),
            "beside": server.get("beside", []),
        }
        return before, record

    def terminate(self, server: Json, seconds: float) -> bool:  # noqa: ARG002
        """SIGTERM to the main process; first to a script of ours that would start it again."""
        for row in starters(server):
            send(row.pid, row.start, signal.SIGTERM)
        return send(server["pid"], server["start"], signal.SIGTERM)

    def kill(self, server: Json) -> None:
        """SIGKILL to its group where that is its own, and to each of its processes."""
        left = members(server)
        kill_own_group(server)
        for row in left:
            send(row.pid, row.start, signal.SIGKILL)

    def put_back(self, task: Task, server: Json) -> Json:  # noqa: ARG002
        """The same command line, environment and folder."""
        return self.start(task._replace(plan=task.before))

    def examine(self, plan: Json, target: Json | None) -> list[Json]:
        """The program and its folder are there."""
        workdir = folder_of(plan)
        refuse_missing_folder(workdir)
        program, path = str(plan["argv"][0]), plan["environment"].get("PATH")
        if "/" not in program and path is None and not plan.get("whole_environment"):
            path = base(target).get("PATH")
        refuse_missing_program(program, workdir, path)
        return []

    def started(self, task: Task) -> Json | None:
        """Whoever carries the mark."""
        found = found_by_mark(task.mark)
        if found is None:
            return None
        log = log_of(task)
        found = {**found, "runner": self.name, "log": log, "place": file_place(log)}
        with contextlib.suppress(OSError):
            found["inode"], found["offset"] = os.stat(log).st_ino, 0
        return found

    def start(self, task: Task) -> Json:
        """Start it detached, with a log of its own."""
        import subprocess  # most requests start nothing

        plan, workdir, log = task.plan, folder_of(task.plan), log_of(task)
        refuse_taken_port(plan["port"])
        refuse_missing_folder(workdir)
        given = {**environment_for(task), MARK: task.mark}
        out = opened(log, private=not plan["log"])
        about = os.fstat(out)
        try:
            with task.sure():
                child = subprocess.Popen(
                    plan["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd=workdir,
                    env=given,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            program = str(plan["argv"][0])
            raise Refused(exec_problem(error), path=program, detail=str(error)) from error
        finally:
            os.close(out)
        row = process(child.pid)
        return {
            "runner": self.name,
            "pid": child.pid,
            "start": row.start if row is not None else 0,
            "uid": os.geteuid(),
            "pgid": child.pid,
            "sid": child.pid,
            "mark": task.mark,
            "log": log,
            "place": file_place(log),
            "inode": about.st_ino,
            "offset": about.st_size,
        }


RUNNER = ProcessRunner()


def described(pid: int, port: int) -> Json:
    """A running process as a plan."""
    try:
        return {
            "runner": "process",
            "argv": argv_of(pid),
            "environment": variables(f"/proc/{pid}/environ"),
            "whole_environment": True,
            "workdir": os.readlink(f"/proc/{pid}/cwd"),
            "exe": os.readlink(f"/proc/{pid}/exe"),
            "port": port,
            "log": "",
            "output": output_of(pid),
        }
    except OSError as error:
        raise Refused("unreadable", pid=pid, detail=error.strerror) from error


def output_of(pid: int) -> str:
    """The file that a process writes its output to; "" where that is no file."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.stat(f"/proc/{pid}/fd/1").st_mode):
            return os.readlink(f"/proc/{pid}/fd/1")
    return ""


def base(target: Json | None) -> dict[str, str]:
    """What the profile's variables are laid over."""
    before = environment.environment_of(target["pid"]) if target is not None else None
    return environment.login() if before is None else environment.handed_on(before)


def environment_for(task: Task) -> dict[str, str]:
    """The whole environment of a new process."""
    given = dict(task.plan["environment"])
    if task.plan["whole_environment"]:
        return given
    before = task.before
    # What a container's server had means nothing outside of it.
    if before.get("environment") and before.get("runner") != "docker":
        return {**environment.handed_on(before["environment"]), **given}
    return {**environment.login(), **given}


def folder_of(plan: Json) -> str:
    return os.path.expanduser(plan["workdir"] or "~")


def log_of(task: Task) -> str:
    return os.path.join(folder_of(task.plan), os.path.expanduser(task.plan["log"]) or task.log)


def file_place(path: str) -> Json:
    """Where the log is read."""
    return {"kind": "file", "target": path}


def refuse_taken_port(port: int) -> None:
    holder = port_holder(port) if port else None
    if holder is not None:
        raise Refused("port-taken", port=port, holder=holder)


def refuse_missing_folder(workdir: str) -> None:
    if not os.path.isdir(workdir):
        raise Refused("no-workdir", path=workdir)


def refuse_missing_program(program: str, workdir: str, path: str | None) -> None:
    import shutil  # a fifth of the time that starting this program takes

    if "/" in program:
        program = os.path.join(workdir, program)
        if not os.path.exists(program):
            raise Refused("no-program", path=program)
        if not os.access(program, os.X_OK) or os.path.isdir(program):
            raise Refused("not-allowed", path=program)
    elif shutil.which(program, path=path) is None:
        raise Refused("no-program", path=program)


def opened(log: str, *, private: bool = False) -> int:
    """The log, to be written to, where there is room for it.

    Args:
        private: for its owner alone: a server prints its own API key.
    """
    rights = 0o600 if private else 0o644
    try:
        os.makedirs(os.path.dirname(log), mode=0o700 if private else 0o755, exist_ok=True)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY, rights)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Refused("disk-full" if full else "no-log", path=log, detail=error.strerror) from error
    room = os.fstatvfs(out)
    if room.f_bavail * room.f_frsize < LEAST_FREE:
        os.close(out)
        raise Refused("disk-full", path=log, detail="less than 1 MiB is free")
    return out


def exec_problem(error: Exception) -> str:
    """The code for what kept a program from starting."""
    if isinstance(error, FileNotFoundError):
        return "no-program"
    if isinstance(error, PermissionError):
        return "not-allowed"
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return "too-long"
    return "not-started"
