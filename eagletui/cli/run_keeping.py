"""A run kept in the database while it is measured, so that a crash loses one cell at most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from eagletui.cli.run_store import open_runs
from eagletui.model.errors import EagletuiError
from eagletui.model.run import Cell, Run
from eagletui.model.series import Window
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore


class Keeper:
    """Writes on a thread, and gives up once: a full disk ends no benchmark.

    Args:
        run: what is known of it before the first cell.
        wanted: False keeps nothing.
        said: hears once why nothing more is kept, or under which name it was.
    """

    def __init__(self, run: Run, *, wanted: bool, said: Callable[[str], None]) -> None:
        self._run = run
        self._open = wanted
        self._begun = False
        self._said = said

    async def cell(self, cell: Cell, series: Mapping[str, Window]) -> None:
        """Keep one more cell, and the run's series as far as they go; with the first, the run."""

        def work(database: Database, runs: Runs) -> None:
            if not self._begun:
                runs.begin(self._run)
                self._begun = True
            runs.add_cell(self._run.id, cell)
            if series:
                SeriesStore(database).put(self._run.id, series)

        await self._write(work)

    async def finish(self, run: Run) -> None:
        """Say that the run is over; one without a cell was none."""
        if not self._begun:
            return
        ended = run.ended if run.ended is not None else run.began
        await self._write(lambda _, runs: runs.finish(run.id, ended=ended, partial=run.partial))
        if self._open:
            self._said(f"Kept as {run.id}: `eagletui runs show {run.id}`.")

    async def _write(self, work: Callable[[Database, Runs], None]) -> None:
        if not self._open:
            return

        def write() -> None:
            with open_runs() as (database, runs):
                work(database, runs)

        try:
            await asyncio.to_thread(write)
        except EagletuiError as error:
            self._open = False
            self._said(f"The run is not kept from here on: {error.what} {error.advice}".rstrip())
