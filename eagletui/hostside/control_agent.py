"""Runs on the host, inside any Python from 3.8 on: one request on standard input, one answer.

It saves, stops, looks after and starts server processes, always by id *and* start time, only those
of its own user, never one that it descends from. What it keeps lies in one private folder: the
command lines and environments there hold secrets and do not leave the host.

    STATE/launches/ID/plan.json     what is to be started
                      before.json   what ran before, whole
                      state.json    where the restart stands, and the processes it knows
    STATE/logs/                     logs of servers whose plan names none
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Dict, NamedTuple  # noqa: UP035

MARK = "EAGLETUI_LAUNCH"
OURS = (MARK, "EAGLETUI_STATE", "EAGLETUI_LOCK")
LEAST_FREE = 1 << 20
GPU_LIMIT = 5.0
PAUSE = 0.05
LISTEN = "0A"
LOCK = "/tmp/eagletui-restart.lock"

Json = Dict[str, Any]  # noqa: UP006 - evaluated, also by Python 3.8


class Refused(Exception):
    """Something that is not done, by a code and what belongs to it."""

    def __init__(self, code: str, **about: Any) -> None:
        super().__init__(code)
        self.code = code
        self.about = about


# --- processes --------------------------------------------------------------------------------


class Process(NamedTuple):
    """One line of the process table."""

    pid: int
    ppid: int
    pgid: int
    sid: int
    start: int
    uid: int
    dead: bool


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def process(pid: int) -> Process | None:
    try:
        text = read(f"/proc/{pid}/stat")
        status = read(f"/proc/{pid}/status")
    except OSError:
        return None
    words = text[text.rindex(b")") + 2 :].split()
    uid = next(int(row.split()[1]) for row in status.splitlines() if row.startswith(b"Uid:"))
    return Process(
        pid=pid,
        ppid=int(words[1]),
        pgid=int(words[2]),
        sid=int(words[3]),
        start=int(words[19]),
        uid=uid,
        dead=words[0] in (b"Z", b"X"),
    )


def table() -> dict[int, Process]:
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {row.pid: row for row in found if row is not None and not row.dead}


def title(pid: int) -> str:
    try:
        words = read(f"/proc/{pid}/cmdline").decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    return words[0][:200] if words else ""


def variables(path: str) -> dict[str, str]:
    """An environment as it was given to the process, bytes kept by surrogates."""
    pairs = (word.partition(b"=") for word in read(path).split(b"\0") if b"=" in word)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name}


def marked(pid: int, mark: str) -> bool:
    try:
        words = read(f"/proc/{pid}/environ").split(b"\0")
    except OSError:
        return False
    return f"{MARK}={mark}".encode() in words


def protected(rows: dict[int, Process]) -> set[int]:
    """This program, everything it descends from, and its session."""
    ours, pid = set(), os.getpid()
    while pid > 1 and pid in rows:
        ours.add(pid)
        pid = rows[pid].ppid
    session = os.getsid(0)
    return ours | {row.pid for row in rows.values() if row.sid == session}


def same(server: Json, rows: dict[int, Process]) -> bool:
    row = rows.get(server["pid"])
    return row is not None and row.start == server["start"]


def members(server: Json) -> list[Process]:
    """Every living process of a server: the main one, its descendants, its own group and session,
    children it was seen with, and whoever carries its mark. None of another user, none of ours."""
    rows = table()
    leader = rows.get(server["pid"])
    reused = leader is not None and leader.start != server["start"]
    found: set[int] = set() if reused or leader is None else {server["pid"]}
    grown = True
    while grown:
        more = {row.pid for row in rows.values() if row.ppid in found} - found
        found |= more
        grown = bool(more)
    for row in rows.values():
        own_group = server.get("pgid") == server["pid"] == row.pgid and not reused
        own_session = server.get("sid") == server["pid"] == row.sid and not reused
        if own_group or own_session:
            found.add(row.pid)
    for pid, start in server.get("children", ()):
        if pid in rows and rows[pid].start == start:
            found.add(pid)
    if server.get("mark"):
        found |= {pid for pid in rows if marked(pid, server["mark"])}
    ours, me = protected(rows), os.geteuid()
    return [rows[pid] for pid in sorted(found - ours) if rows[pid].uid == me]


def described(rows: Iterable[Process]) -> list[Json]:
    return [
        {"pid": row.pid, "start": row.start, "title": title(row.pid), "orphan": row.ppid == 1}
        for row in rows
    ]


def send(pid: int, start: int, number: int) -> bool:
    """A signal to exactly this process; False where it is gone."""
    handle = None
    with contextlib.suppress(AttributeError, OSError):
        handle = os.pidfd_open(pid)
    try:
        row = process(pid)
        if row is None or row.dead or row.start != start:
            return False
        if handle is not None:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
    except ProcessLookupError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def may_stop(server: Json) -> bool:
    """Whether the server is there to be stopped.

    Raises:
        Refused: it is another user's, or this program runs inside it.
    """
    rows = table()
    if not same(server, rows):
        return False
    row = rows[server["pid"]]
    if row.uid != os.geteuid():
        raise Refused("other-user", pid=row.pid, uid=row.uid)
    if row.pid in protected(rows):
        raise Refused("own-shell", pid=row.pid)
    manager = manager_of(row.pid)
    if manager:
        raise Refused("managed", pid=row.pid, manager=manager)
    return True


def manager_of(pid: int) -> str:
    """What would start the server again behind our back: its container, or its systemd unit."""
    try:
        if os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid"):
            return "a container"
        unit, ours = unit_of(read(f"/proc/{pid}/cgroup")), unit_of(read("/proc/self/cgroup"))
    except OSError:
        return ""
    return f"the systemd unit {unit}" if unit and unit != ours else ""


def unit_of(cgroup: bytes) -> str:
    """The innermost service of a process; "" in a login session."""
    parts = cgroup.decode("utf-8", "replace").replace("\n", "/").split("/")
    units = [p for p in parts if p.endswith(".service") and not p.startswith("user@")]
    return units[-1] if units else ""


# --- the port and the GPUs --------------------------------------------------------------------


def port_holder(port: int) -> Json | None:
    """Who listens on a port: {} where that may not be seen, None for nobody."""
    inodes = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for row in read(name).decode("ascii", "replace").splitlines()[1:]:
                words = row.split()
                if words[3] == LISTEN and int(words[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{words[9]}]")
    if not inodes:
        return None
    for pid in table():
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):
            for fd in os.listdir(folder):
                with contextlib.suppress(OSError):
                    if os.readlink(folder + "/" + fd) in inodes:
                        return {"pid": pid, "title": title(pid)}
    return {}


def gpu_pids() -> Json:
    """Which processes hold GPU memory; a driver that hangs is left behind, not waited for."""
    query = ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader,nounits"]
    try:
        tool = subprocess.Popen(
            query,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return {"tool": "absent", "pids": []}
    try:
        output, _ = tool.communicate(timeout=GPU_LIMIT)
    except subprocess.TimeoutExpired:
        tool.kill()
        return {"tool": "hangs", "pids": []}
    if tool.returncode:
        return {"tool": "fails", "pids": []}
    return {"tool": "ok", "pids": [int(word) for word in output.split() if word.isdigit()]}


# --- what is kept -----------------------------------------------------------------------------


def state_folder() -> str:
    given = os.environ.get("EAGLETUI_STATE", "")
    return given or os.path.join(os.path.expanduser("~"), ".local", "state", "eagletui")


def launch_folder(launch: str) -> str:
    if not launch or not all(letter.isalnum() or letter in "-_" for letter in launch):
        raise Refused("bad-request", detail="no launch id")
    return os.path.join(state_folder(), "launches", launch)


def write(path: str, value: Any) -> None:
    """Whole or not at all, and readable by nobody else."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        code = "disk-full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "no-folder"
        raise Refused(code, path=path, detail=error.strerror) from error


