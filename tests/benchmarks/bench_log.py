"""`eagletui log` on a long log, beside grep in the same run, and the screen catching up with it.

    python -m tests.benchmarks.bench_log [MEGABYTES]

The size may also come from EAGLETUI_BENCH_LOG_MB; the default is 1000.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from eagletui.engine.catchup import CatchUp
from eagletui.engine.reader import LogReader
from eagletui.model.events import Event
from eagletui.model.history import History
from eagletui.model.state import State, fold
from tests.engine.made_log import made_blocks

DATA = Path(__file__).parent / ".data"
DEFAULT_MEGABYTES = 1000
MADE_BLOCKS = 4  # of about 4 MB, repeated: making 1 GB line by line takes minutes
DECODE_SHARE = 0.9
RUNS = 5
IN_BULK = 256_000_000  # bytes
LINE_BY_LINE = 8_000_000  # the whole log would take minutes
CHUNK = 1 << 17


def main(megabytes: int | None = None) -> list[dict[str, str]]:
    """Make the log, measure, and give the rows."""
    size = 1_000_000 * (
        megabytes or int(os.environ.get("EAGLETUI_BENCH_LOG_MB", DEFAULT_MEGABYTES))
    )
    log = _made(size)
    size = log.stat().st_size
    ours = [sys.executable, "-m", "eagletui", "log", str(log), "--json"]
    grep = ["grep", "-aFc", "Decode batch", str(log)]
    nothing = [sys.executable, "-m", "eagletui", "log", "--help"]
    start = min(_cpu(nothing)[0] for _ in range(RUNS))
    # Turn about, so that a busy neighbour meets both.
    runs = [(_cpu(ours), _cpu(grep)) for _ in range(RUNS)]
    whole = min(run[0][0] for run in runs)
    reference = min(run[1][0] for run in runs)
    memory = max(run[0][1] for run in runs)
    speed = size / 1e6 / (whole - start)
    grepped = size / 1e6 / reference
    return [
        {
            "what": f"eagletui log, {size / 1e6:.0f} MB, {DECODE_SHARE:.0%} decode lines",
            "measured": f"{speed:.0f} MB per CPU-second (and {start:.2f} s to start)",
            "reference": f"grep -aFc {grepped:.0f} MB/s: {grepped / speed:.1f}×",
            "reach": "200 MB per CPU-second, within 10× of grep",
        },
        {
            "what": "its memory",
            "measured": f"{memory / 1e6:.0f} MB",
            "reference": "",
            "reach": "under 100 MB",
        },
        _catching_up(log, min(size, IN_BULK)),
    ]


def _catching_up(log: Path, size: int) -> dict[str, str]:
    """An old log read, folded and put into the charts' series, in bulk and line by line."""
    slow = _followed(log, LINE_BY_LINE, LogReader("log").feed)
    fast = _followed(log, size, CatchUp(LogReader("log")).feed)
    by_line = slow / LINE_BY_LINE * size
    return {
        "what": f"catching up with {size / 1e6:.0f} MB of an old log: events, state, series",
        "measured": f"{fast:.1f} CPU-seconds",
        "reference": f"line by line {by_line:.0f} (from {LINE_BY_LINE / 1e6:.0f} MB): "
        f"{by_line / fast:.0f}×",
        "reach": "",
    }


def _followed(log: Path, size: int, feed: Callable[..., list[Event]]) -> float:
    """CPU seconds."""
    state, history, now = State(), History(), time.time()
    began = time.process_time()
    with log.open("rb") as stream:
        while stream.tell() < size and (chunk := stream.read(CHUNK)):
            for event in feed(chunk, at=now, live=False):
                state = fold(state, event)
                history.add(event)
    return time.process_time() - began


def rows() -> list[dict[str, str]]:
    """What the common runner collects."""
    return main()


def _made(size: int) -> Path:
    DATA.mkdir(exist_ok=True)
    path = DATA / f"made-{size // 1_000_000}.log"
    if path.exists() and path.stat().st_size >= size:
        return path
    blocks = [
        b"".join(made_blocks(4_000_000, decode=DECODE_SHARE, seed=seed))
        for seed in range(MADE_BLOCKS)
    ]
    written = 0
    with path.open("wb") as stream:
        while written < size:
            written += stream.write(blocks[(written // 4_000_000) % MADE_BLOCKS])
    return path


def _cpu(command: list[str]) -> tuple[float, float]:
    """CPU seconds (user and system) and the largest resident size in bytes of one run."""
    # A pipe: grep stops at the first match when its output is /dev/null.
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


if __name__ == "__main__":
    for row in main(int(sys.argv[1]) if len(sys.argv) > 1 else None):
        print("  ".join(f"{value}" for value in row.values() if value))
