#!/usr/bin/env python3
"""A stand-in for docker, systemctl or journalctl, by the name it is called: what it was told, it
writes down.

It keeps containers and units in JSON files under TOOL_STATE; what they start are real processes.

    FAIL_DOCKER    a word: calls with it are refused as by a daemon that this account may not use
    DOCKER_LAGS    so many looks docker needs to hear that a container's process has ended; as many
                   again until it begins to remove a `--rm` one, until it has, and to free its name
    START_TAKES_LONG  what is to die is dead, and what is to serve serves, before its start is said
                      to be done
    DOCKER_END     what docker says of the state of a container that has ended
    UNIT_END       what systemd says of a unit whose process has ended: result and status
    UNIT_RESTARTS  how such a unit, started again before anybody looks, has ended in the journal:
                   JSON documents, one a line
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STATE = Path(os.environ["TOOL_STATE"])
WORDS = sys.argv[1:]
LAGS = int(os.environ.get("DOCKER_LAGS", "0"))
IMAGE = {"Id": "sha256:image", "Config": {"Env": ["OF_IMAGE=1"], "Entrypoint": None}}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def fail(text: str, status: int = 1) -> None:
    sys.stderr.write(text + "\n")
    sys.exit(status)


def load(name: str) -> Any:
    path = STATE / name
    return json.loads(path.read_text()) if path.exists() else {}


def save(name: str, value: Any) -> None:
    draft = STATE / f"{name}.{os.getpid()}"
    draft.write_text(json.dumps(value))
    draft.replace(STATE / name)


def alive(pid: int) -> bool:
    try:
        return (
            pid > 0 and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


def end(pid: int, number: int, seconds: float) -> None:
    for sent in (number, signal.SIGKILL):
        limit = time.monotonic() + seconds
        if alive(pid):
            os.kill(pid, sent)
        while alive(pid) and time.monotonic() < limit:
            time.sleep(0.02)


JOURNALD = """
import sys, time
with open(sys.argv[1], "ab", buffering=0) as journal:
    for line in sys.stdin.buffer:
        journal.write(b"%d " % (time.time() * 1_000_000) + line)