def load(path: str) -> Any:
    try:
        return json.loads(read(path))
    except (OSError, ValueError):
        return None


def boot() -> str:
    try:
        return read("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        return ""


def launch_state(launch: str) -> Json:
    return load(os.path.join(launch_folder(launch), "state.json")) or {}


def update(launch: str, **values: Any) -> Json:
    state = {**launch_state(launch), **values, "id": launch}
    write(os.path.join(launch_folder(launch), "state.json"), state)
    return state


# --- the lock ---------------------------------------------------------------------------------


def lock_path() -> str:
    return os.environ.get("EAGLETUI_LOCK") or LOCK


def read_lock() -> Json | None:
    path = lock_path()
    try:
        about = os.lstat(path)
    except OSError:
        return None
    held = load(path) if stat.S_ISREG(about.st_mode) else None
    held = held if isinstance(held, dict) else {}
    held["quiet"] = max(0.0, time.time() - about.st_mtime)
    taken = held.get("time")
    held["age"] = max(0.0, time.time() - taken) if isinstance(taken, (int, float)) else None
    held["rebooted"] = bool(held.get("boot")) and held["boot"] != boot()
    return held


def take_lock(launch: str, owner: Json, break_it: bool) -> None:
    """One restart at a time on this host, whoever asks: made in one step, with its whole text."""
    path = lock_path()
    mine = {**owner, "launch": launch, "boot": boot(), "time": time.time(), "uid": os.geteuid()}
    draft = f"{path}.{os.getpid()}"
    for _ in range(3):
        if linked(draft, path, mine):
            return
        held = read_lock()
        if held is None:
            continue
        if not (held.get("launch") == launch or held["rebooted"] or break_it):
            raise Refused("locked", path=path, held=held)
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Refused("lock-stuck", path=path, detail=error.strerror) from error
    raise Refused("locked", path=path, held=read_lock() or {})


def linked(draft: str, path: str, text: Json) -> bool:
    """Make a whole file under a name that must be free."""
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            json.dump(text, file)
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise Refused("lock-stuck", path=path, detail=error.strerror) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)
    return True


