"""How long it takes until the program says its version, and until the first picture is there.

Both against the least that is possible: a Python that does nothing, and the smallest Textual
program. First paint is measured in a terminal (a pty): from the start of the process until the
text of its first screen was written.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.terminal import environment, plain, run_on_terminal

REPEAT = 5
ROWS, COLUMNS = 40, 120
PAINT_LIMIT = 30.0

SMALLEST = """
from textual.app import App
from textual.widgets import Static

class Smallest(App):
    def compose(self):
        yield Static("smallest program")

Smallest().run()
"""
ALTERNATE_SCREEN = b"\x1b[?1049h"


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
    return run_on_terminal(
        argv,
        home,
        columns=COLUMNS,
        rows=ROWS,
        seconds=PAINT_LIMIT,
        until=lambda written: words in plain(written.partition(ALTERNATE_SCREEN)[2]),
    )


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


if __name__ == "__main__":
    for row in rows():
        sys.stdout.write(f"{row}\n")
