"""Ends what the tests started when the tests themselves are gone, however they ended.

A small process of its own waits at the end of a pipe that only the tests hold open. When it
closes, by `kill -9` as by a normal end, every process that carries the tests' mark in its
environment is killed, with its descendants and whoever else is in its session. Temporary folders
that have the mark in their name go too, with what is mounted in them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MARK = "EAGLETUI_TESTS"
"""In the environment of everything that is started; its value is one run's own."""
LIMIT = 20.0
"""Seconds for what was killed to go: a process in the kernel's hands takes its time."""
PAUSE = 0.05


class Seen(NamedTuple):
    """A process that is not a zombie."""

    parent: int
    session: int


@contextlib.contextmanager
def guarded() -> Iterator[str]:
    """While it lasts, what this process starts is marked, and ended with it; yields the mark."""
    before = os.environ.get(MARK)
    mark = f"{os.getpid()}-{time.time_ns()}"
    guardian = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, mark, str(os.getsid(0))],
        stdin=subprocess.PIPE,
        start_new_session=True,  # out of reach of what ends the tests
    )
    os.environ[MARK] = mark
    try:
        yield mark
    finally:
        if before is None:
            os.environ.pop(MARK)
        else:
            os.environ[MARK] = before
        assert guardian.stdin is not None
        guardian.stdin.close()
        guardian.wait()


def table() -> dict[int, Seen]:
    """Every living process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_bytes()
                state, parent, _, session = stat[stat.rindex(b")") + 2 :].split()[:4]
                if state not in (b"Z", b"X"):
                    found[int(entry.name)] = Seen(int(parent), int(session))
    return found


def marked(pid: int, mark: str) -> bool:
    """Whether a process carries the mark."""
    with contextlib.suppress(OSError):
        return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def left(mark: str, theirs: int) -> set[int]:
    """What is left of the tests.

    Args:
        theirs: the tests' own session, in which there are others.
    """
    rows = table()
    rows.pop(os.getpid(), None)
    found = {pid for pid in rows if marked(pid, mark)}
    while True:
        # A title that is written over the environment hides the mark, not the family.
        sessions = {rows[pid].session for pid in found} - {theirs}
        more = {
            pid
            for pid, row in rows.items()
            if pid not in found and (row.parent in found or row.session in sessions)
        }
        if not more:
            return found
        found |= more


def end(mark: str, theirs: int) -> None:
    """Kill what is left until nothing is."""
    limit = time.monotonic() + LIMIT
    while (pids := left(mark, theirs)) and time.monotonic() < limit:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


def tidy(mark: str) -> None:
    """Remove the folders of a daemon that could not do it itself."""
    for folder in Path(tempfile.gettempdir()).glob(f"*{mark}*"):
        for mount in sorted(mounts(folder), reverse=True):
            subprocess.run(["umount", "--lazy", mount], capture_output=True)
        if not mounts(folder):  # what is mounted there is not ours to remove
            shutil.rmtree(folder, ignore_errors=True)


def mounts(folder: Path) -> list[str]:
    """What is mounted in a folder."""
    rows = Path("/proc/self/mountinfo").read_text().splitlines()
    places = (row.split()[4] for row in rows)
    return [place for place in places if Path(place).is_relative_to(folder)]


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end(sys.argv[1], int(sys.argv[2]))
    tidy(sys.argv[1])