def own_lock(launch: str) -> bool:
    held = read_lock()
    return held is not None and held.get("launch") == launch


# --- requests ---------------------------------------------------------------------------------


def do_check(ask: Json) -> Json:
    """Whether what is planned can be done, before anything is touched."""
    target, plan = ask.get("target"), ask.get("plan")
    if target is not None and not may_stop(target):
        raise Refused("gone", pid=target["pid"])
    held = read_lock()
    ours = held is None or held["rebooted"] or held.get("launch") == ask["launch"]
    if not ours and not ask.get("break_lock"):
        raise Refused("locked", path=lock_path(), held=held)
    if plan is None:
        return {}
    holder = port_holder(plan["port"]) if plan["port"] else None
    theirs = {row.pid for row in members(target)} if target is not None else set()
    if holder is not None and holder.get("pid") not in theirs:
        raise Refused("port-taken", port=plan["port"], holder=holder)
    workdir = os.path.expanduser(plan["workdir"] or "~")
    if not os.path.isdir(workdir):
        raise Refused("no-workdir", path=workdir)
    runnable(str(plan["argv"][0]), workdir, plan["environment"].get("PATH"))
    return {}


def runnable(program: str, workdir: str, path: str | None) -> None:
    import shutil  # a fifth of the time that starting this program takes

    if "/" in program:
        program = os.path.join(workdir, program)
        if not os.path.exists(program):
            raise Refused("no-program", path=program)
        if not os.access(program, os.X_OK) or os.path.isdir(program):
            raise Refused("not-allowed", path=program)
    elif shutil.which(program, path=path) is None:
        raise Refused("no-program", path=program)


def do_save(ask: Json) -> Json:
    """Take the lock and write down what runs, whole, for roll-back."""
    launch, target = ask["launch"], ask.get("target")
    folder = launch_folder(launch)
    if target is not None:
        may_stop(target)
    take_lock(launch, ask["owner"], bool(ask.get("break_lock")))
    try:
        write(os.path.join(folder, "plan.json"), ask["plan"])
        old = saved(folder, target) if target is not None else None
        update(launch, **ask["note"], boot=boot(), began=time.time(), old=old)
    except BaseException:
        if own_lock(launch):
            os.unlink(lock_path())
        raise
    return {"old": old}


