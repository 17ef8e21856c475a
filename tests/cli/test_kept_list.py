"""The list of what is kept: nothing in it misleads, and nothing damaged hides the rest."""

from __future__ import annotations

import random
import zlib
from array import array
from itertools import pairwise

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


def _watched_with_gaps(seed: int) -> tuple[str, float, int]:
    """A session of an hour or less at random speeds, idle now and then, that was out of sight one
    to six times; its id, the mean of the time in which it worked, and how many seconds were seen.
    """
    chance = random.Random(seed)
    lengths = ((3, 20), (20, 300), (300, 900))
    seconds = chance.choice((900, 3600))
    gaps = [
        (begin, begin + chance.uniform(*chance.choice(lengths)))
        for begin in (chance.uniform(10, seconds) for _ in range(chance.randint(1, 6)))
    ]
    values: list[float] = []
    while len(values) < seconds:
        speed = chance.uniform(20, 200) if not values or chance.random() < 0.7 else 0.0
        values += [speed] * int(chance.uniform(*chance.choice(lengths)))
    seen = [at for at in range(seconds) if not any(a <= at < b for a, b in gaps)]
    joined = bytes([0, *(b == a + 1 for a, b in pairwise(seen))])
    times = array("d", (BEGAN + at for at in seen))
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        session = store.begin(host="gpu1", server=":30000", at=BEGAN, about={})
        for first in range(0, len(seen), 30):
            piece = slice(first, first + 30)
            numbers = array("d", (values[at] for at in seen[piece]))
            window = Window(times[piece], numbers, joined[piece])
            store.append(session.id, {"tok_s": window})
            work = [(t, v / 50, j) for t, v, j in zip(*window, strict=True) if v > 0.0]
            if work:
                ends = [b - a > 1.0 for a, b in pairwise([0.0, *(t for t, _, _ in work)])]
                flags = bytes(
                    not end and bool(j) for end, (_, _, j) in zip(ends, work, strict=True)
                )
                numbers = array("d", (v for _, v, _ in work))
                use = Window(array("d", (t for t, _, _ in work)), numbers, flags)
                store.append(session.id, {"accept_length": use})
    worked = [values[at] for at in seen if values[at] > 0.0]
    return session.id, sum(worked) / len(worked), len(seen)


@pytest.mark.parametrize("seed", range(30))
async def test_gaps_lower_no_mean_and_no_line_is_drawn_over_them(seed: int) -> None:
    session, mean, seen = _watched_with_gaps(seed)
    for age in (0.0, 5 * 3600.0, 4 * 86_400.0):
        with Database(runs_file()) as database:
            store = SeriesStore(database)
            if age:
                store.thin(BEGAN + 3600.0 + age)
            window = store.window(session, "tok_s")
        (found,) = (await DiskShelf().kept()).sessions
        assert found.tok_s == pytest.approx(mean, rel=0.005)
        assert found.accept_length == pytest.approx(mean / 50, rel=0.005)
        drawn = sum(
            b - a
            for (a, b), on in zip(pairwise(window.times), window.joined[1:], strict=True)
            if on
        )
        assert drawn <= seen


async def test_what_was_not_seen_is_one_gap_at_the_end_of_its_bucket() -> None:
    """Seen for 50 s, not for 200, and for 350 more: in the first 300 s it worked 100."""
    began = BEGAN + 200  # where a bucket begins
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        session = store.begin(host="gpu1", server=":30000", at=began, about={})
        seen = [*range(50), *range(250, 600)]
        joined = bytes(at not in (0, 250) for at in seen)
        numbers = array("d", (10.0 if at < 50 else 40.0 for at in seen))
        window = Window(array("d", (began + at for at in seen)), numbers, joined)
        store.append(session.id, {"tok_s": window})
        for age in (5 * 3600.0, 4 * 86_400.0):
            store.thin(began + 600 + age)
        kept = store.buckets(session.id, "tok_s")
    assert [time - began for time in kept.times] == pytest.approx([0.0, 50.0, 300.0, 450.0], abs=1)
    assert list(kept.mean) == pytest.approx([25.0, 25.0, 40.0, 40.0])
    assert (list(kept.low), list(kept.high)) == ([10, 10, 40, 40], [40, 40, 40, 40])
    assert list(kept.joined) == [0, 1, 0, 1]


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
