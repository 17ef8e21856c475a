"""What the agent can be asked: one function a row of `REQUESTS`."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator

from eagletui.hostside.agent.base import Json, Refused, record
from eagletui.hostside.agent.kept import (
    boot,
    launch_folder,
    launch_state,
    state_folder,
    update,
    write,
)
from eagletui.hostside.agent.lock import (
    give_back,
    is_meant,
    is_of,
    lock_path,
    own_lock,
    read_lock,
    refuse_lost,
    renew,
    sure,
    take_lock,
)
from eagletui.hostside.agent.machine import gpu_pids, port_holder
from eagletui.hostside.agent.processes import described
from eagletui.hostside.agent.runner import Task, known, planned, recognised, with_children

PAUSE = 0.05


def do_check(ask: Json) -> Json:
    """Whether what is planned can be done, and what is to be known, before anything is touched."""
    target, plan = ask.get("target"), ask.get("plan")
    if target is not None:
        target = recognised(target)
        if not known(target).may_stop(target):
            raise Refused("gone", pid=target["pid"])
    breaks = broken(ask)
    notes = known(target).about(target, plan) if target is not None else []
    if plan is not None:
        refuse_foreign_port(plan, target)
        notes += planned(plan).examine(plan, target)
    return {"notes": notes, "breaks": breaks}


def broken(ask: Json) -> str:
    """What is said of the lock that would be taken away; "" where none stands in the way.

    `breaks` is the `key` or `still` of one that was seen before, or True for whoever has it now.
    """
    held = read_lock()
    if held is None or held["rebooted"] or is_of(held, ask["launch"], ask["owner"]):
        return ""
    if ask["breaks"] is True:
        return str(held["key"])
    if not is_meant(held, ask["breaks"]):
        raise Refused("locked", path=lock_path(), held=held)
    return str(ask["breaks"])


def refuse_foreign_port(plan: Json, target: Json | None) -> None:
    """The port is free, or held by what has to go."""
    port = planned(plan).outside(plan)
    theirs: set[int] = set()
    if target is not None and known(target).port(target) == port:
        if target["runner"] == "docker":
            return  # a published port is held by docker's own proxy
        theirs = {row.pid for row in known(target).members(target)}
    holder = port_holder(port, sorted(theirs)) if port else None
    if holder is not None and holder.get("pid") not in theirs:
        raise Refused("port-taken", port=port, holder=holder)


def do_save(ask: Json) -> Json:
    """Take the lock and write down what runs, whole, for roll-back."""
    launch, target, plan = ask["launch"], ask.get("target"), ask["plan"]
    folder = launch_folder(launch)
    if plan is None:
        plan = record(os.path.join(folder, "plan.json"))
    if target is not None:
        target = recognised(target)
        if not known(target).may_stop(target):
            raise Refused("gone", pid=target["pid"])
    take_lock(launch, ask["owner"], ask["breaks"])
    try:
        write(os.path.join(folder, "plan.json"), plan)
        old = None
        if target is not None:
            before, old = known(target).keep(folder, target)
            write(os.path.join(folder, "before.json"), before)
            old = with_children(old, known(old).members(old))
        state = update(launch, **ask["note"], boot=boot(), began=time.time(), old=old)
        if plan and not ask["note"].get("again"):
            task = Task(launch, ask["owner"], folder, plan, launch, state)
            update(launch, prepared=planned(plan).prepare(task))
    except BaseException:
        give_back(launch, ask["owner"])
        raise
    return {"old": old}


def do_note(ask: Json) -> Json:
    """Write down where the restart stands; the lock is shown to be in use.

    Who lost the lock writes nothing: another may have gone on with the same launch.
    """
    refuse_lost(ask["launch"], ask["owner"])
    update(ask["launch"], **ask["note"])
    renew(ask["launch"], ask["owner"])
    return {}


def do_terminate(ask: Json) -> Json:
    """Ask a server to go, after another look at who it is and what it started."""
    launch, which, owner = ask["launch"], ask["which"], ask["owner"]
    refuse_lost(launch, owner)
    state = update(launch, **ask.get("note", {}))
    server = state.get(which)
    if not server or not known(server).may_stop(server):
        return {"sent": False}
    server = with_children(server, known(server).members(server))
    update(launch, **{which: server})
    with sure(launch, owner):
        return {"sent": known(server).terminate(server, float(ask.get("stop_seconds", 60.0)))}


def do_kill(ask: Json) -> Json:
    """End everything that is left of a server; with `clear` also what it left behind."""
    which = ask["which"]
    refuse_lost(ask["launch"], ask["owner"])
    state = update(ask["launch"], **ask.get("note", {}))
    task = _task(ask, which, state)
    server = state.get(which) or (planned(task.plan).started(task) if ask.get("mark") else None)
    told: Json = {"killed": [], "left": []}
    if server is not None:
        told = _killed(task, which, server, float(ask.get("seconds", 2.0)))
    if ask.get("clear") and not told["left"] and task.plan:
        planned(task.plan).clear(task, server)
    return told


def _killed(task: Task, which: str, server: Json, seconds: float) -> Json:
    keeper = known(server)
    keeper.may_stop(server)
    server = with_children(server, keeper.members(server))
    update(task.launch, **{which: server})
    killed: dict[int, Json] = {}
    end = time.monotonic() + seconds
    while True:
        left = keeper.members(server)
        if not left or time.monotonic() > end:
            return {"killed": list(killed.values()), "left": described(left)}
        for about in described(left):
            killed.setdefault(about["pid"], about)
        with task.sure():
            keeper.kill(server)
        time.sleep(PAUSE)


def do_gone(ask: Json) -> Json:
    """Wait a little until processes, port and GPU memory are free; then say what is not.

    With `main`, only until the main process is gone.
    """
    state = launch_state(ask["launch"])
    server = state.get(ask["which"])
    renew(ask["launch"], ask["owner"])
    if not server:
        return {"gone": True, "left": [], "port": None, "gpu": {"tool": "unasked", "pids": []}}
    keeper = known(server)
    port = keeper.port(server)
    seen = {server["pid"]} | {pid for pid, _ in server.get("children", ())}
    end = time.monotonic() + float(ask.get("seconds", 2.0))
    while True:
        left = keeper.members(server)
        if ask.get("main") and not any(row.pid == server["pid"] for row in left):
            return {"gone": True, "left": described(left)}
        holder = None if left or not port else port_holder(port)
        gpu: Json = {"tool": "unasked", "pids": []}
        if not left and holder is None and not ask.get("main"):
            gpu = gpu_pids()
            gpu["pids"] = [pid for pid in gpu["pids"] if pid in seen]
        gone = not left and holder is None and not gpu["pids"]
        if gone or time.monotonic() > end:
            return {"gone": gone, "left": described(left), "port": holder, "gpu": gpu}
        time.sleep(PAUSE if left or holder is not None else 0.5)


def do_start(ask: Json) -> Json:
    """Start a server that depends on nothing of ours; a second call finds the first one's."""
    launch, which, source = ask["launch"], ask["which"], ask["source"]
    refuse_lost(launch, ask["owner"])
    state = update(launch, **ask.get("note", {}))
    if state.get(which):
        return dict(state[which])
    folder = launch_folder(launch)
    plan = record(os.path.join(folder, source))
    if not plan:
        raise Refused("no-plan", path=os.path.join(folder, source))
    task = Task(launch, ask["owner"], folder, plan, ask["mark"], state)
    starter = planned(plan)
    server = starter.started(task)
    if server is None:
        again = source == "before.json" and bool(state.get("old"))
        server = starter.put_back(task, state["old"]) if again else starter.start(task)
    server.setdefault("port", plan["port"])
    update(launch, **{which: server})
    return server


