"""`eagletui log` on a long log, beside grep in the same run.

    python -m tests.benchmarks.bench_log [MEGABYTES]

The size may also come from EAGLETUI_BENCH_LOG_MB; the default is 256.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from tests.engine.made_log import made_blocks

DATA = Path(__file__).parent / ".data"
DEFAULT_MEGABYTES = 256
MADE_BLOCKS = 4  # of about 4 MB, repeated: making 1 GB line by line takes minutes
DECODE_SHARE = 0.9
RUNS = 3


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
    ]


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
