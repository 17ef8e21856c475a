"""Servers that a script of the person's own starts: like a process, but it may become another."""

from __future__ import annotations

import contextlib
import os
import re

from eagletui.hostside.agent.base import Json
from eagletui.hostside.agent.machine import port_holder
from eagletui.hostside.agent.process_runner import ProcessRunner, folder_of
from eagletui.hostside.agent.processes import (
    Process,
    marked,
    protected,
    table,
    there,
)
from eagletui.hostside.agent.runner import note

SCRIPT_LIMIT = 1 << 18
PASSES_ON = re.compile(rb"\$(?:[@*1-9#]|\{[@*1-9#])|\bshift\b|\bgetopts?\b|\bargv\b|\bargparse\b")
"""A script that has none of these never looks at its arguments."""


class CommandRunner(ProcessRunner):
    """Starts the person's script; what that starts is the server."""

    name = "command"

    def examine(self, plan: Json, target: Json | None) -> list[Json]:
        """Whether the script looks at the flags it is given."""
        notes = super().examine(plan, target)
        flags = [word for word in plan["argv"][1:] if word.startswith("-")]
        if not flags:
            return notes
        path = os.path.join(folder_of(plan), str(plan["argv"][0]))
        text = text_of(path)
        if text.startswith(b"#!") and not PASSES_ON.search(text):
            return [*notes, note("script-ignores-flags", path=path, flags=" ".join(flags[:6]))]
        return [*notes, note("command-flags", "info", path=path)]

    def followed(self, server: Json) -> Json | None:
        """The script, or what it left behind: by the mark, the log it writes, or the port."""
        if there(server):
            return server
        row = left_behind(server)
        if row is None:
            return None
        return {**server, "pid": row.pid, "start": row.start, "pgid": row.pgid, "sid": row.sid}


RUNNER = CommandRunner()


def left_behind(server: Json) -> Process | None:
    """The first of the processes that a script started and that outlive it."""
    everybody, me = table(), os.geteuid()
    mine = protected(everybody)
    rows = [
        row
        for row in everybody.values()
        if row.uid == me and row.start >= server["start"] and row.pid not in mine
    ]
    holder = (port_holder(server["port"]) or {}) if server.get("port") else {}
    for belongs in (
        lambda pid: marked(pid, server["mark"]),
        lambda pid: server.get("log") in ends(pid),
        lambda pid: pid == holder.get("pid"),
    ):
        found = [row for row in rows if belongs(row.pid)]
        if found:
            return min(found, key=lambda row: (row.start, row.pid))
    return None


def ends(pid: int) -> list[str]:
    """What a process's output and errors go to."""
    links = []
    for number in (1, 2):
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return links


def text_of(path: str) -> bytes:
    """The beginning of a script; b"" where it may not be read."""
    try:
        with open(path, "rb") as file:
            return file.read(SCRIPT_LIMIT)
    except OSError:
        return b""
