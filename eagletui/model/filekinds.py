"""What lies under a name where an ordinary file is wanted."""

from __future__ import annotations

import stat

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def other_kind(mode: int) -> str:
    """`a folder`, `a pipe`, …; "" for an ordinary file.

    Args:
        mode: as `stat` tells it.
    """
    if stat.S_ISREG(mode):
        return ""
    return next((words for is_one, words in _KINDS if is_one(mode)), "no file")
