"""Writing a file of runs, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from eagletui.model.errors import UsageError
from eagletui.model.refused import unwritten
from eagletui.model.text import visible
from eagletui.store.files import hand_on


def write_export(path: Path, lines: Iterable[bytes], *, force: bool) -> None:
    """Write the lines; a file that is there stays unless `force` is given.

    Raises:
        UsageError: it is there, or it is a folder.
        EagletuiError: it can't be written.
    """
    must_be_free(path, force=force)
    if not os.path.isdir(path.parent):
        raise UsageError(f"There is no folder {path.parent}.", advice="Make it first.")
    try:
        hand_on(path, b"".join(lines))
    except OSError as error:
        raise unwritten(path, error) from error


def must_be_free(path: Path, *, force: bool) -> None:
    """Refuse a name under which something is, a link that leads nowhere or in a circle included.

    Args:
        force: whether a file that is there may be written over.

    Raises:
        UsageError: there is something, or it is a folder.
    """
    name = visible(str(path))
    # `os.path` calls a name that no file can have absent; `Path` fails.
    if os.path.isdir(path):
        raise UsageError(f"{name} is a folder.", advice="Name a file in it.")
    if os.path.lexists(path) and not force:
        raise UsageError(f"{name} is there already.", advice="Name another file, or say --force.")
