"""Ends what a simulated host started, however the host itself ended. Runs as a script of its own.

Standard input brings `+GROUP` and `-GROUP` lines: process groups that came and went. When it ends
(closed, or its writer was killed) every remaining group and every process that carries the host's
folder in its environment is killed, and the folder is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_ROUNDS = 40


def _carriers(mark: bytes) -> Iterator[int]:
    """Processes with this entry in their environment (Linux)."""
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in entry.read_bytes().split(b"\0"):
                yield int(entry.parent.name)


def _kill(pid: int, *, group: bool = False) -> None:
    with contextlib.suppress(OSError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)


def main(folder: str, variable: str) -> None:
    """Keep until standard input ends, then clear away."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        change, group = line[:1], int(line[1:])
        (groups.add if change == "+" else groups.discard)(group)
    for group in groups:
        _kill(group, group=True)
    mark = f"{variable}={folder}".encode()
    for _ in range(_ROUNDS):
        left = [pid for pid in _carriers(mark) if pid != os.getpid()]
        if not left:
            break
        for pid in left:
            _kill(pid)
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
