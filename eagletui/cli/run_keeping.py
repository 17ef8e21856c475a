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
    """Writes on a thread. A disk that refuses ends no benchmark: what waits is written with the
    next cell, or at the end.

    Args:
        run: what is known of it before the first cell.
        wanted: False keeps nothing.
        said: hears why nothing can be kept, and that it was after all, or under which name it is.
    """

    def __init__(self, run: Run, *, wanted: bool, said: Callable[[str], None]) -> None:
        self._run = run
        self._wanted = wanted
        self._said = said
        self._begun = False
        self._waiting: list[Cell] = []
        self._series: Mapping[str, Window] = {}
        self._refused = False

    async def look(self) -> None:
        """Say before an hour is measured that it could not be kept."""

        def work(database: Database, _: Runs) -> None:
            with database.write():
                pass

        await self._write(work)

    async def cell(self, cell: Cell, series: Mapping[str, Window]) -> None:
        """Keep one more cell, and the run's series as far as they go; with the first, the run."""
        self._waiting.append(cell)
        self._series = series
        await self._write(self._catch_up)

    async def finish(self, run: Run) -> bool:
        """Say that the run is over; whether it is kept. One without a cell was none."""
        if not self._begun and not self._waiting:
            return False
        ended = run.ended if run.ended is not None else run.began

        def work(database: Database, runs: Runs) -> None:
            with database.write():
                if self._waiting:
                    self._catch_up(database, runs)
                runs.finish(run.id, ended=ended, partial=run.partial)

        kept = await self._write(work)
        if kept:
            self._said(f"Kept as {run.id}: `eagletui runs show {run.id}`.")
        return kept

    def _catch_up(self, database: Database, runs: Runs) -> None:
        with database.write():
            if not self._begun:
                runs.begin(self._run)
            for cell in self._waiting:
                runs.add_cell(self._run.id, cell)
            if self._series:
                SeriesStore(database).put(self._run.id, self._series)

    async def _write(self, work: Callable[[Database, Runs], None]) -> bool:
        """Whether it was written."""
        if not self._wanted:
            return False

        def write() -> None:
            with open_runs() as (database, runs):
                work(database, runs)

        try:
            await asyncio.to_thread(write)
        except EagletuiError as error:
            if not self._refused:
                self._said(
                    f"The run is not kept as long as it is so: {error.what} {error.advice}".rstrip()
                )
            self._refused = True
            return False
        if self._waiting:
            self._begun, self._waiting = True, []
        if self._refused:
            self._said("The run is kept after all, with all that was measured.")
        self._refused = False
        return True
