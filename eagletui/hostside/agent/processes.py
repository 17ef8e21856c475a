"""Processes: who belongs to a server, and a signal to exactly one of them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from typing import NamedTuple

from eagletui.hostside.agent.base import MARK, Json, read


class Process(NamedTuple):
    """One line of the process table."""

    pid: int
    ppid: int
    pgid: int
    sid: int
    start: int
    uid: int
    dead: bool


def process(pid: int) -> Process | None:
    try:
        text = _beginning(f"/proc/{pid}/stat")
        status = _beginning(f"/proc/{pid}/status")
    except OSError:
        return None
    words = text[text.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        ppid=int(words[1]),
        pgid=int(words[2]),
        sid=int(words[3]),
        start=int(words[19]),
        uid=int(status[status.index(b"\nUid:") + 5 :].split(None, 1)[0]),
        dead=words[0] in (b"Z", b"X"),
    )


def _beginning(path: str) -> bytes:
    """What a file of /proc says first: a table of all is made of thousands of them."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def table() -> dict[int, Process]:
    """Every living process; who wants one asks `process` or `there`, which read one."""
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {row.pid: row for row in found if row is not None and not row.dead}


def there(server: Json) -> bool:
    """Whether a server's process lives, and is not another one under its id."""
    row = process(server["pid"])
    return row is not None and not row.dead and row.start == server["start"]


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


def is_protected(pid: int) -> bool:
    """Whether a process is this program, one that it descends from, or of its session."""
    with contextlib.suppress(OSError):
        if os.getsid(pid) == os.getsid(0):
            return True
    above: int = os.getpid()
    while above > 1:
        if above == pid:
            return True
        row = process(above)
        above = row.ppid if row is not None else 0
    return False


def same(server: Json, rows: dict[int, Process]) -> bool:
    row = rows.get(server["pid"])
    return row is not None and row.start == server["start"]


def members(server: Json, anybody: bool = False) -> list[Process]:
    """Every living process of a server: the main one, its descendants, its own group and session,
    children it was seen with, and whoever carries its mark. None of ours, none of the servers
    beside it, and, but for `anybody`, none of another user."""
    rows = table()
    leader = rows.get(server["pid"])
    reused = leader is not None and leader.start != server["start"]
    found = set() if reused or leader is None else descendants({server["pid"]}, rows)
    for row in rows.values():
        own_group = server.get("pgid") == server["pid"] == row.pgid and not reused
        own_session = server.get("sid") == server["pid"] == row.sid and not reused
        if own_group or own_session:
            found.add(row.pid)
    for pid, start in server.get("children", ()):
        if pid in rows and rows[pid].start == start:
            found.add(pid)
    if mark := own_mark(server):
        found |= {pid for pid in rows if marked(pid, mark)}
    ours, me = protected(rows), os.geteuid()
    left = sorted(found - ours - beside(server, rows))
    return [rows[pid] for pid in left if anybody or rows[pid].uid == me]


def descendants(found: set[int], rows: dict[int, Process]) -> set[int]:
    """These processes and all that came of them."""
    more = found
    while more:
        more = {row.pid for row in rows.values() if row.ppid in more} - found
        found = found | more
    return found


def above(pid: int, rows: dict[int, Process]) -> set[int]:
    """The process and all that it came of."""
    found: set[int] = set()
    while pid in rows and pid not in found:
        found.add(pid)
        pid = rows[pid].ppid
    return found


def beside(server: Json, rows: dict[int, Process]) -> set[int]:
    """The processes of the other servers that were seen, which it may have come to be among."""
    others = {pid for pid, start in server.get("beside", ()) if there({"pid": pid, "start": start})}
    return descendants(others - above(server["pid"], rows), rows)


def own_mark(server: Json) -> str:
    """The mark that its processes carry; "" where another server was started with the same one."""
    mark = str(server.get("mark") or "")
    others = (pid for pid, start in server.get("beside", ()) if there({"pid": pid, "start": start}))
    return "" if mark and any(marked(pid, mark) for pid in others) else mark


def starters(server: Json) -> list[Process]:
    """The processes above a server that were started with it alone, the first one first."""
    found: list[Process] = []
    row, mark = process(server["pid"]), own_mark(server)
    while row is not None and mark:
        row = process(row.ppid)
        if row is None or row.dead or row.uid != os.geteuid() or not marked(row.pid, mark):
            break
        found.insert(0, row)
    return found


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


def kill_own_group(server: Json) -> None:
    """At once and with whatever is being forked now, where the group is this server's alone."""
    if server.get("pgid") != server["pid"] or not there(server):
        return
    rows = table()
    group = {row.pid for row in rows.values() if row.pgid == server["pgid"]}
    if group & (protected(rows) | beside(server, rows)) or server["pgid"] == os.getpgid(0):
        return
    with contextlib.suppress(OSError):
        os.killpg(server["pgid"], signal.SIGKILL)


def found_by_mark(mark: str) -> Json | None:
    """A server that was started, but whose start nobody could write down."""
    if not mark:
        return None
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
