"""The start of a unit, its record, and where its log is: a file that it writes, or the journal."""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import NamedTuple

from eagletui.hostside.agent.base import Json, Refused, read
from eagletui.hostside.agent.process_runner import file_place
from eagletui.hostside.agent.processes import Process, process
from eagletui.hostside.agent.unit_end import STARTED, end_of, start_of
from eagletui.hostside.agent.units import Unit

UP = 60.0
"""Seconds for a unit that was started to have a main process."""
STOPPED = 90.0
"""Seconds for a unit to stop: what systemd itself gives one that says nothing of it."""
SETTING = re.compile(r"^[ \t]*Standard(Output|Error)[ \t]*=[ \t]*(.*?)[ \t]*$", re.M)
FILE = re.compile(r"(?:append|file|truncate):(/.*)")


def sizes_of(unit: Unit, output: str, state: Json) -> dict[str, int]:
    """The files that a unit is going to write, and what stands there now, its predecessor's.

    Args:
        output: one of them, where its settings name none.
        state: of the launch: what its servers wrote to so far may be written to again.
    """
    servers = [state.get(which) or {} for which in ("old", "new", "back")]
    logs = [str(server.get("log") or "") for server in servers]
    return {path: size_of(path) for path in (*outputs(unit), output, *logs)}


class Begin(NamedTuple):
    """When a unit was started: from when on the journal is read, microseconds since the epoch; and
    when, by systemd, its process of before was."""

    since: int
    before: str


def begun(unit: Unit, before: str) -> Begin:
    """Start a unit.

    Args:
        before: its `STARTED` until then.
    """
    unit.told("reset-failed")  # many starts in a short time are meant
    begin = Begin(int(time.time() * 1_000_000), before)
    unit.do("start", "--no-block")
    return begin


def rested(unit: Unit) -> None:
    """Wait until a unit that was told to stop has.

    Raises:
        Refused: it takes too long.
    """
    end = time.monotonic() + STOPPED
    while unit.show().get("ActiveState") not in ("inactive", "failed"):
        if time.monotonic() > end:
            said = f"it has not stopped within {STOPPED:g} s"
            raise Refused("unit-failed", unit=unit.name, what="stop", detail=said)
        time.sleep(0.05)


def up(unit: Unit, port: int, begin: Begin, sizes: dict[str, int]) -> Json:
    """Wait until a unit that was started has, or had, a main process."""
    end = time.monotonic() + UP
    while True:
        about = unit.show()
        main = int(about.get("MainPID") or 0)
        row = process(main) if main else None
        if row is not None and about.get("ActiveState") in ("active", "activating", "reloading"):
            told = output_of(row.pid)
            at = {"inode": begin.since, "offset": 0} if not told else place_in(told, sizes)
            return {**found(unit, row, port, ""), **start_of(about), **at}
        if has_ended(about, begin):
            return over(unit, about, port, begin, sizes)  # its log says why
        if time.monotonic() > end:
            said = f"{about.get('ActiveState')}, {about.get('Result')}"
            raise Refused("unit-not-started", unit=unit.name, detail=said)
        time.sleep(0.05)


def has_ended(about: dict[str, str], begin: Begin) -> bool:
    """Whether a unit was over before anybody saw it run."""
    if about.get("ActiveState") == "failed" or about.get("Result", "success") not in (
        "success",
        "",
    ):
        return True
    ran = about.get(STARTED, "") not in ("", "0", begin.before)
    return ran and about.get("ActiveState") == "inactive"


def over(unit: Unit, about: dict[str, str], port: int, begin: Begin, sizes: dict[str, int]) -> Json:
    """The record of one that was: without a process, but with its log and its end."""
    spoke = [path for path in sizes if path and size_of(path) not in (0, sizes[path])]
    log = journal_of(unit, os.geteuid()) if not spoke else file_log(spoke[0])
    at = {"inode": begin.since, "offset": 0} if not spoke else place_in(spoke[0], sizes)
    return {
        "runner": "systemd",
        "unit": unit.name,
        "user_unit": unit.user,
        "pid": 0,
        "start": 0,
        "port": port,
        **log,
        **at,
        "ended": end_of(about),
    }


def record(unit: Unit, row: Process, port: int, mark: str) -> Json:
    """A unit that runs as the launch remembers it."""
    return {
        "runner": "systemd",
        "unit": unit.name,
        "user_unit": unit.user,
        "pid": row.pid,
        "start": row.start,
        "uid": row.uid,
        "pgid": row.pgid,
        "sid": row.sid,
        "port": port,
        "mark": mark,
    }


def found(unit: Unit, row: Process, port: int, mark: str) -> Json:
    """The same with the place of its log."""
    return {**record(unit, row, port, mark), **log_of(unit, row)}


def log_of(unit: Unit, row: Process) -> Json:
    """Its log: the file that it writes, or the journal."""
    path = output_of(row.pid)
    return file_log(path) if path else journal_of(unit, row.uid)


def file_log(path: str) -> Json:
    """A log that is a file."""
    return {"log": path, "place": file_place(path)}


def journal_of(unit: Unit, uid: int) -> Json:
    """A log that is the journal.

    Args:
        uid: whose manager has the unit, where it is a user's.
    """
    place = {"kind": "journal", "target": unit.name, "user_unit": unit.user}
    if unit.user:
        place["uid"] = uid
    return {"log": f"journalctl {'--user ' if unit.user else ''}-u {unit.name}", "place": place}


def output_of(pid: int) -> str:
    """The file that a process's errors go to; "" for the journal."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"/proc/{pid}/fd/2")
        if path.startswith("/") and not path.startswith("/dev/"):
            return path
    return ""


def outputs(unit: Unit) -> list[str]:
    """The files that a unit's own settings send its output to, that of its errors first.

    SGLang logs to its errors: where those go to the journal, a file of the rest is not its log.
    systemctl shows no more of `append:/a` than `append` (seen of 252).
    """
    about, texts = unit.show(), []
    for path in [about.get("FragmentPath", ""), *about.get("DropInPaths", "").split()]:
        with contextlib.suppress(OSError):
            texts.append(os.fsdecode(read(path)))
    return outputs_of(texts)


def outputs_of(texts: list[str]) -> list[str]:
    """The same of a unit's file and its drop-ins: the last word counts, an empty one is none."""
    said = {"Output": "", "Error": ""}
    for text in texts:
        said.update(SETTING.findall(text))
    errors = said["Error"] or "inherit"
    if errors == "inherit":
        errors = said["Output"]
    found = [FILE.fullmatch(way) for way in (errors, said["Output"])]
    return [way[1] for way in found if way is not None] if found[0] is not None else []


def size_of(path: str) -> int:
    """What stands in a file already."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def place_in(path: str, sizes: dict[str, int]) -> Json:
    """From where a file is read, none of its predecessor's lines with it."""
    try:
        about = os.stat(path)
    except OSError:
        return {"inode": None, "offset": 0}
    size = sizes.get(path, about.st_size)
    return {"inode": about.st_ino, "offset": size if size <= about.st_size else 0}
