"""What the system says to the live screen: SIGTERM, SIGHUP, and a terminal that goes away."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.terminal import ROOT, environment, plain

DRAWN = b"demo"
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1003l")


def simulators(folder: Path) -> list[int]:
    """Pids of simulated hosts that were started with this home."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_text().rpartition(") ")[2][0]
            home = f"HOME={folder}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if home and b"eagletui.simulator" in words and state != "Z":
                found.append(int(entry.name))
    return found


class Program:
    """eagletui on a terminal of its own."""

    def __init__(self, home: Path, *words: str) -> None:
        self.home = home
        self.terminal, other = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "eagletui", *words],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**environment(str(home)), "COLUMNS": "100", "LINES": "30"},
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(other)
        self.written = b""

    def read(self, limit: float, until: bytes = b"") -> None:
        """Read until these bytes are there or the program closed the terminal."""
        end = time.monotonic() + limit
        while time.monotonic() < end and not (until and until in plain(self.written)):
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    self.written += os.read(self.terminal, 1 << 16)
                except OSError:
                    return

    def close(self) -> None:
        """End it, whatever became of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.terminal)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path, "demo", "--scenario", "none")
    program.read(180, DRAWN)
    end = time.monotonic() + 180
    while not simulators(tmp_path) and time.monotonic() < end:
        program.read(0.2)
    assert simulators(tmp_path)
    yield program
    program.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal_and_ends_the_host(program: Program, number: int) -> None:
    end_with(program, number)
    assert simulators(program.home) == []


def end_with(program: Program, number: int) -> None:
    """Send it a signal; it leaves the terminal as it was, and says so by its status."""
    program.process.send_signal(number)
    program.read(180)
    assert program.process.wait(180) == 128 + number, plain(program.written)[-4000:].decode(
        "utf-8", "replace"
    )
    assert b"Traceback" not in program.written
    after = program.written.rpartition(b"\x1b[?1049h")[2]
    assert [code for code in RESTORED if code not in after] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_log_of_this_machine_is_followed(tmp_path: Path, number: int) -> None:
    log = tmp_path / "followed.log"
    log.write_text("[2026-01-01 00:00:00] The server is fired up and ready to roll!\n")
    program = Program(tmp_path, "--local", "--log", str(log))
    try:
        program.read(180, b"localhost")
        program.read(20, b"followed.log")  # not in sight where many servers run here
        end_with(program, number)
        with pytest.raises(ProcessLookupError):  # nothing that it started is left
            os.killpg(program.process.pid, 0)
    finally:
        program.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_terminal_that_is_gone_ends_it_and_the_host(program: Program) -> None:
    os.close(program.terminal)
    program.process.send_signal(signal.SIGHUP)
    program.process.wait(180)
    assert simulators(program.home) == []