def do_look(ask: Json) -> Json:
    """Whether a server that was started is there; a script may have become another process.

    Of one that is gone, how it ended.
    """
    server = launch_state(ask["launch"]).get(ask["which"])
    if not server:
        return {"alive": False}
    found = known(server).followed(server)
    if found is None:
        return {"alive": False, "ended": server.get("ended") or known(server).ended(server)}
    if found != server and own_lock(ask["launch"], ask["owner"]):
        update(ask["launch"], **{ask["which"]: found})
    return {"alive": True, "server": found}


def do_list(ask: Json) -> Json:
    """The launches that were written down last, newest first; no other is read."""
    states = list(itertools.islice(_written_down(), int(ask.get("most", 50))))
    states.sort(key=_began, reverse=True)
    return {"launches": states, "boot": boot(), "lock": read_lock(), "now": time.time()}


def _written_down() -> Iterator[Json]:
    """What is kept of each launch, the newest first, read as it is asked for."""
    folder = os.path.join(state_folder(), "launches")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    folders = [os.path.join(folder, name) for name in names]
    for path in sorted(folders, key=_saved, reverse=True):
        if state := record(os.path.join(path, "state.json")):
            yield state


def _saved(folder: str) -> float:
    """When a launch's plan was written, which is once: its name is by another machine's clock."""
    for name in ("plan.json", "state.json"):
        with contextlib.suppress(OSError):
            return os.stat(os.path.join(folder, name)).st_mtime
    return 0.0


