"""How many files of tests run at a time (`make live`: groups); `python -m tests.workers` prints it.

Two and no more: tests that measure how long something takes want a core for themselves.
"""

from __future__ import annotations

import os

MOST = 2


def workers(cores: int) -> int:
    """What pytest's `-n` is given: 0, which is no worker but this process, on a single core."""
    return min(cores, MOST) if cores > 1 else 0


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    print(workers(usable_cores()))  # noqa: T201
