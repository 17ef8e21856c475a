"""The person's own database of runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs


@contextmanager
def open_runs() -> Iterator[tuple[Database, Runs]]:
    """The database and its runs, closed at the end."""
    with Database(runs_file()) as database:
        yield database, Runs(database)
