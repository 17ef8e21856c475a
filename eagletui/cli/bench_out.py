"""The file of `bench --out`: refused before anything is measured, written whole or not at all."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from eagletui.cli.run_export import must_be_free
from eagletui.model.refused import reason, unwritable
from eagletui.model.run import Run
from eagletui.model.text import visible
from eagletui.store.files import hand_on


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
        self._special = os.path.exists(path) and not os.path.isfile(path)
        must_be_free(path, force=force or self._special)
        try:
            if self._special:
                path.open("ab").close()
            else:
                # A name of `write_whole`'s form: a file without one would hide a name too long.
                with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
                    pass
        except OSError as error:
            raise unwritable(path, error) from None

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
        hand_on(self._path, data)