def saved(folder: str, target: Json) -> Json:
    pid = target["pid"]
    rows = table()
    if not same(target, rows):
        raise Refused("gone", pid=pid)
    try:
        argv = [os.fsdecode(w) for w in read(f"/proc/{pid}/cmdline").split(b"\0")][:-1]
        before = {
            "argv": argv,
            "environment": variables(f"/proc/{pid}/environ"),
            "whole_environment": True,
            "workdir": os.readlink(f"/proc/{pid}/cwd"),
            "exe": os.readlink(f"/proc/{pid}/exe"),
            "port": target["port"],
            "log": "",
            "output": output_of(pid),
        }
    except OSError as error:
        raise Refused("unreadable", pid=pid, detail=error.strerror) from error
    write(os.path.join(folder, "before.json"), before)
    row = rows[pid]
    return with_children(
        {
            "pid": pid,
            "start": row.start,
            "uid": row.uid,
            "pgid": row.pgid,
            "sid": row.sid,
            "port": target["port"],
            "mark": before["environment"].get(MARK, ""),
        }
    )


def output_of(pid: int) -> str:
    """The file that a process writes its output to; "" where that is no file."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.stat(f"/proc/{pid}/fd/1").st_mode):
            return os.readlink(f"/proc/{pid}/fd/1")
    return ""


def with_children(server: Json) -> Json:
    known = {(pid, start) for pid, start in server.get("children", ())}
    known |= {(row.pid, row.start) for row in members(server)}
    return {**server, "children": sorted(known)}


def do_note(ask: Json) -> Json:
    """Write down where the restart stands; the lock is shown to be in use."""
    update(ask["launch"], **ask["note"])
    ours = own_lock(ask["launch"])
    if ours:
        os.utime(lock_path())
    return {"ours": ours}


def do_terminate(ask: Json) -> Json:
    """SIGTERM to the main process, after another look at who it is and what it started."""
    launch, which = ask["launch"], ask["which"]
    state = update(launch, **ask.get("note", {}))
    server = state.get(which)
    if not server or not may_stop(server):
        return {"sent": False}
    update(launch, **{which: with_children(server)})
    return {"sent": send(server["pid"], server["start"], signal.SIGTERM)}


def do_kill(ask: Json) -> Json:
    """SIGKILL to everything that is left of a server."""
    launch, which = ask["launch"], ask["which"]
    state = update(launch, **ask.get("note", {}))
    server = found_by_mark(state.get(which), ask.get("mark", ""))
    if server is None:
        return {"killed": [], "left": []}
    may_stop(server)
    server = with_children(server)
    update(launch, **{which: server})
    killed: dict[int, Json] = {}
    end = time.monotonic() + float(ask.get("seconds", 2.0))
    while True:
        left = members(server)
        if not left or time.monotonic() > end:
            return {"killed": list(killed.values()), "left": described(left)}
        for about in described(left):
            killed.setdefault(about["pid"], about)
        kill_own_group(server)
        for row in left:
            send(row.pid, row.start, signal.SIGKILL)
        time.sleep(PAUSE)


def kill_own_group(server: Json) -> None:
    """At once and with whatever is being forked now, where the group is this server's alone."""
    rows = table()
    if server.get("pgid") != server["pid"] or not same(server, rows):
        return
    group = {row.pid for row in rows.values() if row.pgid == server["pgid"]}
    if group & protected(rows) or server["pgid"] == os.getpgid(0):
        return
    with contextlib.suppress(OSError):
        os.killpg(server["pgid"], signal.SIGKILL)


def found_by_mark(server: Json | None, mark: str) -> Json | None:
    """A server that was started, but whose start nobody could write down."""
    if server or not mark:
        return server
    rows = [row for row in table().values() if row.uid == os.geteuid() and marked(row.pid, mark)]
    if not rows:
        return None
    first = min(rows, key=lambda row: (row.pid != row.sid, row.start, row.pid))
    return {
        "pid": first.pid,
        "start": first.start,
        "uid": first.uid,
        "pgid": first.pgid,
        "sid": first.sid,
        "mark": mark,
    }


