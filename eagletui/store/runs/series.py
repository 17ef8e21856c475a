"""Series on disk: exact while they are young, thinned to low, high and mean with age.

A live session's are kept so that "what was it yesterday" has an answer. They grow by a few rows a
minute while somebody watches, and shrink again: `AGES` says how. A run's are kept as they came,
with an overview beside them that a comparison can draw without reading the rest.
"""

from __future__ import annotations

import math
import os
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from eagletui.model.base import Data
from eagletui.model.series import Window
from eagletui.store.runs import fields
from eagletui.store.runs.buckets import (
    Buckets,
    folded,
    folded_by_use,
    joined_up,
    overview,
    part_of,
    points_of,
)
from eagletui.store.runs.columns import (
    pack_flags,
    pack_times,
    pack_values,
    unpack_flags,
    unpack_times,
    unpack_values,
)
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunsDamaged

EXACT, OVERVIEW = 0, 9
BY_USE = frozenset({"tok_s", "accept_length"})
"""Series of which the mean of the time in which a server worked is shown: a zero or a gap says that
nobody asked."""


class Age(NamedTuple):
    """What becomes of points of one level: older than `after` seconds they make buckets of
    `bucket` seconds of the next one, as soon as they span `batch` seconds."""

    after: float
    bucket: float
    batch: float


HOUR, DAY = 3600.0, 86400.0
AGES = (Age(after=2 * HOUR, bucket=20.0, batch=HOUR), Age(2 * DAY, 300.0, DAY))
KEPT_SECONDS = 90 * DAY
"""A session that ended longer ago is forgotten; nothing of a run ever is."""


class Session(Data, frozen=True):
    """One server that was watched for a while.

    Attributes:
        server: its key on the host.
        about: what it was: model, speculative settings, version; as the caller likes.
    """

    id: str
    host: str
    server: str
    began: float
    ended: float
    about: dict[str, str] = {}


