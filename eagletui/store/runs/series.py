"""Series on disk: exact while they are young, thinned to low, high and mean with age.

A live session's are kept so that "what was it yesterday" has an answer. They grow by a few rows a
minute while somebody watches, and shrink again: `AGES` says how. A run's are kept as they came,
with an overview beside them that a comparison can draw without reading the rest.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from eagletui.model.base import Data
from eagletui.model.series import Window
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
OVERVIEW_POINTS = 240


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

FLUSH_SECONDS = 30.0
"""A crash loses no more of a live session than this."""


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


class Buckets(NamedTuple):
    """Points, or spans of time in their place: of a point low, high and mean are one number."""

    times: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    mean: Sequence[float]
    joined: Sequence[int]


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
                    points = _points(window)
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

    def begin(self, *, host: str, server: str, at: float, about: Mapping[str, str]) -> Session:
        """A new session, on disk at once."""
        session = Session(
            id=f"s{secrets.token_hex(6)}",
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
                    _insert(connection, session, name, EXACT, _points(window))
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
        return tuple(
            Session(
                id=id_,
                host=where,
                server=server,
                began=began,
                ended=ended,
                about=msgspec.json.decode(document, type=dict[str, str]),
            )
            for id_, where, server, began, ended, document in rows
        )

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
        whole = _joined(self._buckets(row) for row in rows)
        first, past = bisect_left(whole.times, begin), bisect_right(whole.times, end)
        return _part(whole, first, past)

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
                old = _joined(self._buckets(row) for row in rows)
                connection.execute(
                    f"DELETE FROM series WHERE {where}", (owner, name, level, before)
                )
                _insert(connection, owner, name, level + 1, folded(old, AGES[level].bucket))

    def _buckets(self, row: Sequence[bytes | None]) -> Buckets:
        times, low, high, mean, joined = row
        assert times is not None
        assert low is not None
        assert joined is not None
        try:
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


class SessionRecorder:
    """Gathers a live session's points and writes them now and then.

    `add` only appends to memory; `flush` waits for the disk and belongs into a thread. What it
    could not write it keeps, up to an hour of it, and writes the next time.
    """

    def __init__(self, store: SeriesStore, session: Session) -> None:
        self._store, self._session = store, session
        self._pending: dict[str, tuple[array[float], array[float], bytearray]] = {}
        self._gaps: set[str] = set()
        self._flushed = session.began

    def add(self, at: float, values: Mapping[str, float | None]) -> bool:
        """Take one moment's values, None where there is a gap; whether it is time to `flush`."""
        for name, value in values.items():
            if value is None or not math.isfinite(value):
                self._gaps.add(name)
                continue
            times, numbers, joined = self._pending.setdefault(
                name, (array("d"), array("d"), bytearray())
            )
            if times and at <= times[-1]:
                continue
            times.append(at)
            numbers.append(value)
            joined.append(name not in self._gaps)
            self._gaps.discard(name)
        return at - self._flushed >= FLUSH_SECONDS

    def flush(self, now: float) -> None:
        """Write what was gathered.

        Raises:
            RunsError: it could not be written and is kept for the next time.
        """
        # Swapped first: `add` may go on in another thread.
        pending, self._pending = self._pending, {}
        self._flushed = now
        try:
            self._store.append(
                self._session.id, {name: Window(*columns) for name, columns in pending.items()}
            )
        except Exception:
            for name, (times, values, joined) in pending.items():
                newer = self._pending.get(name, (array("d"), array("d"), bytearray()))
                first = bisect_left(times, now - HOUR)
                self._pending[name] = (
                    times[first:] + newer[0],
                    values[first:] + newer[1],
                    joined[first:] + newer[2],
                )
            raise


# --- columns --------------------------------------------------------------------------------------

_COLUMNS = "times, low, high, mean, joined"


def folded(points: Buckets, seconds: float) -> Buckets:
    """Buckets of so many seconds, aligned to the clock; a bucket joins on where all in it did."""
    times, low, high, mean, joined = array("d"), array("d"), array("d"), array("d"), bytearray()
    first, count = 0, len(points.times)
    while first < count:
        edge = (points.times[first] // seconds + 1.0) * seconds
        past = max(first + 1, bisect_left(points.times, edge, first))
        times.append(points.times[first])
        low.append(min(points.low[first:past]))
        high.append(max(points.high[first:past]))
        mean.append(math.fsum(points.mean[first:past]) / (past - first))
        joined.append(all(points.joined[first:past]))
        first = past
    return Buckets(times, low, high, mean, bytes(joined))


def overview(points: Buckets) -> Buckets:
    """At most `OVERVIEW_POINTS` buckets of a whole series."""
    if len(points.times) <= OVERVIEW_POINTS:
        return points
    return folded(points, (points.times[-1] - points.times[0]) / (OVERVIEW_POINTS - 2))


def _points(window: Window) -> Buckets:
    return Buckets(window.times, window.values, window.values, window.values, window.joined)


def _part(points: Buckets, first: int, past: int) -> Buckets:
    return Buckets(
        points.times[first:past],
        points.low[first:past],
        points.high[first:past],
        points.mean[first:past],
        points.joined[first:past],
    )


def _joined(parts: Iterable[Buckets]) -> Buckets:
    times, low, high, mean, joined = array("d"), array("d"), array("d"), array("d"), bytearray()
    for part in parts:
        first = bisect_right(part.times, times[-1]) if times else 0
        times.extend(part.times[first:])
        low.extend(part.low[first:])
        high.extend(part.high[first:])
        mean.extend(part.mean[first:])
        joined.extend(part.joined[first:])
    return Buckets(times, low, high, mean, bytes(joined))


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
