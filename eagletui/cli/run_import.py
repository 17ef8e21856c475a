"""Taking the runs of a file into the database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from eagletui.cli.run_files import read_runs
from eagletui.model.errors import UsageError
from eagletui.model.run import Run
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore


def import_file(
    database: Database, path: Path, name: str | None = None, tags: Sequence[str] = ()
) -> tuple[Run, ...]:
    """Keep every run of a file, or none where one can't be kept.

    Raises:
        UsageError: there is no such file, or `name` is given to several runs.
        RunExists: one of them is kept already.
        EagletuiError: the file is something else, or the database can't be written.
    """
    found = read_runs(path)
    if name is not None and len(found) > 1:
        raise UsageError(
            f"{path} holds {len(found)} runs, which can't all be called {name}.",
            advice="Leave --name out, and name them with `eagletui runs note RUN --name NAME`.",
        )
    runs, series = Runs(database), SeriesStore(database)
    kept = []
    with database.write():
        for one in found:
            run = replace(
                one.run,
                name=one.run.name if name is None else name,
                tags=tuple(sorted({*one.run.tags, *tags})),
            )
            runs.add(run)
            if one.series:
                series.put(run.id, one.series)
            kept.append(run)
    return tuple(kept)
