"""Writing a file of runs, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.refused import reason, to_write
from eagletui.store.files import write_whole


def write_export(path: Path, lines: Iterable[bytes], *, force: bool) -> None:
    """Write the lines; a file that is there stays unless `force` is given.

    Raises:
        UsageError: it is there, or it is a folder.
        EagletuiError: it can't be written.
    """
    # `os.path` calls a name that no file can have absent; `Path` fails.
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder.", advice="Name a file in it.")
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} is there already.", advice="Name another file, or say --force.")
    if not os.path.isdir(path.parent):
        raise UsageError(f"There is no folder {path.parent}.", advice="Make it first.")
    try:
        write_whole(path, b"".join(lines))
        # `write_whole` writes for the owner alone; this is meant to be handed on.
        mask = os.umask(0)
        os.umask(mask)
        path.chmod(0o666 & ~mask)
    except OSError as error:
        raise EagletuiError(
            f"{path} could not be written: {reason(error)}.", advice=to_write(error)
        ) from error