"""


def start(argv: list[str], log: Path, cwd: str, env: dict[str, str]) -> int:
    keeper = None
    begun = log.stat().st_size if log.exists() else 0
    if log.name == "journal":  # a socket of another's, and no file
        keeper = subprocess.Popen(
            [sys.executable, "-ISc", JOURNALD, str(log)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    with keeper.stdin if keeper and keeper.stdin else log.open("ab") as out:
        child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    if os.environ.get("START_TAKES_LONG") and "SGLANG_FAKE_DIE" in env:
        with (STATE / "other.log").open("a") as other:
            other.write("what goes to another file than the errors\n")
        child.wait(60)
        if keeper is not None:
            keeper.wait(60)
    elif os.environ.get("START_TAKES_LONG") and keeper is None:
        # What serves says so before its start is said to be done.
        limit = time.monotonic() + 20.0
        while b"ready to roll" not in log.read_bytes()[begun:] and time.monotonic() < limit:
            time.sleep(0.05)
    return child.pid


# --- docker -----------------------------------------------------------------------------------


@contextlib.contextmanager
def changing() -> Iterator[dict[str, Any]]:
    """The containers, for one call at a time to change."""
    with (STATE / "changing").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        containers = load("containers.json")
        yield containers
        save("containers.json", containers)


def known(name: str) -> dict[str, Any]:
    with changing() as containers:
        for about in containers.values():
            if name in (about["Id"], about["Name"].lstrip("/")):
                about["State"].update(standing(about))
                if about["State"]["Status"] == "exited":
                    about["State"].update(json.loads(os.environ.get("DOCKER_END", "{}")))
                if about["State"]["Status"] != "gone":
                    return dict(about)
                del containers[about["Id"]]
                save("freed.json", {about["Name"]: LAGS})
                break
    fail(f"Error: No such container: {name}")
    return {}


def standing(about: dict[str, Any]) -> dict[str, Any]:
    """What docker holds its state for, which it is told late."""
    state = about["State"]
    if state.get("Status") == "created" or alive(state["Pid"]):
        return {"Running": alive(state["Pid"]), "Looks": 0,
                "Status": "running" if alive(state["Pid"]) else "created"}  # fmt: skip
    looks = state.get("Looks", 0) + 1
    late = [word for word in ("running", "exited", "removing") for _ in range(LAGS)]
    removes_itself = about["HostConfig"].get("AutoRemove")
    last = "gone" if removes_itself else "exited"
    status = late[looks - 1] if looks <= len(late if removes_itself else late[:LAGS]) else last
    return {"Running": status == "running", "Looks": looks, "Status": status}


def put(about: dict[str, Any] | None, name: str = "") -> None:
    with changing() as containers:
        containers.pop(name, None)
        if about is not None:
            containers[about["Id"]] = about


def docker() -> None:
    verb, name = WORDS[0], WORDS[-1]
    if os.environ.get("FAIL_DOCKER") == verb:
        fail("permission denied while trying to connect to the Docker daemon socket", 1)
    if verb == "inspect":
        say(json.dumps([IMAGE if WORDS[2] == "image" else known(name)]))
        return
    if verb == "create":
        created()
        return
    if verb == "rename":
        about = known(WORDS[1])
        about["Name"] = "/" + name
        put(about)
        return
    about = known(name)
    removing = about["HostConfig"].get("AutoRemove") and about["State"].get("Looks")
    if removing and verb in ("start", "rename", "rm"):
        doing = {"rm": f"removal of container {name} is already in progress"}
        fail(doing.get(verb, "container is marked for removal and cannot be started"))
    if verb == "start" and about["State"]["Running"]:
        return  # as far as docker knows
    if verb == "start":
        config = about["Config"]
        env = {**os.environ, **dict(pair.split("=", 1) for pair in config["Env"])}
        argv = [*(config["Entrypoint"] or []), *config["Cmd"]]
        log = STATE / f"{about['Id']}.log"
        pid = start(argv, log, config["WorkingDir"] or "/", env)
        about["State"] = {"Pid": pid, "Running": True, "Status": "running"}
        put(about)
    elif verb == "stop":
        end(about["State"]["Pid"], signal.SIGTERM, float(WORDS[2]))
    elif verb == "kill":
        end(about["State"]["Pid"], signal.SIGKILL, 5.0)
    elif verb == "rm":
        end(about["State"]["Pid"], signal.SIGKILL, 5.0)
        put(None, about["Id"])
    elif verb == "update":
        about["HostConfig"]["RestartPolicy"]["Name"] = WORDS[1].partition("=")[2]
        put(about)
    elif verb == "logs":
        logs(about)
    else:
        fail(f"unknown command {verb}")


def created() -> None:
    """What is not told is as in the container of the test."""
    words, about = list(WORDS[1:]), json.loads(json.dumps(load("template.json")))
    about["HostConfig"]["Binds"] = []
    env: list[str] = []
    while words and words[0].startswith("--"):
        flag = words.pop(0)
        value = "" if flag == "--rm" else words.pop(0)
        if flag == "--name":
            refuse_taken("/" + value)
            about["Name"] = "/" + value
        elif flag == "--volume":  # docker's own client shuffles them
            about["HostConfig"]["Binds"] = [value, *about["HostConfig"]["Binds"]]
        elif flag == "--env":
            env.append(value if "=" in value else f"{value}={os.environ[value]}")
        elif flag == "--entrypoint":
            about["Config"]["Entrypoint"] = [value]
        elif flag == "--workdir":
            about["Config"]["WorkingDir"] = value
    count = len(load("containers.json")) + int(time.time() * 1000)
    about.update(Id=f"{count:064x}", Image=IMAGE["Id"])
    about["Config"].update(Env=env, Cmd=words[1:], Image=words[0])
    about["State"] = {"Pid": 0, "Running": False, "Status": "created"}
    put(about)
    say(about["Id"])


def refuse_taken(name: str) -> None:
    freed = load("freed.json")
    if freed.get(name):
        save("freed.json", {name: freed[name] - 1})
        fail(f'Conflict. The container name "{name}" is already in use by container "0123".')


def logs(about: dict[str, Any]) -> None:
    path, seen = STATE / f"{about['Id']}.log", 0
    while True:
        text = path.read_bytes() if path.exists() else b""
        *lines, _ = text[seen:].split(b"\n")
        for line in lines:
            seen += len(line) + 1
            now = (
                f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}.{time.time_ns() % 10**9:09}Z "
            )
            sys.stdout.buffer.write(
                (now.encode() if "--timestamps" in WORDS else b"") + line + b"\n"
            )
        sys.stdout.flush()
        if "--follow" not in WORDS or not alive(about["State"]["Pid"]):
            return
        time.sleep(0.05)


# --- systemctl --------------------------------------------------------------------------------


def systemctl() -> None:
    words = [word for word in WORDS if not word.startswith("--no-")]
    verb = words[1]
    unit = load("unit.json")
    if "--property=UnitPath" in words:
        say(f"/run/systemd/transient {STATE / 'units'}")
        return
    if verb == "daemon-reload":
        unit["argv"] = dropped(unit["argv"])
        save("unit.json", unit)
        return
    if verb == "show":
        running = alive(unit.get("MainPID", 0))
        loaded = "loaded" if words[-1] == unit["Id"] else "not-found"
        ended = not running and unit.get("started") and not unit.get("stopped")
        # It dies after the first look at it, however slow that was.
        first = bool(unit.get("started")) and not unit.get("looked")
        if first and "UNIT_RESTARTS" in os.environ:
            unit["looked"] = True
            save("unit.json", unit)
            running, ended = True, False
        if ended and "UNIT_RESTARTS" in os.environ:
            again = subprocess.Popen(
                ["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            unit.update(MainPID=again.pid, started=time.monotonic_ns() // 1000)
            save("unit.json", unit)
            running, ended = True, False
        said = os.environ.get("UNIT_END", "exit-code 1") if ended else "success 0"
        result, status = said.split()
        state = "active" if running else "inactive" if result == "success" else "failed"
        about = {"Id": unit["Id"], "LoadState": loaded, "ActiveState": state, "Result": result,
                 "MainPID": unit["MainPID"] if running else 0, "Type": unit.get("Type", "simple"),
                 "Transient": "no", "FragmentPath": STATE / "llm.service", "ExecMainStatus": status,
                 "ExecMainStartTimestampMonotonic": unit.get("started", 0),
                 "ExecMainPID": unit["MainPID"],
                 "DropInPaths": " ".join(map(str, STATE.glob("units/*/*.conf"))),
                 "InvocationID": f"{unit.get('started', 0):032x}"}  # fmt: skip
        for name, value in about.items():
            say(f"{name}={value}")
    elif verb == "start" and not alive(unit.get("MainPID", 0)):
        env = {**os.environ, **unit["environment"], **env_file()}
        folder = str(STATE)
        log = STATE / ("journal" if unit.get("journal") else "unit.log")
        unit["MainPID"] = start(unit["argv"], log, folder, env)
        started = time.monotonic_ns() // 1000
        save("unit.json", {**unit, "started": started, "stopped": False, "looked": False})
    elif verb in ("stop", "kill"):
        save("unit.json", {**unit, "stopped": True})
        end(unit.get("MainPID", 0), signal.SIGTERM if verb == "stop" else signal.SIGKILL, 5.0)


def journalctl() -> None:
    """`--follow --output=export` of one unit since a moment; or what was said of one start."""
    if "--output=json" in WORDS:
        say(os.environ.get("UNIT_RESTARTS", ""))
        return
    [since] = [int(word[9:]) for word in WORDS if word.startswith("--since=@")]
    seen = 0
    while f"--unit={load('unit.json')['Id']}" in WORDS:
        *lines, _ = (STATE / "journal").read_bytes().decode()[seen:].split("\n")
        for line in lines:
            seen += len(line) + 1
            moment, _, message = line.partition(" ")
            if int(moment) >= since * 1_000_000:
                say(f"__REALTIME_TIMESTAMP={moment}\nMESSAGE={message}\n")
        sys.stdout.flush()
        time.sleep(0.05)


def dropped(argv: list[str]) -> list[str]:
    """What the drop-in says; a test with simple words needs no more of systemd's quoting."""
    unit = load("unit.json")
    path = STATE / "units" / f"{unit['Id']}.d" / "50-eagletui.conf"
    if not path.exists():
        return list(unit["own"])
    lines = [line for line in path.read_text().splitlines() if line.startswith("ExecStart=")]
    return shlex.split(lines[-1].partition("=")[2]) or argv


