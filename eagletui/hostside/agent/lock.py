"""One restart at a time on this host, whoever asks.

Who holds the lock is written in it. It is taken, given back and broken only by whoever holds the
guard, an empty file beside it, for that moment: so no two can find it free, or break it, at once.
Who has the lock starts and ends servers under the guard too, so that nobody breaks it between the
look at it and the signal. Only what changes something is done under it; to look, to wait and to
keep a log is not.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator

from eagletui.hostside.agent.base import Json, Refused, table_of
from eagletui.hostside.agent.kept import boot

LOCK = "/tmp/eagletui-restart.lock"
LONGEST = 1 << 16
"""Bytes of a lock; it takes a few hundred."""
GUARDED = 10.0
"""Seconds to wait for the guard. Mostly it is held for milliseconds. Under it docker and systemd
are told what to do, in three commands at the most, and a busy one may take longer than this over
a start, a removal or a reload: then who wants the lock is told that somebody is at it."""
GIVEN_BACK = 100.0
"""Seconds to wait for it to give the lock back: longer than any command of docker (60 s) or systemd
(90 s) is let run."""


def lock_path() -> str:
    return os.environ.get("EAGLETUI_LOCK") or LOCK


def read_lock() -> Json | None:
    """Who holds it; None for nobody.

    `key` is this very lock's, whoever takes it afterwards; `still` is too, until its owner gives
    another sign of life.
    """
    found = seen(lock_path())
    if found is None:
        return None
    about, text = found
    held = table_of(text)
    held["damaged"] = not held
    held["quiet"] = max(0.0, time.time() - about.st_mtime)
    taken = held.get("time")
    held["age"] = max(0.0, time.time() - taken) if isinstance(taken, (int, float)) else None
    held["rebooted"] = bool(held.get("boot")) and held["boot"] != boot()
    held["key"] = f"{about.st_ino}:{held.get('launch')}:{held.get('session')}:{taken}"
    held["still"] = f"{held['key']}:{about.st_mtime_ns}"
    return held


def seen(path: str) -> tuple[os.stat_result, bytes] | None:
    """What lies there, and what is in it; None for nothing.

    The folder is everybody's: a link is not followed, and nothing is waited for.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        try:
            return os.lstat(path), b""
        except OSError:
            return None
    try:
        about = os.fstat(fd)
        return about, os.read(fd, LONGEST) if stat.S_ISREG(about.st_mode) else b""
    except OSError:
        return about, b""
    finally:
        os.close(fd)


def take_lock(launch: str, owner: Json, breaks: str) -> None:
    """Take it, where it is free, this owner's already, or of before a reboot.

    Args:
        breaks: the `key` of a lock that is taken away, or its `still`, where that is done because
            its owner seems to be gone; whoever took it since, or lives after all, keeps theirs.
    """
    path = lock_path()
    mine = {**owner, "launch": launch, "boot": boot(), "time": time.time(), "uid": os.geteuid()}
    with guarded(path):
        held = read_lock()
        if held is not None:
            if not (is_of(held, launch, owner) or held["rebooted"] or is_meant(held, breaks)):
                raise Refused("locked", path=path, held=held)
            try:
                os.unlink(path)
            except OSError as error:
                raise Refused("lock-stuck", path=path, detail=error.strerror) from error
        if not linked(path, mine):
            raise Refused("locked", path=path, held=read_lock() or {})


def give_back(launch: str, owner: Json) -> str:
    """Let the next one have it, where it is this owner's.

    Returns:
        Why it cannot be, and goes stale; "" where it is done.
    """
    path = lock_path()
    try:
        if own_lock(launch, owner):
            with guarded(path, GIVEN_BACK):
                if own_lock(launch, owner):
                    os.unlink(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    except Refused as refused:
        return f"{path}.guard: {refused.about.get('detail') or 'another program holds it'}"
    return ""


def own_lock(launch: str, owner: Json) -> bool:
    """Whether it is this owner's; somebody else may have gone on with the same launch."""
    held = read_lock()
    return held is not None and is_of(held, launch, owner)


def refuse_lost(launch: str, owner: Json) -> None:
    """Who broke the lock may be at the same server by now: who had it does nothing more."""
    held = read_lock()
    if held is None or not is_of(held, launch, owner):
        raise Refused("lock-lost", launch=launch, path=lock_path(), held=held)


def renew(launch: str, owner: Json) -> None:
    """Show that it is in use, where it is this owner's."""
    with contextlib.suppress(OSError):
        if own_lock(launch, owner):
            os.utime(lock_path(), follow_symlinks=False)


@contextlib.contextmanager
def sure(launch: str, owner: Json) -> Iterator[None]:
    """With the lock, which nobody can break before this is over: for what is quickly done."""
    with guarded(lock_path()):
        refuse_lost(launch, owner)
        yield


def is_of(held: Json, launch: str, owner: Json) -> bool:
    return held.get("launch") == launch and held.get("session") == owner.get("session")


def is_meant(held: Json, breaks: str) -> bool:
    """Whether it is the lock that was seen, in the state that was seen."""
    return breaks in (held["key"], held["still"])


@contextlib.contextmanager
def guarded(path: str, seconds: float | None = None) -> Iterator[None]:
    """Alone with the lock.

    Args:
        seconds: to wait for that; `GUARDED` where nothing is said.
    """
    end = time.monotonic() + (GUARDED if seconds is None else seconds)
    while True:
        try:
            fd = opened(f"{path}.guard")
        except OSError as error:
            raise stuck(path, error) from error
        try:
            if alone(fd, f"{path}.guard"):
                yield
                return
        finally:
            os.close(fd)
        if time.monotonic() > end:
            raise Refused("lock-busy", path=path)
        time.sleep(0.01)


def opened(guard: str) -> int:
    """The guard, made where there is none; another user's may be read alone."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(guard, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    return os.open(guard, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def alone(fd: int, guard: str) -> bool:
    """Whether the guard is ours now, and still is the file under that name."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(fd), os.lstat(guard))
    except OSError:
        return False


def linked(path: str, text: Json) -> bool:
    """Make a whole file under a name that must be free.

    Its folder is everybody's: nobody can have put anything under the draft's name before, and
    until it is whole nobody else can open it.
    """
    try:
        fd, draft = drafted(path)
    except OSError as error:
        raise stuck(path, error) from error
    try:
        with os.fdopen(fd, "w", encoding="ascii") as file:
            json.dump(text, file)
            file.flush()
            os.fchmod(file.fileno(), 0o644)  # others are told who has it
        os.link(draft, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        raise stuck(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)
    return True


def drafted(path: str) -> tuple[int, str]:
    """A new file of our own beside that one, open to be written, and its name."""
    while True:
        draft = f"{path}.{os.urandom(8).hex()}"
        with contextlib.suppress(FileExistsError):
            return os.open(
                draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600
            ), draft


def stuck(path: str, error: OSError) -> Refused:
    """Why it cannot be taken."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Refused("disk-full" if full else "lock-stuck", path=path, detail=error.strerror)
