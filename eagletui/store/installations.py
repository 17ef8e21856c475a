"""Options of installed SGLangs, kept so that `--help`, which takes seconds, is asked once each."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import msgspec

from eagletui.model.base import Data
from eagletui.model.finding import Option
from eagletui.store.files import write_whole

VERSION = 1
KEPT = 50


class _File(Data, frozen=True):
    version: int
    key: str
    options: tuple[Option, ...]


class InstallationMemory:
    """Options by installation, one file each.

    Args:
        folder: a cache: whatever is lost there is asked again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def options(self, key: str) -> tuple[Option, ...] | None:
        """What was kept for this installation, None where nothing was."""
        try:
            file = msgspec.json.decode(self._path(key).read_bytes(), type=_File)
        except (OSError, msgspec.MsgspecError):
            return None
        return file.options if file.version == VERSION and file.key == key else None

    def keep(self, key: str, options: tuple[Option, ...]) -> None:
        """Keep an installation's options; the longest kept go first.

        Raises:
            OSError: the folder can't be written.
        """
        file = _File(version=VERSION, key=key, options=options)
        write_whole(self._path(key), msgspec.json.encode(file))
        kept = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-KEPT]:
            with contextlib.suppress(OSError):
                path.unlink()

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
