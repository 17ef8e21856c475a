"""One restart at a time on this host, whoever asks."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time

from eagletui.hostside.agent.base import Json, Refused, record
from eagletui.hostside.agent.kept import boot

LOCK = "/tmp/eagletui-restart.lock"


def lock_path() -> str:
    return os.environ.get("EAGLETUI_LOCK") or LOCK


def read_lock() -> Json | None:
    path = lock_path()
    try:
        about = os.lstat(path)
    except OSError:
        return None
    held = record(path) if stat.S_ISREG(about.st_mode) else {}
    held["damaged"] = not held
    held["quiet"] = max(0.0, time.time() - about.st_mtime)
    taken = held.get("time")
    held["age"] = max(0.0, time.time() - taken) if isinstance(taken, (int, float)) else None
    held["rebooted"] = bool(held.get("boot")) and held["boot"] != boot()
    return held


def take_lock(launch: str, owner: Json, break_it: bool) -> None:
    """One restart at a time on this host, whoever asks: made in one step, with its whole text."""
    path = lock_path()
    mine = {**owner, "launch": launch, "boot": boot(), "time": time.time(), "uid": os.geteuid()}
    draft = f"{path}.{os.getpid()}"
    for _ in range(3):
        if linked(draft, path, mine):
            return
        held = read_lock()
        if held is None:
            continue
        if not (held.get("launch") == launch or held["rebooted"] or break_it):
            raise Refused("locked", path=path, held=held)
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Refused("lock-stuck", path=path, detail=error.strerror) from error
    raise Refused("locked", path=path, held=read_lock() or {})


def linked(draft: str, path: str, text: Json) -> bool:
    """Make a whole file under a name that must be free."""
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            json.dump(text, file)
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        code = "disk-full" if full else "lock-stuck"
        raise Refused(code, path=path, detail=error.strerror) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)
    return True


def own_lock(launch: str) -> bool:
    held = read_lock()
    return held is not None and held.get("launch") == launch