def do_gone(ask: Json) -> Json:
    """Wait a little until processes, port and GPU memory are free; then say what is not.

    With `main`, only until the main process is gone.
    """
    state = launch_state(ask["launch"])
    server = state.get(ask["which"])
    if own_lock(ask["launch"]):
        os.utime(lock_path())
    if not server:
        return {"gone": True, "left": [], "port": None, "gpu": {"tool": "unasked", "pids": []}}
    known = {server["pid"]} | {pid for pid, _ in server.get("children", ())}
    end = time.monotonic() + float(ask.get("seconds", 2.0))
    while True:
        left = members(server)
        if ask.get("main") and not any(row.pid == server["pid"] for row in left):
            return {"gone": True, "left": described(left)}
        holder = None if left else port_holder(server["port"]) if server.get("port") else None
        gpu: Json = {"tool": "unasked", "pids": []}
        if not left and holder is None and not ask.get("main"):
            gpu = gpu_pids()
            gpu["pids"] = [pid for pid in gpu["pids"] if pid in known]
        gone = not left and holder is None and not gpu["pids"]
        if gone or time.monotonic() > end:
            return {"gone": gone, "left": described(left), "port": holder, "gpu": gpu}
        time.sleep(PAUSE if left or holder is not None else 0.5)


def do_start(ask: Json) -> Json:
    """Start a server that depends on nothing of ours; a second call finds the first one's."""
    launch, which = ask["launch"], ask["which"]
    state = update(launch, **ask.get("note", {}))
    started = found_by_mark(state.get(which), ask["mark"])
    if started is not None and state.get(which):
        return started
    folder = launch_folder(launch)
    plan = load(os.path.join(folder, ask["source"]))
    if plan is None:
        raise Refused("no-plan", path=os.path.join(folder, ask["source"]))
    port, workdir = plan["port"], os.path.expanduser(plan["workdir"] or "~")
    log = os.path.expanduser(plan["log"]) or os.path.join(
        state_folder(), "logs", ask["mark"] + ".log"
    )
    log = os.path.join(workdir, log)
    if started is None:
        started = launched(plan, workdir, log, port, ask["mark"])
    else:
        started["log"] = log
        with contextlib.suppress(OSError):
            started["inode"], started["offset"] = os.stat(log).st_ino, 0
    started["port"] = port
    update(launch, **{which: started})
    return started


