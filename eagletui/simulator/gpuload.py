"""What a simulated server does to its GPUs, left where the stand-in nvidia-smi finds it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from eagletui.simulator.scenarios import GpuKind

_EVERY = 0.5
_LOADING_POWER = 0.4
_SERVING_POWER = 0.45
_HUNG_POWER = 0.04
"""Parts of the power limit a fully busy GPU draws above idle; kernels that wait draw little."""


class Activity(NamedTuple):
    """A server at one moment.

    `busy` is what the load says, 0 to 1; None once it serves, when `active_seconds` (cumulative
    GPU time) tells.
    """

    pids: tuple[int, ...]
    memory_gb: float
    busy: float | None
    active_seconds: float
    hung: bool


class GpuLoad:
    """Writes one file for this process; a reader drops it once the process is gone."""

    def __init__(self, folder: Path, kind: GpuKind | None, gpus: tuple[int, ...]) -> None:
        self._file = folder / f"{os.getpid()}.json"
        self._kind = kind
        self._gpus = gpus
        self._before = (time.time(), 0.0)

    async def tell(self, activity: Callable[[], Activity]) -> None:
        """Write twice a second, for ever."""
        while self._kind is not None:
            now = activity()
            busy, power = self._state(now)
            state = {
                "pid": os.getpid(),
                "workers": now.pids,
                "gpus": self._gpus,
                "utilization": round(100 * busy),
                "power": round(self._kind.idle_power + power * self._kind.power_limit, 2),
                "memory": round(now.memory_gb * 1024),
            }
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps(state))
            fresh.replace(self._file)
            await asyncio.sleep(_EVERY)
        await asyncio.Event().wait()

    def _state(self, now: Activity) -> tuple[float, float]:
        """Utilisation, and the part of the power limit drawn above idle."""
        at, (then, active) = time.time(), self._before
        self._before = (at, now.active_seconds)
        if now.hung:
            return 1.0, _HUNG_POWER
        if now.busy is not None:
            return now.busy, now.busy * _LOADING_POWER
        busy = min(1.0, max(0.0, (now.active_seconds - active) / max(at - then, 1e-3)))
        return busy, busy * _SERVING_POWER
