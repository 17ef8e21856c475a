"""The program in a real terminal (tmux), used as a person would: keys in, text out."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENDED = "ended with status"


def tmux_program() -> str | None:
    """Where tmux is, if anywhere."""
    return shutil.which("tmux")


def _surroundings() -> dict[str, str]:
    """The environment, but for a size that is not this terminal's (pytest-xdist exports one)."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


class Terminal:
    """`python -m eagletui WORDS…` in a tmux server of its own.

    Args:
        folder: for tmux's socket.
        words: of the command line after `eagletui`.
        size: columns and rows.
        environment: variables set for the program.
    """

    def __init__(
        self,
        folder: Path,
        words: list[str],
        *,
        size: tuple[int, int] = (120, 40),
        environment: dict[str, str] | None = None,
    ) -> None:
        self._socket = str(folder / "tmux.sock")
        # A shell around it keeps the pane and says how the program ended.
        program = shlex.join([sys.executable, "-m", "eagletui", *words])
        self._tmux(
            "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
            "/bin/sh", "-c", f"{program}; echo {ENDED} $?; exec cat",
            environment={"PYTHONPATH": str(ROOT), **(environment or {})},
        )  # fmt: skip

    def _tmux(self, *words: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *words],
            check=True,
            capture_output=True,
            text=True,
            env={**_surroundings(), "TERM": "xterm-256color", **(environment or {})},
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        """Send keys by tmux's names: `q`, `Enter`, `Escape`, `C-c`."""
        self._tmux("send-keys", *keys)

    def text(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p")

    def resize(self, columns: int, rows: int) -> None:
        """Make the window larger or smaller."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, what: str, true: Callable[[str], bool], limit: float = 180.0) -> str:
        """Wait until the screen shows something; returns the screen.

        Raises:
            AssertionError: it did not in time.
        """
        end = time.monotonic() + limit
        while True:
            text = self.text()
            if true(text):
                return text
            assert ENDED not in text, f"it ended before {what}\n{text}"
            assert time.monotonic() < end, f"not within {limit} s: {what}\n{text}"
            time.sleep(0.1)

    def wait_for(self, words: str, limit: float = 180.0) -> str:
        """Wait until these words are on the screen."""
        return self.wait(f"{words!r} on the screen", lambda text: words in text, limit)

    def close(self) -> None:
        """End the tmux server and all that runs in it."""
        self._tmux("kill-server")
