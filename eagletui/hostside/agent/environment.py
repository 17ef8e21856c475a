"""The environment a new server gets: what its predecessor had, or a clean login's."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping

from eagletui.hostside.agent.base import OURS, read
from eagletui.hostside.agent.processes import variables

TUNING = re.compile(r"(?a)(?:NCCL|SGLANG|SGL|CUDA)_\w+")
"""What a profile decides alone: a predecessor's is not handed on."""
PLACES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_VERSION", "NCCL_VERSION")
"""What looks like tuning and says where something is."""
PASSING = re.compile(
    r"(?a)SSH_\w+|TMUX|TMUX_PANE|STY|SHLVL|_|OLDPWD"
    r"|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|MAINPID|MANAGERPID|SYSTEMD_EXEC_PID|SYSTEMD_NSS\w*"
    r"|WATCHDOG_\w+|LISTEN_\w+|MEMORY_PRESSURE_\w+|FDSTORE|REMOTE_ADDR|REMOTE_PORT"
)
"""What belongs to one session or one start of a unit."""
LOGIN_LIMIT = 5.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def lasting(environment: Mapping[str, str]) -> dict[str, str]:
    """The same without what belongs to a session, a terminal, a start, or to us."""
    return {
        name: value
        for name, value in environment.items()
        if name not in OURS and not PASSING.fullmatch(name)
    }


def handed_on(before: Mapping[str, str]) -> dict[str, str]:
    """What a server's successor takes over."""
    return {name: value for name, value in lasting(before).items() if not tuning(name)}


def tuning(name: str) -> bool:
    """Whether a profile alone decides this variable."""
    return name not in PLACES and TUNING.fullmatch(name) is not None


def login() -> dict[str, str]:
    """What this user's login shell sets, whatever this session has; the session's if it fails."""
    import subprocess  # most requests start nothing

    account = pwd.getpwuid(os.geteuid())
    shell = account.pw_shell or "/bin/sh"
    clean = {
        "HOME": os.path.expanduser("~"),
        "USER": account.pw_name,
        "LOGNAME": account.pw_name,
        "SHELL": shell,
        "PATH": PATH,
    }
    mark = f"EAGLETUI{os.getpid()}"
    try:
        # What a profile prints before the mark is no variable.
        said = subprocess.run(
            [shell, "-l", "-c", f"printf '\\0%s\\0' {mark}; exec env -0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=clean,
            timeout=LOGIN_LIMIT,
            start_new_session=True,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = b""
    _, found, told = said.partition(f"\0{mark}\0".encode())
    if not found or b"=" not in told:
        return lasting(variables("/proc/self/environ"))
    pairs = (word.partition(b"=") for word in told.split(b"\0") if b"=" in word)
    return lasting({os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name})


def environment_of(pid: int) -> dict[str, str] | None:
    """A process's whole environment; None where it may not be read."""
    try:
        read(f"/proc/{pid}/environ")
    except OSError:
        return None
    return variables(f"/proc/{pid}/environ")
