"""A program on a terminal of its own (a pty), for what only a terminal shows."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")


def environment(home: str) -> dict[str, str]:
    """A terminal with colours and a home of its own."""
    unwanted = {"NO_COLOR", "TMUX", "SSH_AUTH_SOCK"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "HOME": home, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}


def plain(written: bytes) -> bytes:
    """What was written to a terminal, without its escape sequences."""
    return _ESCAPE.sub(b"", written)


def run_on_terminal(
    argv: list[str],
    home: str,
    *,
    columns: int,
    rows: int,
    seconds: float,
    until: Callable[[bytes], bool] | None = None,
) -> float:
    """Wall time until the program ends, or until `until` says yes to all that was written.

    Raises:
        RuntimeError: neither happened within `seconds`, or it ended before `until` said yes.
    """
    main_end, program_end = pty.openpty()
    fcntl.ioctl(program_end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    began = time.perf_counter()
    process = subprocess.Popen(
        argv,
        stdin=program_end,
        stdout=program_end,
        stderr=program_end,
        env=environment(home),
        cwd=ROOT,
        start_new_session=True,
    )
    os.close(program_end)
    written = b""
    try:
        while time.perf_counter() - began < seconds:
            if not select.select([main_end], [], [], 0.05)[0]:
                continue
            try:
                piece = os.read(main_end, 1 << 16)
            except OSError:
                piece = b""
            written += piece
            if until is not None and until(written):
                return time.perf_counter() - began
            if not piece:
                if until is None and process.wait() == 0:
                    return time.perf_counter() - began
                raise RuntimeError(f"it ended: {plain(written)[-300:]!r}")
        raise RuntimeError(f"not done after {seconds:.0f} s: {plain(written)[-300:]!r}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(main_end)
