"""Who restarts something, for others to read in the host's lock."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Mapping
from typing import Any

from eagletui.model.base import Data


class Owner(Data, frozen=True):
    """One eagletui, as it stands in the lock.

    Attributes:
        host: the machine that eagletui runs on, which is seldom the one that has the lock.
        start: when its process began, in ticks since that machine's boot; 0 is not known.
    """

    user: str
    host: str
    pid: int
    session: str
    what: str = ""
    start: int = 0

    @classmethod
    def here(cls, what: str) -> Owner:
        """This person at this machine."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = str(os.getuid())
        return cls(
            user=user,
            host=socket.gethostname(),
            pid=os.getpid(),
            session=secrets.token_hex(6),
            what=what,
            start=began(os.getpid()),
        )


def is_gone(held: Mapping[str, Any], host: str) -> bool:
    """Whether a lock's eagletui ran on this machine and has ended: no need to wait for that.

    Args:
        host: this machine, as `Owner.host` has it.
    """
    pid, start = held.get("pid"), held.get("start")
    if held.get("host") != host or not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    # Its id may be another's by now.
    now = began(pid)
    return bool(start) and bool(now) and now != start


def began(pid: int) -> int:
    """When a process of this machine began, in ticks since the boot; 0 where that is not said."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
