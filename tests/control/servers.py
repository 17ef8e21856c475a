"""Real processes that stand for servers, in a folder of the test's own, ended by id."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagletui.control.api import Running
from eagletui.model.profile import Guard, StartPlan

READY = "fired up"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stat(pid: int) -> list[bytes]:
    """The fields of `/proc/PID/stat` from the state on; [] where the process is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []
    return [] if words[0] == b"Z" else words


def alive(pid: int) -> bool:
    return bool(stat(pid))


def environ(pid: int) -> dict[str, str]:
    pairs = map(os.fsdecode, Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def argv(pid: int) -> list[str]:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    return [os.fsdecode(word) for word in words]


def wait_for(true: Callable[[], Any], what: str, limit: float = 180.0) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + limit
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class Servers:
    """A folder with the stand-in, and everything that was started from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.lock = folder / "lock"
        (folder / "sglang").mkdir()
        self.script = folder / "sglang" / "launch_server.py"
        shutil.copy(Path(__file__).with_name("launch_server.py"), self.script)
        self.port = free_port()
        self._started: list[subprocess.Popen[bytes]] = []
        self._others: list[tuple[int, int]] = []

    def argv(self, *flags: str) -> tuple[str, ...]:
        return (sys.executable, str(self.script), "--port", str(self.port), *flags)

    def plan(
        self,
        *flags: str,
        guard: Guard | None = None,
        log: str = "",
        environment: dict[str, str] | None = None,
    ) -> StartPlan:
        return StartPlan(
            argv=self.argv(*flags),
            environment=environment or {},
            workdir=str(self.folder),
            log=log,
            port=self.port,
            profile="new",
            guard=guard or Guard(drain_seconds=0.3, stop_seconds=60.0, roll_back="always"),
        )

    def start(self, *flags: str, own_group: bool = True, **environment: str) -> Running:
        """A server as a person starts it."""
        log = self.folder / "old.log"
        with log.open("ab") as out:
            server = subprocess.Popen(
                self.argv(*flags),
                cwd=self.folder,
                env={**os.environ, "WAS_HERE": "before", **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=own_group,
            )
        self._started.append(server)
        wait_for(lambda: READY in log.read_text(), "the old server serves")
        return Running(
            pid=server.pid,
            start_ticks=int(stat(server.pid)[19]),
            port=self.port,
            argv=self.argv(*flags),
        )

    def running(self, pid: int) -> Running:
        """A server that was started in any way."""
        return Running(
            pid=pid, start_ticks=int(stat(pid)[19]), port=self.port, argv=tuple(argv(pid))
        )

    def also(self, pid: int) -> None:
        """End this one too."""
        self._others.append((pid, int(stat(pid)[19])))

    def reap(self) -> None:
        for server in self._started:
            server.poll()

    def mine(self) -> list[int]:
        """Every living process that was started with this folder's script, workers included.

        What follows a server's log, and ends a moment after whoever wanted it, is none of them.
        """
        mark = os.fsencode(self.script)
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in (entry / "cmdline").read_bytes() and alive(int(entry.name)):
                        found.append(int(entry.name))
        return found

    def at_work(self) -> list[int]:
        """Agents that still do what somebody had asked who is gone."""
        mark, found = f"EAGLETUI_STATE={self.state}".encode(), []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in (os.getpid(), *self.mine()):
                with contextlib.suppress(OSError):
                    agent = b"\0-I\0-S\0-X\0utf8\0" in (entry / "cmdline").read_bytes()
                    if agent and mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def launches(self) -> list[dict[str, Any]]:
        """What the host keeps of every launch."""
        return [json.loads(p.read_text()) for p in self.state.glob("launches/*/state.json")]

    def end(self) -> None:
        """Nothing that was started is left."""
        for state in self.launches():
            for which in ("new", "back"):
                if state.get(which):
                    self._kill(state[which]["pid"], state[which]["start"])
        for pid, start in self._others:
            words = stat(pid)
            if words and int(words[19]) == start:
                os.kill(pid, signal.SIGKILL)
        for server in self._started:
            with contextlib.suppress(OSError):
                os.killpg(server.pid, signal.SIGKILL)
            server.kill()
            server.wait()

    def _kill(self, pid: int, start: int) -> None:
        words = stat(pid)
        if words and int(words[19]) == start:
            # Some are not the first of their group.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(pid, signal.SIGKILL)