class SeriesStore:
    """The series of one database. Every method may raise `RunsError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- a run's ----------------------------------------------------------------------------------

    def put(self, run: str, series: Mapping[str, Window]) -> None:
        """Keep series of a run, in the place of earlier ones of the same names."""
        with self._database.write() as connection:
            for name, window in series.items():
                connection.execute("DELETE FROM series WHERE owner = ? AND name = ?", (run, name))
                if len(window.times):
                    points = points_of(window)
                    _insert(connection, run, name, EXACT, points)
                    _insert(connection, run, name, OVERVIEW, overview(points))

    def windows(self, run: str) -> dict[str, Window]:
        """Every series of a run, whole."""
        return {name: self.window(run, name) for name in self.names(run)}

    def overviews(
        self, runs: Iterable[str], names: Iterable[str] | None = None
    ) -> dict[str, dict[str, Buckets]]:
        """At most `OVERVIEW_POINTS` buckets of every series, or of those named, by run and name."""
        wanted = None if names is None else frozenset(names)
        found: dict[str, dict[str, Buckets]] = {}
        with self._database.read() as connection:
            for run in runs:
                rows = connection.execute(
                    f"SELECT name, {_COLUMNS} FROM series WHERE owner = ? AND level = ?",
                    (run, OVERVIEW),
                )
                found[run] = {
                    name: self._buckets(row)
                    for name, *row in rows
                    if wanted is None or name in wanted
                }
        return found

    # --- a session's ------------------------------------------------------------------------------

    def outlines(
        self, sessions: Iterable[str], names: Iterable[str]
    ) -> dict[str, dict[str, Buckets]]:
        """What `overviews` has of runs, of sessions: made when asked for, because they grow."""
        wanted = frozenset(names)
        with self._database.read():
            return {
                session: {
                    name: overview(self.buckets(session, name))
                    for name in self.names(session)
                    if name in wanted
                }
                for session in sessions
            }

    def begin(self, *, host: str, server: str, at: float, about: Mapping[str, str]) -> Session:
        """A new session, on disk at once."""
        session = Session(
            id=f"s{os.urandom(6).hex()}",
            host=host,
            server=server,
            began=at,
            ended=at,
            about=dict(about),
        )
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)",
                (session.id, host, server, at, at, msgspec.json.encode(session.about)),
            )
        return session

    def append(self, session: str, series: Mapping[str, Window]) -> None:
        """Keep what came since the last time. Points at a time that is kept already go over it."""
        with self._database.write() as connection:
            ended = 0.0
            for name, window in series.items():
                if len(window.times):
                    _insert(connection, session, name, EXACT, points_of(window))
                    ended = max(ended, window.times[-1])
            connection.execute(
                "UPDATE sessions SET ended = max(ended, ?) WHERE id = ?", (ended, session)
            )

    def sessions(
        self, begin: float = -math.inf, end: float = math.inf, *, host: str | None = None
    ) -> tuple[Session, ...]:
        """Sessions that lasted into this span of time, the newest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, host, server, began, ended, document FROM sessions"
                " WHERE began <= ? AND ended >= ? AND (? IS NULL OR host = ?)"
                " ORDER BY began DESC",
                (end, begin, host, host),
            ).fetchall()
        return tuple(map(_session, rows))

    def names(self, owner: str) -> tuple[str, ...]:
        """The series that a session or run has."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT name FROM series WHERE owner = ? ORDER BY name", (owner,)
            ).fetchall()
        return tuple(name for (name,) in rows)

    def buckets(
        self, owner: str, name: str, begin: float = -math.inf, end: float = math.inf
    ) -> Buckets:
        """What is kept of a series between two moments, in order, each part as fine as it is."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM series WHERE owner = ? AND name = ? AND level < ?"
                " AND began <= ? AND ended >= ? ORDER BY began, level DESC",
                (owner, name, OVERVIEW, end, begin),
            ).fetchall()
        whole = joined_up(self._buckets(row) for row in rows)
        first, past = bisect_left(whole.times, begin), bisect_right(whole.times, end)
        return part_of(whole, first, past)

    def window(
        self, owner: str, name: str, begin: float = -math.inf, end: float = math.inf
    ) -> Window:
        """The same as the charts take it: a bucket is its low and its high at one time."""
        times, values, joined = array("d"), array("d"), bytearray()
        for time, low, high, _, join in zip(*self.buckets(owner, name, begin, end), strict=True):
            times.append(time)
            values.append(low)
            joined.append(join)
            if high != low:
                times.append(time)
                values.append(high)
                joined.append(1)
        return Window(times, values, bytes(joined))

    def thin(self, now: float) -> None:
        """Thin what is old and forget what is too old; costs little where there is nothing to do.

        One transaction a series: a writer beside it never waits for all of them.
        """
        with self._database.write() as connection:
            connection.execute("DELETE FROM sessions WHERE ended < ?", (now - KEPT_SECONDS,))
        for level, age in enumerate(AGES):
            with self._database.read() as connection:
                due = connection.execute(
                    "SELECT owner, name FROM series JOIN sessions ON sessions.id = owner"
                    " WHERE level = ? AND series.ended < ? GROUP BY owner, name"
                    " HAVING max(series.ended) - min(series.began) >= ?"
                    " OR max(sessions.ended) < ?",
                    (level, now - age.after, age.batch, now - age.after),
                ).fetchall()
            for owner, name in due:
                self._fold(owner, name, level, now - age.after)

    def _fold(self, owner: str, name: str, level: int, before: float) -> None:
        where = "owner = ? AND name = ? AND level = ? AND ended < ?"
        with self._database.write() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM series WHERE {where} ORDER BY began",
                (owner, name, level, before),
            ).fetchall()
            if rows:
                old = joined_up(self._buckets(row) for row in rows)
                connection.execute(
                    f"DELETE FROM series WHERE {where}", (owner, name, level, before)
                )
                seconds = AGES[level].bucket
                if name in BY_USE:
                    (end,) = connection.execute(
                        "SELECT max(ended) FROM sessions WHERE id = ?", (owner,)
                    ).fetchone()
                    new = folded_by_use(old, seconds, fields.shown_moment(end))
                else:
                    new = folded(old, seconds)
                _insert(connection, owner, name, level + 1, new)

    def _buckets(self, row: Sequence[object]) -> Buckets:
        try:
            times, low, high, mean, joined = fields.typed(row, _Row)
            lowest = unpack_values(low)
            found = Buckets(
                unpack_times(times),
                lowest,
                lowest if high is None else unpack_values(high),
                lowest if mean is None else unpack_values(mean),
                unpack_flags(joined),
            )
            if len(set(map(len, found))) != 1:
                raise ValueError("columns of different lengths")
        except ValueError as error:
            raise RunsDamaged(
                f"A series in {self._database.path} can't be read: {error}.",
                meaning="This row is damaged; runs and their figures are not.",
                advice="Keep a copy of the file. `eagletui runs export` saves the runs.",
            ) from error
        return found


_COLUMNS = "times, low, high, mean, joined"


class _Row(NamedTuple):
    times: bytes
    low: bytes
    high: bytes | None
    mean: bytes | None
    joined: bytes


def _session(row: Sequence[object]) -> Session:
    """A session; of a damaged row what can be read of it."""
    id_, host, server, began, ended, document = row
    try:
        about = fields.document(
            fields.typed((document,), tuple[bytes])[0], dict[str, str], packed=False
        )
    except fields.Unreadable:
        about = {}
    return Session(
        id=fields.shown_text(id_),
        host=fields.shown_text(host),
        server=fields.shown_text(server),
        began=fields.shown_moment(began),
        ended=fields.shown_moment(ended),
        about=about,
    )


def _insert(
    connection: sqlite3.Connection, owner: str, name: str, level: int, points: Buckets
) -> None:
    exact = points.high is points.low
    connection.execute(
        "INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            owner,
            name,
            level,
            points.times[0],
            points.times[-1],
            pack_times(points.times),
            pack_values(points.low),
            None if exact else pack_values(points.high),
            None if exact else pack_values(points.mean),
            pack_flags(points.joined),
        ),
    )
