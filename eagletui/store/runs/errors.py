"""What can be wrong with the database of runs, and what SQLite's words for it mean."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from eagletui.model.errors import EagletuiError, UsageError


class RunsError(EagletuiError):
    """The database of runs can't be used for what was asked."""


class RunsNewer(RunsError):
    """It was written by a newer eagletui."""


class RunsDamaged(RunsError):
    """Its content is not what was written, or it is another program's."""


class RunsReadOnly(RunsError):
    """It can be read at most."""


class RunsDiskFull(RunsError):
    """There is no room to write."""


class RunsBusy(RunsError):
    """Another program has been writing for too long."""


class RunsUnwritable(RunsError):
    """Reading or writing failed for another reason of the disk's."""


class RunExists(RunsError):
    """This run is kept already."""


class RunNotFound(UsageError):
    """No run, or more than one, is called so."""


_KEPT = "What was kept before is still there."

# A part of SQLite's message → the error, what it means, what to do. The first that fits is taken.
_WORDS: tuple[tuple[str, type[RunsError], str, str], ...] = (
    (
        "full",
        RunsDiskFull,
        f"The disk is full. {_KEPT}",
        "Make room, or let EAGLETUI_DATA name a folder on another disk.",
    ),
    (
        "locked",
        RunsBusy,
        f"Another eagletui is writing to it. {_KEPT}",
        "Try again; if it stays so, look for a program that hangs with the file open.",
    ),
    (
        "malformed",
        RunsDamaged,
        "It is damaged. It was not changed.",
        "Keep a copy, and save what can be read with `sqlite3 FILE .recover`. Move the file away "
        "to begin a new one.",
    ),
    (
        "not a database",
        RunsDamaged,
        "It is no SQLite database, or a damaged one. It was not changed.",
        "Move it away to begin a new one, or let EAGLETUI_DATA name another folder.",
    ),
    (
        "readonly",
        RunsReadOnly,
        f"It can only be read. {_KEPT}",
        "Make file and folder writable, or let EAGLETUI_DATA name a folder that is.",
    ),
    (
        "unable to open",
        RunsReadOnly,
        "It can be neither opened nor made.",
        "Make file and folder readable and writable, or let EAGLETUI_DATA name a folder that is.",
    ),
    (
        "",
        RunsUnwritable,
        f"SQLite said: {{message}}. {_KEPT}",
        "Look at the disk (`df`, `dmesg`), or let EAGLETUI_DATA name a folder on another one.",
    ),
)


def spoken(error: sqlite3.Error | OSError, path: Path, doing: str) -> RunsError:
    """SQLite's or the system's error in words.

    Args:
        doing: what was tried: "kept", "read", "opened".
    """
    message = str(error)
    if isinstance(error, OSError):
        message = "database or disk is full" if error.errno == errno.ENOSPC else "unable to open"
    for part, kind, meaning, advice in _WORDS:
        if part in message:
            return kind(
                f"The runs in {path} could not be {doing}.",
                meaning=meaning.format(message=message),
                advice=advice.replace("FILE", str(path)),
            )
    raise AssertionError("the last row fits everything")
