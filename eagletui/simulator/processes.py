"""Process titles, the death of children with their parent, and the lease every process lives on."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
LEASE = "lease"


def set_title(title: str) -> None:
    """Overwrite this process's command line, as setproctitle does (Linux only)."""
    if not sys.platform.startswith("linux"):
        return
    fields = Path("/proc/self/stat").read_bytes().rpartition(b") ")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if end > start > 0:
        text = title.encode()[: end - start - 1]
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
    _prctl(_PR_SET_NAME, title.encode()[:15])


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends (Linux only), also when it just did."""
    if sys.platform.startswith("linux"):
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _prctl(option: int, value: int | bytes) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def fork_worker(title: str) -> int:
    """Start a child that only is there, under this title; its pid.

    Call it before any thread is started. The child ends with its parent: by the kernel on Linux,
    elsewhere because its standard input ends.
    """
    parent = os.getpid()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reading)  # `writing` stays open for as long as this process lives
        return pid
    try:
        os.close(writing)
        os.dup2(reading, 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if not sys.platform.startswith("linux"):
            os.execv("/bin/cat", [title])
        die_with_parent(parent)
        set_title(title)
        while os.read(0, 1):
            pass
    finally:
        os._exit(0)


def hold_lease(folder: Path) -> int:
    """Take the lease of a simulated host: while the descriptor is open its processes live."""
    descriptor = os.open(folder / LEASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def live_on_lease(folder: Path) -> None:
    """Kill this process as soon as nobody holds the host's lease any more."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / LEASE, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True, name="lease").start()