def launched(plan: Json, workdir: str, log: str, port: int, mark: str) -> Json:
    holder = port_holder(port) if port else None
    if holder is not None:
        raise Refused("port-taken", port=port, holder=holder)
    if not os.path.isdir(workdir):
        raise Refused("no-workdir", path=workdir)
    out = opened(log)
    about = os.fstat(out)
    environment = dict(plan["environment"])
    if not plan["whole_environment"]:
        inherited = variables("/proc/self/environ")
        kept = {k: v for k, v in inherited.items() if k not in OURS and not k.startswith("SSH_")}
        environment = {**kept, **environment}
    environment[MARK] = mark
    try:
        child = subprocess.Popen(
            plan["argv"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=workdir,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Refused(exec_problem(error), path=str(plan["argv"][0]), detail=str(error)) from error
    finally:
        os.close(out)
    row = process(child.pid)
    return {
        "pid": child.pid,
        "start": row.start if row is not None else 0,
        "uid": os.geteuid(),
        "pgid": child.pid,
        "sid": child.pid,
        "mark": mark,
        "log": log,
        "inode": about.st_ino,
        "offset": about.st_size,
    }


def opened(log: str) -> int:
    try:
        os.makedirs(os.path.dirname(log), exist_ok=True)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY, 0o644)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Refused("disk-full" if full else "no-log", path=log, detail=error.strerror) from error
    room = os.fstatvfs(out)
    if room.f_bavail * room.f_frsize < LEAST_FREE:
        os.close(out)
        raise Refused("disk-full", path=log, detail="less than 1 MiB is free")
    return out


def exec_problem(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no-program"
    if isinstance(error, PermissionError):
        return "not-allowed"
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return "too-long"
    return "not-started"


def do_list(ask: Json) -> Json:
    """Every launch that was written down, newest first."""
    folder = os.path.join(state_folder(), "launches")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    states = [state for name in names if (state := load(os.path.join(folder, name, "state.json")))]
    states.sort(key=lambda state: state.get("began", 0.0), reverse=True)
    states = states[: int(ask.get("most", 50))]
    return {"launches": states, "boot": boot(), "lock": read_lock(), "now": time.time()}


def do_kept(ask: Json) -> Json:
    """What a launch started, or what it replaced; of a whole environment only what was asked for.

    Of that, `names` is a regular expression of the variables a server's behaviour depends on.
    """
    path = os.path.join(launch_folder(ask["launch"]), ask["source"] + ".json")
    kept = load(path)
    if not isinstance(kept, dict):
        raise Refused("no-plan", path=path)
    if kept.get("whole_environment"):
        wanted = re.compile(ask["names"])
        variables = kept["environment"].items()
        kept["path"] = kept["environment"].get("PATH", "")
        kept["environment"] = {k: v for k, v in variables if wanted.fullmatch(k)}
    return {"kept": kept}


def do_resume(ask: Json) -> Json:
    """Take the lock for a launch that somebody left, and tell where it stands."""
    launch = ask["launch"]
    state = launch_state(launch)
    if not state:
        raise Refused("no-launch", launch=launch)
    held = read_lock()
    if held and held.get("launch") == launch and not ask.get("break_lock"):
        theirs, owner = held.get("session"), ask["owner"].get("session")
        if theirs != owner and held["quiet"] < float(ask["stale"]):
            raise Refused("locked", path=lock_path(), held=held)
    take_lock(launch, ask["owner"], bool(ask.get("break_lock")))
    update(launch, unattended=None)
    plan = load(os.path.join(launch_folder(launch), "plan.json")) or {}
    before = load(os.path.join(launch_folder(launch), "before.json")) or {}
    argvs = {"plan": plan.get("argv", []), "before": before.get("argv", [])}
    return {"state": state, "boot": boot(), "argv": argvs, "guard": plan.get("guard")}


def do_leave(ask: Json) -> Json:
    """Nobody watches any more what was started: write that down and give the lock back."""
    update(ask["launch"], **ask["note"], unattended=time.time())
    if own_lock(ask["launch"]):
        with contextlib.suppress(OSError):
            os.unlink(lock_path())
    return {}


def do_release(ask: Json) -> Json:
    """Write down the end and give the lock back."""
    update(ask["launch"], **ask["note"], ended=time.time())
    if own_lock(ask["launch"]):
        with contextlib.suppress(OSError):
            os.unlink(lock_path())
    return {}


REQUESTS: dict[str, Callable[[Json], Json]] = {
    "check": do_check,
    "save": do_save,
    "note": do_note,
    "terminate": do_terminate,
    "kill": do_kill,
    "gone": do_gone,
    "start": do_start,
    "list": do_list,
    "kept": do_kept,
    "resume": do_resume,
    "leave": do_leave,
    "release": do_release,
}


# What changes something is done by one at a time, also when an eagletui that was killed had asked.
ALONE = ("save", "terminate", "kill", "start", "leave", "release")


def attended(ask: Json) -> Json:
    """Do it, alone where that matters."""
    request = REQUESTS[ask["do"]]
    if ask["do"] not in ALONE:
        return request(ask)
    folder = launch_folder(ask["launch"])
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Refused(
            "disk-full" if full else "no-folder", path=folder, detail=error.strerror
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        return request(ask)
    finally:
        os.close(fd)


def answer(ask: Json) -> Json:
    """The answer to one request."""
    if not os.path.isdir("/proc/self"):
        return {"error": "no-proc"}
    os.umask(0o022)
    try:
        return attended(ask)
    except Refused as refused:
        return {"error": refused.code, **refused.about}
    except OSError as error:
        return {"error": "system", "detail": str(error)}


if __name__ == "__main__":
    told = answer(json.loads(sys.stdin.buffer.read()))
    json.dump({**told, "python": sys.executable}, sys.stdout)
