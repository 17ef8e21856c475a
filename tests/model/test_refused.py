"""What is advised against an error of the disk follows from that error."""

from __future__ import annotations

import errno
import os

import pytest

from eagletui.model.refused import ADVICE, reason, to_read, to_write


@pytest.mark.parametrize("number", sorted(ADVICE))
def test_only_a_full_disk_wants_room(number: int) -> None:
    error = OSError(number, os.strerror(number))
    full = number in (errno.ENOSPC, errno.EDQUOT)
    assert ("make room" in to_write(error).lower()) is full
    assert "room" not in to_read(error)
    assert reason(error) == os.strerror(number)
    assert to_write(error).endswith(".")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "a folder that you may write to"),
        (errno.EPERM, "a folder that you may write to"),
        (errno.EROFS, "read-only"),
        (errno.ENOENT, "Make its folder first"),
        (errno.ENOTDIR, "is a file"),
        (errno.EISDIR, "is a folder"),
        (errno.ENOSPC, "Make room"),
        (errno.ENAMETOOLONG, "shorter name"),
    ],
)
def test_the_words_follow_the_error(number: int, said: str) -> None:
    assert said in to_write(OSError(number, "x"))


def test_an_error_without_a_number_says_something() -> None:
    assert reason(OSError("gone")) == "gone"
    assert to_write(OSError("gone"))
    assert to_read(OSError("gone"))
