"""The list of what is kept: nothing in it misleads, and nothing damaged hides the rest."""

from __future__ import annotations

import zlib
from array import array

import pytest

from eagletui.cli.run_shelf import DiskShelf
from eagletui.model.series import Window
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore
from tests.store.runs.made import made_cell, made_run

BEGAN = 1_795_900_000.0
HOUR = 3600
PIECE = 600


def watched(*values: float, gap_at: int = -1) -> str:
    """A session of one value a second; its id."""
    times = array("d", (BEGAN + second for second in range(len(values))))
    joined = bytes(index not in (0, gap_at) for index in range(len(values)))
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        session = store.begin(host="gpu1", server=":30000", at=BEGAN, about={})
        for first in range(0, len(values), PIECE):
            piece = slice(first, first + PIECE)
            window = Window(times[piece], array("d", values[piece]), joined[piece])
            store.append(session.id, {"tok_s": window})
    return session.id


async def test_a_session_s_mean_is_by_time_however_old_it_is() -> None:
    """Its older hours are kept in fewer, longer buckets: each counts as long as it was."""
    watched(*[80.0] * HOUR, *[40.0] * 2 * HOUR)
    (fresh,) = (await DiskShelf().kept()).sessions
    assert fresh.tok_s == pytest.approx(160 / 3, rel=1e-3)
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        store.thin(BEGAN + 3.5 * HOUR)
        assert len(store.buckets(fresh.id, "tok_s").times) < 2.1 * HOUR
    (thinned,) = (await DiskShelf().kept()).sessions
    assert thinned.tok_s == pytest.approx(160 / 3, rel=1e-2)


def _uses(speed: float, busy: int, idle: int, rounds: int) -> list[float]:
    return [*[0.0] * idle, *[speed] * busy] * rounds


# Each two hours of it: served at 80 for some of the time, then at 40 for another part of it.
USES = {
    "busy": [*_uses(80.0, 20, 0, 360), *_uses(40.0, 20, 0, 360)],
    "half of each bucket": [*_uses(80.0, 10, 10, 360), *_uses(40.0, 20, 0, 360)],
    "seldom": [*_uses(80.0, 3, 297, 24), *_uses(40.0, 150, 150, 24)],
    "across buckets": [*_uses(80.0, 7, 26, 218), *_uses(40.0, 45, 38, 86)],
    "nearly always": [*_uses(80.0, 19, 1, 360), *_uses(40.0, 299, 1, 24)],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("age", [3600.0, 5 * 3600.0, 4 * 86_400.0, 40 * 86_400.0])
async def test_what_was_idle_lowers_no_mean_however_old_it_is(use: str, age: float) -> None:
    values = USES[use]
    watched(*values)
    served = [value for value in values if value > 0.0]
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        for at in (5 * 3600.0, 4 * 86_400.0, 40 * 86_400.0):
            if at <= age:
                store.thin(BEGAN + len(values) + at)
        (session,) = store.sessions()
        kept = len(store.buckets(session.id, "tok_s").times)
        assert kept <= (len(values) if age < 5 * 3600 else 1450 if age < 86_400 else 100)
    (found,) = (await DiskShelf().kept()).sessions
    assert found.tok_s == pytest.approx(sum(served) / len(served), rel=0.01)


@pytest.mark.parametrize("seconds", [30, 299, 301, 333, 800])
async def test_a_short_session_s_last_bucket_counts_no_longer_than_it_was(seconds: int) -> None:
    values = [80.0 if at < 3 * seconds // 4 else 40.0 for at in range(seconds)]
    watched(*values)
    with Database(runs_file()) as database:
        for age in (5 * 3600.0, 4 * 86_400.0):
            SeriesStore(database).thin(BEGAN + seconds + age)
    (found,) = (await DiskShelf().kept()).sessions
    assert found.tok_s == pytest.approx(sum(values) / seconds, rel=0.015)


async def test_a_session_s_mean_leaves_out_what_was_idle_and_what_was_not_seen() -> None:
    watched(50.0, 50.0, 0.0, 0.0, 20.0, 20.0, gap_at=4)
    (session,) = (await DiskShelf().kept()).sessions
    assert session.tok_s == pytest.approx(35.0)
    assert session.accept_length is None


@pytest.mark.parametrize("table", ["runs", "cells"])
async def test_a_run_that_is_damaged_hides_no_other(table: str) -> None:
    """Also where what a list of rows reads of it is whole."""
    with Database(runs_file()) as database:
        runs = Runs(database)
        for at, letter in enumerate("ab"):
            cells = (made_cell(seconds=2.0 + at),)
            runs.add(made_run(letter * 12, letter, began=BEGAN + at, cells=cells))
        document = b'{"surroundings": {}, "workload": 5, "concurrency": 1, "seconds": "x"}'
        owner = "id" if table == "runs" else "run"
        with database.write() as connection:
            connection.execute(
                f"UPDATE {table} SET document = ? WHERE {owner} = ?",
                (zlib.compress(document), "a" * 12),
            )
        assert [row.damaged for row in runs.rows()] == [False, False]
    kept = await DiskShelf().kept()
    assert [(run.name, run.damaged) for run in kept.runs] == [("b", False), ("a", True)]
    assert kept.runs[0].cells


async def test_a_series_that_is_damaged_hides_nothing_else() -> None:
    watched(50.0, 50.0)
    with Database(runs_file()) as database:
        Runs(database).add(made_run())
        with database.write() as connection:
            connection.execute("UPDATE series SET mean = x'00'")
    kept = await DiskShelf().kept()
    assert [(session.host, session.tok_s) for session in kept.sessions] == [("gpu1", None)]
    assert len(kept.runs) == 1
