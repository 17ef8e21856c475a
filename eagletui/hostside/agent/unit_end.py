"""How a unit's main process ended: by systemd's word of that very start.

A unit with a restart policy is started again a moment later, and what `systemctl show` tells then
is about another process. The journal still has what became of the one before, under the id of its
start.
"""

from __future__ import annotations

import time

from eagletui.hostside.agent.base import Json, Refused, table_of
from eagletui.hostside.agent.tools import run
from eagletui.hostside.agent.units import Unit

STARTED = "ExecMainStartTimestampMonotonic"
HEARD = 2.0
"""Seconds for systemd to hear that a process has ended."""
EXITED = "98e322203f7a4ed290d09fe03c09fe15"
FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
SUCCEEDED = "7ad2d189f7e94e70a38c781354912448"
"""The journal's ids of "Main process exited", "Failed with result" and "Deactivated successfully"
(systemd's sd-messages.h; seen of 252)."""


def start_of(about: dict[str, str]) -> Json:
    """What tells one start of a unit from another."""
    return {"began": about.get(STARTED, ""), "invocation": about.get("InvocationID", "")}


def ended(unit: Unit, server: Json) -> Json:
    """How the main process of a server's record ended; {} where nobody knows."""
    end = time.monotonic() + HEARD
    while True:
        about = unit.show()
        if int(about.get("MainPID") or 0) != server["pid"]:
            break
        if time.monotonic() > end:
            return {}
        time.sleep(0.05)
    if is_of(about, server):
        return end_of(about)
    return journal_end(unit, server.get("invocation", ""))


def is_of(about: dict[str, str], server: Json) -> bool:
    """Whether the unit's properties tell of the end of this start."""
    same_pid = about.get("ExecMainPID", "") in ("", str(server["pid"]))
    same_start = server.get("began", "") in ("", about.get(STARTED, ""))
    return not int(about.get("MainPID") or 0) and same_pid and same_start


def end_of(about: dict[str, str]) -> Json:
    """How a unit's last main process ended, of a unit that has none."""
    return _end(about.get("Result", ""), about.get("ExecMainStatus", ""))


def journal_end(unit: Unit, invocation: str) -> Json:
    """The same of an earlier start; {} where the journal has nothing, or may not be read."""
    if not invocation:
        return {}
    field = "USER_INVOCATION_ID" if unit.user else "INVOCATION_ID"
    ids = [f"MESSAGE_ID={number}" for number in (EXITED, FAILED, SUCCEEDED)]
    words = ["journalctl", "--no-pager", "--quiet", "--output=json"]
    try:
        said = run([*words, f"{field}={invocation}", *ids], limit=10.0).out
    except Refused:
        return {}
    return told(said)


def told(said: str) -> Json:
    """What the journal's entries of one start, a JSON document a line, say of its end."""
    result = status = ""
    for line in said.splitlines():
        entry = table_of(line.encode())
        number = entry.get("MESSAGE_ID")
        if number == EXITED and ": Main process exited, " in str(entry.get("MESSAGE")):
            status = str(entry.get("EXIT_STATUS", ""))
        elif number == FAILED:
            result = str(entry.get("UNIT_RESULT", ""))
        elif number == SUCCEEDED:
            result, status = "success", "0"
    return _end(result, status) if result else {}


def _end(result: str, status: str) -> Json:
    return {
        "by": "systemd",
        "result": result,
        "status": int(status) if status.isdigit() else None,
    }
