"""Durations of phases learned from earlier launches, by host and model.

One JSON file: `{"version": 1, "launches": {"HOST|MODEL": [{"id": …, "phases": {…}}, …]}}`.
A file that can't be read is set aside, never overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median

import msgspec

from eagletui.model.base import Data
from eagletui.model.phases import PhaseExperience
from eagletui.store.files import write_whole

VERSION = 1
KEPT = 12
MODELS = 200


class _Launch(Data, frozen=True):
    id: str
    phases: dict[str, float]


class _File(Data, frozen=True):
    version: int = VERSION
    launches: dict[str, list[_Launch]] = {}


class LaunchMemory:
    """What launches took, on disk.

    Args:
        path: the file; it is read on first use and written after every launch.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def experience(self, host: str, model: str) -> dict[str, PhaseExperience]:
        """Typical (median) and longest duration by phase; empty where nothing was learned."""
        launches = self._read().launches.get(_key(host, model), [])
        durations: dict[str, list[float]] = {}
        for launch in launches:
            for phase, seconds in launch.phases.items():
                durations.setdefault(phase, []).append(seconds)
        return {
            phase: PhaseExperience(typical=median(taken), longest=max(taken), launches=len(taken))
            for phase, taken in durations.items()
        }

    def learn(self, host: str, model: str, launch: str, phases: Mapping[str, float]) -> None:
        """Keep one launch that became ready; the same `launch` a second time changes nothing.

        Raises:
            OSError: the file can't be read or written; what is there stays.
        """
        if not phases:
            return
        file = self._read()
        launches = dict(file.launches)
        key = _key(host, model)
        known = launches.pop(key, [])
        if any(earlier.id == launch for earlier in known):
            return
        new = _Launch(id=launch, phases={k: round(v, 3) for k, v in phases.items()})
        launches[key] = [*known, new][-KEPT:]
        while len(launches) > MODELS:
            del launches[next(iter(launches))]
        write_whole(self._path, msgspec.json.encode(_File(launches=launches)))

    def _read(self) -> _File:
        try:
            file = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return _File()
        except msgspec.MsgspecError:
            self._set_aside()
            return _File()
        if file.version != VERSION:
            self._set_aside()
            return _File()
        return file

    def _set_aside(self) -> None:
        self._path.replace(self._path.with_name(f"{self._path.name}.unreadable"))


def _key(host: str, model: str) -> str:
    return f"{host}|{model}"
