"""Writing small files so that a crash leaves the old one or the new one, never half."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Replace the file's content in one step; the folder is made, readable by its owner alone.

    Raises:
        OSError: the disk is full or read-only; the old file is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def hand_on(path: Path, data: bytes) -> None:
    """The same for a file that is for others as well: it gets the rights of any new file.

    Raises:
        OSError: as `write_whole`.
    """
    write_whole(path, data)
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