def env_file() -> dict[str, str]:
    unit = load("unit.json")
    path = STATE / "units" / f"{unit['Id']}.d" / "50-eagletui.env"
    lines = path.read_text().splitlines() if path.exists() else []
    return {n: shlex.split(v)[0] for n, _, v in (line.partition("=") for line in lines)}


def guarded_by_who_asks() -> bool:
    """Whether the guard is held by the very process that waits for this answer."""
    guard = Path(os.environ["EAGLETUI_LOCK"] + ".guard")
    rows = [row.split() for row in Path("/proc/locks").read_text().splitlines()]
    mine = [row[5].rpartition(":")[2] for row in rows if row[4] == str(os.getppid())]
    return guard.exists() and str(guard.stat().st_ino) in mine


def guarded() -> bool:
    """Whether somebody holds the lock's guard while this is told."""
    with Path(os.environ["EAGLETUI_LOCK"] + ".guard").open("a") as guard:
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


if __name__ == "__main__":
    changes = {"start", "kill", "rename", "update", "rm", "daemon-reload", "reset-failed"}
    if changes & set(WORDS) and not guarded():
        (STATE / "unguarded").write_text(json.dumps(WORDS))
    waits = "stop" in WORDS and "--system" in WORDS and "--no-block" not in WORDS
    if (waits or {"inspect", "logs"} & set(WORDS)) and guarded_by_who_asks():
        (STATE / "dawdled").write_text(json.dumps(WORDS))
    with (STATE / "calls").open("a") as calls:
        calls.write(json.dumps([Path(sys.argv[0]).name, *WORDS]) + "\n")
    {"docker": docker, "systemctl": systemctl, "journalctl": journalctl}[Path(sys.argv[0]).name]()
