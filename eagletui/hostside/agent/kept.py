"""What is written down on the host, readable by its owner alone."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import Any

from eagletui.hostside.agent.base import Json, Refused, read, record


def state_folder() -> str:
    given = os.environ.get("EAGLETUI_STATE", "")
    return given or os.path.join(os.path.expanduser("~"), ".local", "state", "eagletui")


def launch_folder(launch: str) -> str:
    if not launch or not all(letter.isalnum() or letter in "-_" for letter in launch):
        raise Refused("bad-request", detail="no launch id")
    return os.path.join(state_folder(), "launches", launch)


def write(path: str, value: Any) -> None:
    """Whole or not at all, and readable by nobody else."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        code = "disk-full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "no-folder"
        raise Refused(code, path=path, detail=error.strerror) from error


def boot() -> str:
    try:
        return read("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        return ""


def launch_state(launch: str) -> Json:
    return record(os.path.join(launch_folder(launch), "state.json"))


def update(launch: str, **values: Any) -> Json:
    state = {**launch_state(launch), **values, "id": launch}
    write(os.path.join(launch_folder(launch), "state.json"), state)
    return state
