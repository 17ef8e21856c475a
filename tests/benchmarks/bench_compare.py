"""`eagletui compare` of 50 runs with a day of series each, from a cold start.

    python -m tests.benchmarks.bench_compare

Each run has three concurrencies in two repeats of 32 requests and five series at one sample a
second for 24 hours. Beside it, in the same turns: Python with the modules of the command imported
and nothing done, and, once for five runs, reading every whole series, which a comparison does not.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Mapping
from pathlib import Path
from random import Random

from eagletui.model.run import Cell, Run, Sent, Surroundings, Workload
from eagletui.model.series import Window
from eagletui.model.speculative import Speculative
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore

RUNS, DAY, REPEAT = 50, 86_400, 5
SERIES = ("accept_length", "tok_s", "verify_ms", "running", "queued")
ROOT = Path(__file__).parents[2]

IMPORTS = "import eagletui.cli.compare, eagletui.store.reports.page, eagletui.store.reports.text"
WHOLE = """
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore
with Database(runs_file()) as database:
    for row in Runs(database).rows()[:5]:
        SeriesStore(database).windows(row.id)
"""


def rows() -> list[dict[str, str]]:
    """The least of five turns, in CPU time of the process."""
    with tempfile.TemporaryDirectory() as folder:
        names = _made(Path(folder) / "runs.db")
        # An installation has its bytecode; the first turn writes it where there is none.
        environment = {**os.environ, "EAGLETUI_DATA": folder, "PYTHONPYCACHEPREFIX": folder}
        compare = [sys.executable, "-m", "eagletui", "compare", *names]
        commands = {
            "table": compare,
            "HTML with the series": [*compare, "--format", "html"],
            "imports": [sys.executable, "-c", IMPORTS],
            "whole": [sys.executable, "-c", WHOLE],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(REPEAT):
            for name, command in commands.items():
                if name != "whole" or not turn:
                    seconds[name].append(_cpu(command, environment))
        least = {name: min(taken) for name, taken in seconds.items()}
        size = (Path(folder) / "runs.db").stat().st_size
    return [
        {
            "what": f"compare of {RUNS} runs × 24 h of series, {name}",
            "measured": f"{least[name]:.2f} CPU-seconds from a cold start",
            "reference": f"its imports alone {least['imports']:.2f} s; "
            f"reading the series whole {10 * least['whole']:.1f} s",
            "reach": "under 0.5 s",
        }
        for name in ("table", "HTML with the series")
    ] + [
        {
            "what": f"{RUNS} runs × {len(SERIES)} series × 24 h at 1 Hz on disk",
            "measured": f"{size / 1e6:.0f} MB",
            "reference": f"as 64-bit pairs {RUNS * len(SERIES) * DAY * 16 / 1e6:.0f} MB",
            "reach": "",
        }
    ]


def _made(path: Path) -> list[str]:
    """The database; the names of its runs."""
    random = Random(11)
    times = array("d", (1_795_900_000.0 + second for second in range(DAY)))
    joined = bytes(second > 0 for second in range(DAY))
    # Noise like that of a real series.
    day = [array("d", (round(random.gauss(300, 20), 1) for _ in range(DAY))) for _ in SERIES]
    with Database(path) as database:
        runs, series = Runs(database), SeriesStore(database)
        for number in range(RUNS):
            runs.add(_run(random, number))
        first = f"{0:012d}"
        series.put(first, {name: Window(times, day[i], joined) for i, name in enumerate(SERIES)})
        # Every run has a day of its own on disk; only packing it 50 times is spared.
        with database.write() as connection:
            connection.executemany(
                "INSERT INTO series SELECT ?, name, level, began, ended, times, low, high, mean,"
                " joined FROM series WHERE owner = ?",
                [(f"{number:012d}", first) for number in range(1, RUNS)],
            )
    return [f"run-{number}" for number in range(RUNS)]


def _run(random: Random, number: int) -> Run:
    def request() -> Sent:
        latency = random.gauss(2.0 - number / 100, 0.05)
        return Sent(
            began=0.0,
            ttft=0.05,
            latency=latency,
            prompt_tokens=100,
            output_tokens=512,
            verify_steps=240,
            accepted=tuple(random.randrange(20, 120) for _ in range(4)),
        )

    speculative: Mapping[str, object] = (
        {"algorithm": "EAGLE3", "num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4}
        if number
        else {}
    )
    return Run(
        id=f"{number:012d}",
        name=f"run-{number}",
        began=1_795_900_000.0 + number,
        workload=Workload(prompts="chat", digest="a" * 64, temperature=0.0, repeats=2),
        surroundings=Surroundings(
            model="/models/kimi",
            speculative=Speculative(**speculative),  # type: ignore[arg-type]
            arguments={f"argument_{index}": index for index in range(300)},
            environment={"NCCL_ALGO": "Ring"},
            versions={"sglang": "0.5.23"},
            gpus=("RTX PRO 6000",) * 8,
        ),
        cells=tuple(
            Cell(
                concurrency=concurrency,
                repeat=repeat,
                seconds=64.0 / concurrency,
                requests=tuple(request() for _ in range(32)),
            )
            for repeat in range(2)
            for concurrency in (1, 8, 32)
        ),
    )


def _cpu(command: list[str], environment: Mapping[str, str]) -> float:
    """User and system seconds of one run; its output is thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env={**environment}, cwd=ROOT, timeout=300
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    for row in rows():
        sys.stdout.write(f"{row}\n")
