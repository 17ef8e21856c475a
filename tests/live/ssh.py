"""Connections of the tests' sshd: what runs in them, and cutting them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.live.server import descendants
from tests.sshd import Sshd

ALIAS = "lab"
"""What this machine is called in the client's ssh configuration."""


def sessions(sshd: Sshd) -> list[int]:
    """Every process that serves a connection, and what runs in it."""
    return descendants(sshd.process.pid)


def drop(sshd: Sshd) -> list[int]:
    """Cut every connection without a word to the other side; returns what was cut."""
    cut = [pid for pid in sessions(sshd) if _serves(pid)]
    for pid in cut:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return cut


def _serves(pid: int) -> bool:
    # `sshd`, or `sshd-session` from OpenSSH 9.8 on; not the commands that it started.
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().startswith("sshd")
    return False
