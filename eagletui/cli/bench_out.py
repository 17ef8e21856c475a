"""The file of `bench --out`: refused before anything is measured, written whole or not at all."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from eagletui.model.errors import UsageError
from eagletui.model.refused import reason, to_write
from eagletui.model.run import Run
from eagletui.model.text import visible
from eagletui.store.files import write_whole


class OutFile:
    """A run as JSON in a file, after each cell as far as it is measured.

    A pipe or a device gets the run once, when it is over.

    Args:
        force: whether a file that is there is written over.

    Raises:
        UsageError: it is there, or cannot be written.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        self._path = path
        self.name = visible(str(path))
        # `os.path` calls a name that no file can have absent; `Path` fails.
        file = os.path.isfile(path)
        self._special = os.path.exists(path) and not file
        name = self.name
        if os.path.isdir(path):
            raise UsageError(f"{name} is a folder.", advice="Name a file in it.")
        if file and not force:
            raise UsageError(
                f"{name} is there already.", advice="Name another file, or say --force."
            )
        try:
            if self._special:
                path.open("ab").close()
            else:
                # A name of `write_whole`'s form: a file without one would hide a name too long.
                with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
                    pass
        except OSError as error:
            raise UsageError(
                f"{name} cannot be written: {reason(error)}.", advice=to_write(error)
            ) from None

    async def so_far(self, run: Run, said: Callable[[str], None]) -> None:
        """Write a run that is not over; a disk that refuses ends no benchmark."""
        if self._special:
            return
        try:
            await asyncio.to_thread(self.write, run)
        except OSError as error:
            said(f"{self.name} could not be written yet: {reason(error)}.")

    def write(self, run: Run) -> None:
        """Write the run.

        Raises:
            OSError: it could not be written; what was there is there still.
        """
        data = msgspec.json.encode(run) + b"\n"
        if self._special:
            self._path.write_bytes(data)
            return
        write_whole(self._path, data)
        # `write_whole` writes for the owner alone; this is meant to be handed on.
        mask = os.umask(0)
        os.umask(mask)
        self._path.chmod(0o666 & ~mask)
