"""The person's runs for the screen: each call on a thread, each with a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from eagletui.cli.compare import forgetting, nothing_left, report_text
from eagletui.cli.run_export import write_export
from eagletui.cli.run_store import open_runs
from eagletui.model.compare import Comparison, compare
from eagletui.model.errors import EagletuiError
from eagletui.model.figures import glances_of
from eagletui.model.keeping import (
    OVERLAID,
    Kept,
    KeptCell,
    KeptComparison,
    KeptRun,
    KeptSession,
    ReportForm,
)
from eagletui.model.refused import reason
from eagletui.model.run import Run
from eagletui.model.series import Window
from eagletui.model.text import visible
from eagletui.store.runs.buckets import spans
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunNotFound, RunsDamaged
from eagletui.store.runs.runs import Comparison as SavedComparison
from eagletui.store.runs.runs import Revision, Runs
from eagletui.store.runs.series import SeriesStore, Session

MOST_SESSIONS = 60
"""Sessions in a list; older ones stay on the disk until their age."""

_T = TypeVar("_T")


class DiskShelf:
    """A `model.keeping.RunShelf` over the database that `eagletui paths` names.

    Args:
        folder: where reports are written; None is the current one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._runs: dict[Revision, KeptRun] = {}
        """One that changed is read again, and one that could not be read."""
        self._sessions: dict[bytes, KeptSession] = {}
        """By what is known of each: one that goes on is read again, as is a damaged one."""

    async def kept(self) -> Kept:
        """Runs, comparisons and sessions, the newest first."""

        def read(database: Database, runs: Runs) -> Kept:
            series = SeriesStore(database)
            with database.read():  # one view: a run that is removed meanwhile is in all of it
                kept = [
                    (revision, self._runs.get(revision) or self._run(runs, revision))
                    for revision in runs.revisions()
                ]
                self._runs = {revision: run for revision, run in kept if not run.damaged}
                return Kept(
                    runs=tuple(run for _, run in kept),
                    comparisons=tuple(
                        KeptComparison(name=visible(one.name), runs=one.runs, baseline=one.baseline)
                        for one in runs.comparisons()
                    ),
                    sessions=tuple(
                        self._session(series, one) for one in series.sessions()[:MOST_SESSIONS]
                    ),
                )

        return await _on_disk(read)

    def _run(self, runs: Runs, one: Revision) -> KeptRun:
        try:
            return kept_run(runs.get(one.id))
        except (RunsDamaged, RunNotFound):
            return KeptRun(id=one.id, name=visible(one.name), began=one.began, damaged=True)

    def _session(self, series: SeriesStore, session: Session) -> KeptSession:
        key = msgspec.json.encode(session)
        found = self._sessions.get(key)
        if found is None:
            found, whole = _read_session(series, session)
            if whole:
                self._sessions[key] = found
        return found

    async def compare(self, runs: Sequence[str], baseline: str | None) -> Comparison:
        """Runs side by side."""

        def read(database: Database, kept: Runs) -> Comparison:
            if not runs:
                raise RunsDamaged(
                    f"This comparison in {database.path} can't be read.",
                    meaning="Its row is damaged; the runs are not.",
                    advice="Mark the runs and compare them again; "
                    + forgetting(_saved_as(kept, runs) or "NAME"),
                )
            with database.read():  # one view: none is removed between the question and the answer
                gone = kept.gone(runs, baseline)
                lost = {one.id for one in gone}
                left = [kept.get(run) for run in runs if run not in lost]
            if not left:
                raise nothing_left(gone, _saved_as(kept, runs))
            found = compare(left, None if baseline in lost else baseline)
            return found._replace(gone=gone)

        return await _on_disk(read)

    async def series(
        self, runs: Sequence[str], sessions: Sequence[str] = ()
    ) -> Mapping[str, Mapping[str, Window]]:
        """How runs and sessions went, where that was kept."""

        def read(database: Database, _: Runs) -> Mapping[str, Mapping[str, Window]]:
            store = SeriesStore(database)
            return {
                owner: {
                    name: Window(points.times, points.mean, points.joined)
                    for name, points in found.items()
                }
                for owner, found in (
                    *store.overviews(runs, OVERLAID).items(),
                    *store.outlines(sessions, OVERLAID).items(),
                )
            }

        return await _on_disk(read)

    async def save(self, name: str, runs: Sequence[str], baseline: str) -> None:
        """Keep a comparison under a name."""
        saved = SavedComparison(name=name, saved=time.time(), runs=tuple(runs), baseline=baseline)
        await _on_disk(lambda _, kept: kept.save_comparison(saved))

    async def report(self, comparison: Comparison, form: ReportForm) -> str:
        """Write a report; a file that is there stays, and the next number is taken."""

        def write(database: Database, _: Runs) -> str:
            text = report_text(form, comparison, database)
            folder = self._folder or _here()
            stem = time.strftime("eagletui-compare-%Y%m%d-%H%M%S")
            names = (stem, *(f"{stem}-{number}" for number in range(2, 100)))
            path = next(
                (path for name in names if not (path := folder / f"{name}.{form}").exists()), None
            )
            if path is None:
                raise EagletuiError(f"There are too many reports in {folder}.")
            try:
                write_export(path, [text.encode()], force=False)
            except EagletuiError as error:
                error.advice = f"{error.advice} `eagletui compare -o FILE` takes its name."
                raise
            return visible(str(path))

        return await _on_disk(write)

    async def annotate(
        self,
        run: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Other words for a run."""

        def write(_: Database, kept: Runs) -> None:
            if name is not None:
                kept.rename(run, name)
            if notes is not None:
                kept.note(run, notes)
            if tags is not None:
                kept.tag(run, tags, set(kept.get(run).tags) - set(tags))

        await _on_disk(write)

    async def session(self, session: str) -> Mapping[str, Window]:
        """The series of a session."""
        return await _on_disk(lambda database, _: SeriesStore(database).windows(session))


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise EagletuiError(
            "The folder that eagletui was started in is gone.",
            advice="Start it in another one; `eagletui compare -o FILE` writes one meanwhile.",
        ) from error


async def _on_disk(work: Callable[[Database, Runs], _T]) -> _T:
    def run() -> _T:
        try:
            with open_runs() as (database, runs):
                return work(database, runs)
        except OSError as error:
            raise EagletuiError(
                f"The disk refused: {reason(error)}.",
                advice="`eagletui paths` says where the runs are.",
            ) from error

    return await asyncio.to_thread(run)


def _saved_as(kept: Runs, runs: Sequence[str]) -> str:
    """The name of the saved comparison of these runs; "" for none, or several."""
    names = [one.name for one in kept.comparisons() if one.runs == tuple(runs)]
    return names[0] if len(names) == 1 else ""


def kept_run(run: Run) -> KeptRun:
    """A run in a list; everything in it is fit for a terminal."""
    around = run.surroundings
    doubts = dict.fromkeys(
        word for cell in run.cells for word in (cell.stopped, cell.doubt)
        if word and word != "cancelled"
    )  # fmt: skip
    return KeptRun(
        id=run.id,
        name=visible(run.name),
        began=run.began,
        host=visible(around.host),
        model=visible(around.model),
        profile=visible(around.profile),
        speculative=visible(around.speculative.short),
        prompts=visible(run.workload.prompts),
        cells=kept_cells(run),
        partial=run.partial,
        doubts=tuple(doubts),
        notes=visible(run.notes),
        tags=tuple(map(visible, run.tags)),
    )


def kept_cells(run: Run) -> tuple[KeptCell, ...]:
    """A run's concurrencies, the lowest first."""
    return tuple(
        KeptCell(
            concurrency=found.concurrency, tok_s=found.tok_s, accept_length=found.accept_length
        )
        for found in glances_of(run)
    )


def kept_sessions(database: Database) -> tuple[KeptSession, ...]:
    """The newest sessions, with their means."""
    series = SeriesStore(database)
    return tuple(kept_session(series, one) for one in series.sessions()[:MOST_SESSIONS])


def kept_session(series: SeriesStore, session: Session) -> KeptSession:
    """A session in a list; everything in it is fit for a terminal."""
    return _read_session(series, session)[0]


def _read_session(series: SeriesStore, session: Session) -> tuple[KeptSession, bool]:
    """The same, and whether all of it could be read."""
    about = {name: visible(text) for name, text in session.about.items()}
    means: dict[str, float | None] = {}
    for name in ("tok_s", "accept_length"):
        with contextlib.suppress(RunsDamaged):  # the rest of the list is not
            means[name] = _mean(series, session, name)
    found = KeptSession(
        id=session.id,
        host=visible(session.host),
        server=visible(session.server),
        began=session.began,
        ended=session.ended,
        model=about.get("model", ""),
        speculative=about.get("speculative", ""),
        version=about.get("version", ""),
        tok_s=means.get("tok_s"),
        accept_length=means.get("accept_length"),
    )
    return found, len(means) == 2


def _mean(series: SeriesStore, session: Session, name: str) -> float | None:
    """Over the time in which a series was above zero: while the server worked.

    By time, because the older part of a session is kept in fewer and longer buckets.
    """
    kept = series.buckets(session.id, name)
    worked = [
        pair for pair in zip(kept.mean, spans(kept, session.ended), strict=True) if pair[0] > 0.0
    ]
    whole = math.fsum(span for _, span in worked)
    return math.fsum(value * span for value, span in worked) / whole if whole else None