def _began(state: Json) -> float:
    began = state.get("began")
    return float(began) if isinstance(began, (int, float)) else 0.0


def do_kept(ask: Json) -> Json:
    """What a launch started, or what it replaced; of a whole environment only what was asked for.

    Of that, `names` is a regular expression of the variables a server's behaviour depends on.
    """
    path = os.path.join(launch_folder(ask["launch"]), ask["source"] + ".json")
    kept = record(path)
    if not kept:
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
    held, breaks = read_lock(), ask["breaks"]
    if held and held.get("launch") == launch and held["quiet"] >= float(ask["stale"]):
        breaks = held["still"]
    take_lock(launch, ask["owner"], breaks)
    update(launch, unattended=None, released=None)
    plan = record(os.path.join(launch_folder(launch), "plan.json"))
    before = record(os.path.join(launch_folder(launch), "before.json"))
    return {
        "state": state,
        "boot": boot(),
        "argv": {"plan": plan.get("argv", []), "before": before.get("argv", [])},
        "guard": plan.get("guard"),
        "runner": plan.get("runner", "process"),
    }


def do_leave(ask: Json) -> Json:
    """Nobody watches any more what was started: write that down and give the lock back.

    Who lost the lock has nothing to give and writes nothing.
    """
    if own_lock(ask["launch"], ask["owner"]):
        update(ask["launch"], **ask["note"], unattended=time.time())
        if give_back(ask["launch"], ask["owner"]):
            raise Refused("lock-busy", path=lock_path())
    return {}


def do_release(ask: Json) -> Json:
    """Tidy up, write down the end and give the lock back.

    Its answer may be lost, and it is asked again: by then the lock is nobody's, or another's
    already. What was answered is kept, and answered as before.
    """
    launch, owner = ask["launch"], ask["owner"]
    if not own_lock(launch, owner):
        before = launch_state(launch).get("released") or {}
        if before.get("session") == owner.get("session"):
            return _answered(before)
    refuse_lost(launch, owner)
    state = update(launch, **ask["note"], ended=time.time())
    released: Json = {"session": owner.get("session"), "left": []}
    try:
        task = _task({**ask, "mark": launch}, "new", state)
        if task.plan and not state.get("again"):
            released["left"] = planned(task.plan).finish(task, str(ask.get("ending", "")))
    except Refused as refused:
        released["refused"] = [refused.code, refused.about]
    finally:
        # Before the lock is free: who is ended between the two does it all once more.
        with contextlib.suppress(Refused):
            update(launch, released=released)
        kept = give_back(launch, owner)
    if kept:
        released["left"].append(f"The lock is not given back, and goes stale by itself: {kept}.")
    return _answered(released)


def _answered(released: Json) -> Json:
    if "refused" in released:
        code, about = released["refused"]
        raise Refused(code, **about)
    return {"left": released["left"]}


def _task(ask: Json, which: str, state: Json) -> Task:
    folder = launch_folder(ask["launch"])
    source = "before.json" if which != "new" or state.get("again") else "plan.json"
    plan = record(os.path.join(folder, source))
    return Task(ask["launch"], ask["owner"], folder, plan, ask.get("mark", ""), state)


REQUESTS: dict[str, Callable[[Json], Json]] = {
    "check": do_check,
    "save": do_save,
    "note": do_note,
    "terminate": do_terminate,
    "kill": do_kill,
    "gone": do_gone,
    "start": do_start,
    "look": do_look,
    "list": do_list,
    "kept": do_kept,
    "resume": do_resume,
    "leave": do_leave,
    "release": do_release,
}


# What changes something is done by one at a time, also when an eagletui that was killed had asked.
ALONE = ("save", "note", "terminate", "kill", "start", "look", "leave", "release")


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
    except Exception as error:
        # A traceback tells a person nothing; what it was about may be damaged on the disk.
        return {"error": "agent", "detail": f"{type(error).__name__}: {error}"}
