"""Runs on disk: kept while they are measured, found by what a person calls them, annotated."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from eagletui.model.base import Data
from eagletui.model.gone import Gone
from eagletui.model.near import nearest
from eagletui.model.run import Cell, Run
from eagletui.model.speculative import Speculative
from eagletui.store.runs import fields
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunExists, RunNotFound, RunsDamaged

LEAST_PREFIX = 2


class RunRow(Data, frozen=True):
    """What a list shows of a run.

    Attributes:
        damaged: its row can't be read; only its id, name, times, notes and tags are known.
    """

    id: str
    name: str
    began: float
    ended: float | None
    partial: bool
    model: str
    speculative: str
    concurrency: tuple[int, ...]
    notes: str
    tags: tuple[str, ...]
    damaged: bool = False


class Revision(NamedTuple):
    """What of a run can change; equal where nothing of it did. `id` and `name` are shown even
    where its row is damaged.

    Attributes:
        rest: times, notes, tags and digest as they are on the disk, number and length of its cells,
            and a checksum of its document.
    """

    id: str
    name: str
    began: float
    rest: tuple[object, ...]


# What a list needs of a cell and of a run; the rest of their documents is passed over.


class _CellRow(Data, frozen=True):
    concurrency: int


class _AroundRow(Data, frozen=True):
    model: str = ""
    speculative: Speculative = Speculative()


class _RunRow(Data, frozen=True):
    surroundings: _AroundRow = _AroundRow()


# What is read of a row; the fields in the order of the query.


class _Kept(NamedTuple):
    name: str
    ended: float | None
    partial: int
    notes: str
    tags: str
    document: bytes


class _Packed(NamedTuple):
    document: bytes


class _Began(NamedTuple):
    began: float


class _Id(NamedTuple):
    id: str


class Comparison(Data, frozen=True):
    """Runs that were put side by side under a name.

    Attributes:
        runs: their ids, in order; none where the row can't be read.
        baseline: the id of the one the others are measured against.
    """

    name: str
    saved: float
    runs: tuple[str, ...]
    baseline: str


class Names:
    """What the runs of a database are called.

    Args:
        rows: id and name of each, the newest first.
    """

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        self._rows = rows

    def __contains__(self, id_: object) -> bool:
        return any(id_ == known for known, _ in self._rows)

    def meant(self, word: str) -> str:
        """The id of the run that a person means, by its id, its name, or the beginning of its id.

        Raises:
            RunNotFound: none is called so, or more than one.
        """
        for found in (
            [id_ for id_, _ in self._rows if id_ == word],
            [id_ for id_, name in self._rows if name == word],
            [id_ for id_, _ in self._rows if len(word) >= LEAST_PREFIX and id_.startswith(word)],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                raise RunNotFound(
                    f"{len(found)} runs are called {word}: {', '.join(found[:8])}"
                    f"{', …' if len(found) > 8 else ''}.",
                    advice="Name one by its id, or by the beginning of it.",
                )
        raise self.unknown(word)

    def unknown(self, word: str) -> RunNotFound:
        """That none is called so, with the one that may be meant."""
        near = nearest(word, [name for pair in self._rows for name in pair if name], cutoff=0.6)
        return RunNotFound(
            f"There is no run called {word}.",
            advice=f"Did you mean {near}?" if near else "`eagletui runs list` shows them all.",
        )


class Runs:
    """The runs and comparisons of one database. Every method may raise `RunsError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- keeping ----------------------------------------------------------------------------------

    def add(self, run: Run) -> None:
        """Keep a run as it is, with its cells.

        Raises:
            RunExists: one of this id is kept already, or one with the very same cells.
        """
        digest = digest_of(run)
        with self._database.write() as connection:
            known = connection.execute(
                "SELECT id, name FROM runs WHERE id = ? OR (digest = ? AND digest != '')",
                (run.id, digest),
            ).fetchone()
            if known is not None:
                raise RunExists(
                    f"This run is kept already: {known[0]} {known[1]}".rstrip() + ".",
                    advice=f"`eagletui runs show {known[0]}` shows it.",
                )
            self._insert(connection, run, digest)

    def begin(self, run: Run) -> None:
        """Keep a run that is about to be measured; it counts as partial until `finish`.

        Raises:
            RunExists: one of this id is kept already.
        """
        self.add(replace(run, cells=(), ended=None, partial=True))

    def add_cell(self, run: str, cell: Cell) -> None:
        """Keep one more cell of a run that was begun: nothing takes it away again.

        Raises:
            RunNotFound: no run has this id.
        """
        with self._database.write() as connection:
            self._must_be_there(connection, run)
            (position,) = connection.execute(
                "SELECT coalesce(max(position) + 1, 0) FROM cells WHERE run = ?", (run,)
            ).fetchone()
            connection.execute("INSERT INTO cells VALUES (?, ?, ?)", (run, position, _packed(cell)))

    def finish(self, run: str, *, ended: float, partial: bool = False) -> None:
        """Say that a run is measured, or was cancelled (`partial`).

        Raises:
            RunNotFound: no run has this id.
        """
        with self._database.write() as connection:
            self._must_be_there(connection, run)
            connection.execute(
                "UPDATE runs SET ended = ?, partial = ? WHERE id = ?", (ended, partial, run)
            )
            digest = digest_of(self._run(connection, run))
            connection.execute("UPDATE runs SET digest = ? WHERE id = ?", (digest, run))

    def rename(self, run: str, name: str) -> None:
        """Call a run by another name.

        Raises:
            RunNotFound: no run has this id.
        """
        self._set(run, "name", name)

    def note(self, run: str, notes: str) -> None:
        """Put other notes in the place of a run's.

        Raises:
            RunNotFound: no run has this id.
        """
        self._set(run, "notes", notes)

    def tag(self, run: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Put tags on a run and take others off; all it has then, in alphabetical order.

        Raises:
            RunNotFound: no run has this id.
        """
        with self._database.write() as connection:
            self._must_be_there(connection, run)
            (known,) = connection.execute("SELECT tags FROM runs WHERE id = ?", (run,)).fetchone()
            tags = sorted({*_tags(known), *add} - set(remove))
            connection.execute("UPDATE runs SET tags = ? WHERE id = ?", (_text(tags), run))
        return tuple(tags)

    def remove(self, run: str) -> None:
        """Take a run away for good, with its series; comparisons that name it stay, and know its
        name as long as one of them does.

        Raises:
            RunNotFound: no run has this id.
        """
        with self._database.write() as connection:
            self._must_be_there(connection, run)
            connection.execute("DELETE FROM runs WHERE id = ?", (run,))

    # --- finding ----------------------------------------------------------------------------------

    def rows(self) -> tuple[RunRow, ...]:
        """Every run, the newest first; one that is damaged hides no other."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, began, name, ended, partial, notes, tags, document FROM runs"
                " ORDER BY began DESC"
            ).fetchall()
            return tuple(self._listed(connection, row) for row in rows)

    def revisions(self) -> tuple[Revision, ...]:
        """Every run as it is now, the newest first, without reading what was measured."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT runs.id, name, began, ended, partial, notes, tags, digest, count(run),"
                " total(length(cells.document)), runs.document"
                " FROM runs LEFT JOIN cells ON run = runs.id GROUP BY runs.id ORDER BY began DESC"
            ).fetchall()
        return tuple(
            Revision(
                fields.shown_text(id_), fields.shown_text(name), fields.shown_moment(began),
                (*rest, zlib.crc32(document) if isinstance(document, bytes) else document),
            )
            for id_, name, began, *rest, document in rows
        )  # fmt: skip

    def get(self, run: str) -> Run:
        """The run of an id.

        Raises:
            RunNotFound: no run has this id.
        """
        with self._database.read() as connection:
            return self._run(connection, run)

    def find(self, word: str) -> Run:
        """The run that a person means: by its id, its name, or the beginning of its id.

        Raises:
            RunNotFound: none is called so, or more than one.
        """
        with self._database.read() as connection:
            return self._run(connection, self.names().meant(word))

    def id(self, word: str) -> str:
        """The id of the run that `find` finds.

        Raises:
            RunNotFound: none is called so, or more than one.
        """
        return self.names().meant(word)

    def names(self) -> Names:
        """What every run is called, to look up many words at once."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT id, name FROM runs ORDER BY began DESC").fetchall()
        return Names([(id_, fields.shown_text(name)) for id_, name in rows if isinstance(id_, str)])

    # --- comparisons ------------------------------------------------------------------------------

    def save_comparison(self, comparison: Comparison) -> None:
        """Keep a comparison, in the place of one of the same name."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO comparisons VALUES (?, ?, ?, ?)",
                (
                    comparison.name,
                    comparison.saved,
                    _text(comparison.runs),
                    comparison.baseline,
                ),
            )
            # A row that REPLACE takes away fires no trigger; a DELETE before it would also forget
            # the removed runs that the new one names.
            connection.execute(
                "DELETE FROM removed"
                " WHERE NOT EXISTS (SELECT 1 FROM comparisons WHERE instr(runs, removed.id))"
            )

    def comparisons(self) -> tuple[Comparison, ...]:
        """Every saved one, the newest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT name, saved, runs, baseline FROM comparisons ORDER BY saved DESC, name"
            ).fetchall()
        return tuple(map(_compared, rows))

    def comparison(self, name: str) -> Comparison | None:
        """The one of this name, None where there is none."""
        return next((kept for kept in self.comparisons() if kept.name == name), None)

    def gone(self, comparison: Sequence[str], baseline: str | None = None) -> tuple[Gone, ...]:
        """Those of a comparison's runs that are not kept any more, in their order.

        Args:
            comparison: the ids of its runs.
            baseline: the id of the one it is measured against.
        """
        with self._database.read() as connection:
            missing = [run for run in comparison if not _there(connection, run)]
            names = dict(connection.execute("SELECT id, name FROM removed").fetchall())
        return tuple(
            Gone(run, fields.shown_text(names.get(run)), baseline=run == baseline)
            for run in missing
        )

    def remove_comparison(self, name: str) -> bool:
        """Forget a comparison, not its runs; whether there was one."""
        with self._database.write() as connection:
            removed = connection.execute("DELETE FROM comparisons WHERE name = ?", (name,))
            return removed.rowcount > 0

    # --- rows -------------------------------------------------------------------------------------

    def _insert(self, connection: sqlite3.Connection, run: Run, digest: str) -> None:
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                run.id,
                run.name,
                run.began,
                run.ended,
                run.partial,
                digest,
                run.notes,
                _text(run.tags),
                _packed(replace(run, cells=())),
            ),
        )
        connection.executemany(
            "INSERT INTO cells VALUES (?, ?, ?)",
            [(run.id, index, _packed(cell)) for index, cell in enumerate(run.cells)],
        )

    def _run(self, connection: sqlite3.Connection, run: str) -> Run:
        row = connection.execute(
            "SELECT name, ended, partial, notes, tags, document FROM runs WHERE id = ?", (run,)
        ).fetchone()
        if row is None:
            raise self.names().unknown(run)
        cells = connection.execute(
            "SELECT document FROM cells WHERE run = ? ORDER BY position", (run,)
        ).fetchall()
        try:
            known = fields.typed(row, _Kept)
            return replace(
                fields.document(known.document, Run),
                name=known.name,
                ended=known.ended,
                partial=bool(known.partial),
                notes=known.notes,
                tags=fields.words(known.tags),
                cells=tuple(
                    fields.document(fields.typed(cell, _Packed).document, Cell) for cell in cells
                ),
            )
        except fields.Unreadable as error:
            raise RunsDamaged(
                f"Run {run} in {self._database.path} can't be read: {error}.",
                meaning="Its row is damaged; the other runs are not.",
                advice=f"`eagletui runs rm {run}` takes it away, if a copy of the file has it.",
            ) from error

    def _listed(self, connection: sqlite3.Connection, row: tuple[Any, ...]) -> RunRow:
        """A row of the table for a list, without its requests."""
        run, began, *rest = row
        try:
            moment = fields.typed((began,), _Began).began
            known = fields.typed(rest, _Kept)
            around = fields.document(known.document, _RunRow).surroundings
            cells = connection.execute("SELECT document FROM cells WHERE run = ?", (run,))
            at = {
                fields.document(fields.typed(cell, _Packed).document, _CellRow).concurrency
                for cell in cells
            }
            return RunRow(
                id=fields.typed((run,), _Id).id,
                name=known.name,
                began=moment,
                ended=known.ended,
                partial=bool(known.partial),
                model=around.model,
                speculative=around.speculative.short,
                concurrency=tuple(sorted(at)),
                notes=known.notes,
                tags=fields.words(known.tags),
            )
        except fields.Unreadable:
            name, _, _, notes, tags, _ = rest
            return RunRow(
                id=fields.shown_text(run),
                name=fields.shown_text(name),
                began=fields.shown_moment(began),
                ended=None,
                partial=True,
                model="",
                speculative="",
                concurrency=(),
                notes=fields.shown_text(notes),
                tags=_tags(tags),
                damaged=True,
            )

    def _set(self, run: str, column: str, value: str) -> None:
        with self._database.write() as connection:
            self._must_be_there(connection, run)
            connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (value, run))

    def _must_be_there(self, connection: sqlite3.Connection, run: str) -> None:
        if not _there(connection, run):
            raise self.names().unknown(run)


def _there(connection: sqlite3.Connection, run: str) -> bool:
    found = connection.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone()
    return found is not None


def digest_of(run: Run) -> str:
    """SHA-256 of what was measured, whatever it is called since; "" of a run without cells."""
    if not run.cells:
        return ""
    import hashlib  # loads OpenSSL, which reading runs need not

    return hashlib.sha256(msgspec.json.encode((run.workload, run.cells))).hexdigest()


def _packed(data: Data) -> bytes:
    return zlib.compress(msgspec.json.encode(data))


def _text(words: Sequence[str]) -> str:
    return msgspec.json.encode(list(words)).decode()


def _tags(field: object) -> tuple[str, ...]:
    """The tags of a run, none where they can't be read."""
    try:
        return fields.words(fields.shown_text(field))
    except fields.Unreadable:
        return ()


def _compared(row: Sequence[object]) -> Comparison:
    """A saved comparison; one that can't be read has no runs."""
    name, saved, runs, baseline = row
    try:
        found = fields.words(fields.shown_text(runs))
    except fields.Unreadable:
        found = ()
    return Comparison(
        name=fields.shown_text(name),
        saved=fields.shown_moment(saved),
        runs=found,
        baseline=fields.shown_text(baseline),
    )
