"""`make bench`: run every benchmark beside this file and write what they measured as a table.

A benchmark is a module `bench_NAME.py` with a function `rows()` that returns dictionaries:

    what       what was measured
    measured   the figure, with its unit
    reference  the same with the thing it is compared with, measured in the same run, or ""
    reach      what the project promises

Each runs in a process of its own, so that memory and imports of one do not count for the next. A
benchmark that cannot run says why in its row. Nothing here fails because something was slow.

usage: python -m tests.benchmarks [NAME...]
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
COLUMNS = ("what", "measured", "reference", "reach")
LIMIT = 900.0
"""Seconds for one benchmark; a day of memory takes four minutes of an idle core."""

Row = Mapping[str, object]


def benchmarks() -> list[str]:
    """Names of every benchmark there is: `start` for `bench_start.py`."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def run_one(name: str) -> None:
    """Run one benchmark in this process; its rows go to standard output as JSON."""
    rows = importlib.import_module(f"tests.benchmarks.bench_{name}").rows()
    json.dump(
        [{column: str(row.get(column, "")) for column in COLUMNS} for row in rows], sys.stdout
    )


def run(name: str) -> list[Row]:
    """Rows of one benchmark, or one row that says why there are none."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks", "--one", name],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=HERE.parent.parent,
        )
    except subprocess.TimeoutExpired:
        return [_failure(name, f"not done after {LIMIT:.0f} s")]
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return [_failure(name, last[0])]
    try:
        rows: list[Row] = json.loads(done.stdout)
    except json.JSONDecodeError:
        return [_failure(name, "it wrote something else than rows to standard output")]
    return rows


def _failure(name: str, why: str) -> Row:
    return {"what": name, "measured": f"could not run: {why}"}


def table(rows: Iterable[Row]) -> str:
    """A Markdown table."""
    lines = [[_cell(row.get(column, "")) for column in COLUMNS] for row in rows]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *lines, strict=True)]

    def line(cells: Iterable[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([line(COLUMNS), rule, *map(line, lines)])


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def machine() -> str:
    """What the figures were measured on."""
    load = f", load {os.getloadavg()[0]:.1f} when it began" if hasattr(os, "getloadavg") else ""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores,"
        f" Python {platform.python_version()}{load}"
    )


def main(words: list[str]) -> int:
    """Run the named benchmarks, or all, and write the table."""
    if words[:1] == ["--one"]:
        run_one(words[1])
        return 0
    known = benchmarks()
    names = words or known
    if unknown := sorted(set(names) - set(known)):
        print(f"No such benchmark: {', '.join(unknown)}. There are: {', '.join(known)}.")
        return 2
    rows: list[Row] = []
    where = machine()
    for name in names:
        began = time.monotonic()
        print(f"{name} …", end=" ", flush=True, file=sys.stderr)
        rows += run(name)
        print(f"{time.monotonic() - began:.1f} s", file=sys.stderr)
    text = table(rows)
    print(text)
    RESULTS.write_text(f"# Benchmarks\n\n{where}.\n\n{text}\n", encoding="utf-8")
    print(f"\n{where}. Written to {RESULTS}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
