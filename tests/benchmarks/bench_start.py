"""How long it takes until the program says its version, and until the first picture is there.

Both against the least that is possible: a Python that does nothing, and the smallest Textual
program. First paint is measured in a terminal (a pty): from the start of the process until the
text of its first screen was written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

REPEAT = 5
ROWS, COLUMNS = 40, 120
PAINT_LIMIT = 30.0
ROOT = Path(__file__).parent.parent.parent

SMALLEST = """
from textual.app import App
from textual.widgets import Static

class Smallest(App):
    def compose(self):
        yield Static("smallest program")

Smallest().run()
"""
ALTERNATE_SCREEN = b"\x1b[?1049h"
_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")


def environment(home: str) -> dict[str, str]:
    """A terminal with colours and a home of its own."""
    unwanted = {"NO_COLOR", "TMUX", "SSH_AUTH_SOCK"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "HOME": home, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}


def run_seconds(argv: list[str], home: str) -> float:
    """Wall time of one run; its output is thrown away."""
    began = time.perf_counter()
    subprocess.run(
        argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment(home)
    )
    return time.perf_counter() - began


def paint_seconds(argv: list[str], words: bytes, home: str) -> float:
    """Time until these words stand on a terminal's screen.

    Raises:
        RuntimeError: the program ended, or 30 s went by, before they did.
    """
    main_end, program_end = pty.openpty()
    fcntl.ioctl(program_end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began = time.perf_counter()
    process = subprocess.Popen(
        argv,
        stdin=program_end,
        stdout=program_end,
        stderr=program_end,
        env=environment(home),
        start_new_session=True,
    )
    os.close(program_end)
    written = b""
    try:
        while time.perf_counter() - began < PAINT_LIMIT:
            if not select.select([main_end], [], [], 0.05)[0]:
                continue
            try:
                written += os.read(main_end, 1 << 16)
            except OSError as closed:
                raise RuntimeError(f"it ended: {_plain(written)[-200:]!r}") from closed
            if words in _plain(written.partition(ALTERNATE_SCREEN)[2]):
                return time.perf_counter() - began
        raise RuntimeError(f"{words!r} was not painted: {_plain(written)[-200:]!r}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(main_end)


def _plain(written: bytes) -> bytes:
    return _ESCAPE.sub(b"", written)


def rows() -> list[dict[str, object]]:
    """Medians of five runs each, one after the other in turns."""
    with tempfile.TemporaryDirectory() as home:
        smallest = Path(home) / "smallest.py"
        smallest.write_text(SMALLEST)
        bare, version, least, demo = [], [], [], []
        run_seconds([sys.executable, "-m", "eagletui", "--version"], home)  # writes the .pyc files
        for _ in range(REPEAT):
            bare.append(run_seconds([sys.executable, "-c", "pass"], home))
            version.append(run_seconds([sys.executable, "-m", "eagletui", "--version"], home))
        result = [_row("eagletui --version", version, "bare Python", bare, "within 5×")]
        try:
            for _ in range(REPEAT):
                least.append(paint_seconds([sys.executable, str(smallest)], b"smallest", home))
                demo.append(
                    paint_seconds([sys.executable, "-m", "eagletui", "demo"], b"eagletui", home)
                )
        except RuntimeError as problem:
            why = f"could not run: {problem}"
            return [*result, {"what": "first paint of demo", "measured": why, "reach": "within 2×"}]
        return [*result, _row("first paint of demo", demo, "smallest Textual", least, "within 2×")]


def _row(
    what: str, measured: list[float], other: str, reference: list[float], reach: str
) -> dict[str, object]:
    ours, theirs = statistics.median(measured), statistics.median(reference)
    return {
        "what": what,
        "measured": f"{ours * 1000:.0f} ms ({ours / theirs:.1f}×)",
        "reference": f"{other} {theirs * 1000:.0f} ms",
        "reach": reach,
    }
