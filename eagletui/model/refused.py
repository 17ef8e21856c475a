"""A file that the system refuses: what is said of it, and one row an error for what to do."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import NamedTuple

from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.text import visible


class _Advice(NamedTuple):
    """For whoever names a file that is to be written, and one that is to be read."""

    write: str
    read: str = "Check its path."


_GONE = "The server of that disk has lost it: mount it again."
_NO_RIGHT = _Advice("Name a file in a folder that you may write to.", "Make it readable for you.")

ADVICE: Mapping[int, _Advice] = {
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EROFS: _Advice("That disk is mounted read-only: name a file on another one."),
    errno.ENOENT: _Advice("Make its folder first, or name a file in one that is there."),
    errno.ENOTDIR: _Advice("A part of the path is a file: name a folder in its place."),
    errno.EISDIR: _Advice("That is a folder: name a file in it.", "Name a file in it."),
    errno.EEXIST: _Advice("Name another file."),
    errno.ENOSPC: _Advice("Make room, or name a file on another disk."),
    errno.EDQUOT: _Advice("Your share of that disk is used up: make room."),
    errno.EFBIG: _Advice("No file may become that large there: name one on another disk."),
    errno.ENAMETOOLONG: _Advice("Give it a shorter name."),
    errno.EINVAL: _Advice("Give it a name that its disk takes."),
    errno.ELOOP: _Advice("Links in that path lead in a circle: name the file itself."),
    errno.EIO: _Advice("That disk fails: name a file on another one.", "That disk fails."),
    errno.ESTALE: _Advice(_GONE, _GONE),
}
_ELSE = _Advice("Look at that disk, or name a file on another one.")


def reason(error: OSError) -> str:
    """What the system says: `No space left on device`."""
    return error.strerror or str(error)


def to_write(error: OSError) -> str:
    """What helps who wants to write."""
    return ADVICE.get(error.errno or 0, _ELSE).write


def to_read(error: OSError) -> str:
    """What helps who wants to read."""
    return ADVICE.get(error.errno or 0, _ELSE).read


def unwritable(path: object, error: OSError) -> UsageError:
    """That a file can't be written, before there is anything to write."""
    return UsageError(
        f"{visible(str(path))} cannot be written: {reason(error)}.", advice=to_write(error)
    )


def unwritten(path: object, error: OSError, *, meaning: str = "") -> EagletuiError:
    """That what there was to write is not in its file."""
    return EagletuiError(
        f"{visible(str(path))} could not be written: {reason(error)}.",
        meaning=meaning,
        advice=to_write(error),
    )


def unreadable(path: object, error: OSError) -> UsageError:
    """That a file can't be read."""
    return UsageError(
        f"{visible(str(path))} cannot be read: {reason(error)}.", advice=to_read(error)
    )
