"""A simulated host in a process of its own, so that it costs the screen nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec

import eagletui
from eagletui.model.base import Data
from eagletui.model.errors import HostError

USUAL = "usual"
_PATIENCE = 10.0


class UpServer(Data, frozen=True):
    """A server of a simulated host."""

    model: str
    pid: int
    port: int
    log: str


class Up(Data, frozen=True):
    """Where a simulated host is, once it is up; `error` says why it is not."""

    name: str = ""
    host: str = ""
    port: int = 0
    user: str = ""
    ssh_config: str = ""
    client_key: str = ""
    known_hosts: str = ""
    folder: str = ""
    servers: tuple[UpServer, ...] = ()
    error: str = ""


class HostProcess:
    """Starts at once, answers `ready` later, and is gone after `end` or with this program.

    Args:
        scenario, speed, release, usual_ports: as of `SimulatedHost`.
    """

    def __init__(
        self, scenario: str, *, speed: float, release: str | None, usual_ports: bool = True
    ) -> None:
        root = str(Path(eagletui.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "eagletui.simulator", scenario, str(speed)),
                *(release or "", USUAL if usual_ports else "any"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The host's own process."""
        return self._process.pid

    async def ready(self) -> Up:
        """Wait until the host is up.

        Raises:
            HostError: it could not be started.
        """
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        try:
            up = msgspec.json.decode(line, type=Up)
        except msgspec.MsgspecError:
            up = Up(error="It ended without a word.")
        if up.error:
            raise HostError("The simulated host could not be started.", meaning=up.error)
        return up

    def end(self) -> None:
        """End the host and everything in it. Calling it again does nothing."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
