from __future__ import annotations

import contextlib
import math
from array import array
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.series import Window
from eagletui.store.runs.buckets import (
    OVERVIEW_POINTS,
    Buckets,
    folded_by_use,
    points_of,
    spans,
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
from eagletui.store.runs.errors import RunsDamaged, RunsError
from eagletui.store.runs.recorder import FLUSH_SECONDS, SessionRecorder
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import (
    AGES,
    DAY,
    HOUR,
    KEPT_SECONDS,
    SeriesStore,
)
from tests.store.runs.made import made_run

T0 = 1_795_954_800.0  # a full hour, so that buckets begin where the samples do


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def store(database: Database) -> SeriesStore:
    return SeriesStore(database)


def _window(begin: float, count: int, step: float = 1.0) -> Window:
    """A saw tooth, 0 to 9, that begins after a gap."""
    return Window(
        array("d", (begin + step * index for index in range(count))),
        array("d", (float(index % 10) for index in range(count))),
        bytes(index > 0 for index in range(count)),
    )


def _size(database: Database) -> int:
    with database.read() as connection:
        (size,) = connection.execute(
            "SELECT coalesce(sum(length(times) + length(low) + length(joined)"
            " + coalesce(length(high), 0) + coalesce(length(mean), 0)), 0) FROM series"
        ).fetchone()
    return int(size)


def _rows(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute("SELECT count(*) FROM series").fetchone()[0])


# --- columns --------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 4e9), max_size=50))
def test_times_keep_their_milliseconds(times: list[float]) -> None:
    assert list(unpack_times(pack_times(times))) == pytest.approx(times, abs=0.00051)


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=50))
def test_values_keep_every_bit_of_a_32_bit_float(values: list[float]) -> None:
    assert list(unpack_values(pack_values(values))) == values


@given(st.lists(st.integers(0, 1), max_size=50))
def test_flags_keep_their_places(flags: list[int]) -> None:
    assert list(unpack_flags(pack_flags(flags))) == flags


@given(st.binary(max_size=200))
def test_damaged_columns_are_refused(data: bytes) -> None:
    for unpack in (unpack_times, unpack_values, unpack_flags):
        with contextlib.suppress(ValueError):
            unpack(data)


def test_bytes_that_are_no_whole_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="no column"):
        unpack_values(pack_flags([1, 0, 1]))


def test_a_day_of_seconds_is_small() -> None:
    day = _window(T0, 86_400)
    size = len(pack_times(day.times)) + len(pack_values(day.values))
    assert size < 20_000  # 1.4 MB as they are in memory


# --- a run's --------------------------------------------------------------------------------------


def test_a_runs_series_come_back_exactly(database: Database, store: SeriesStore) -> None:
    Runs(database).add(made_run())
    store.put("aaaaaaaaaaaa", {"tok_s": _window(T0, 1000), "verify_ms": _window(T0, 5)})
    window = store.window("aaaaaaaaaaaa", "tok_s")
    assert window == _window(T0, 1000)
    assert store.names("aaaaaaaaaaaa") == ("tok_s", "verify_ms")
    store.put("aaaaaaaaaaaa", {"tok_s": _window(T0, 3)})
    assert store.window("aaaaaaaaaaaa", "tok_s") == _window(T0, 3)
    Runs(database).remove("aaaaaaaaaaaa")
    assert _rows(database) == 0


@pytest.mark.parametrize("count", [1, 239, 240, 241, 7_000, 86_400])
def test_an_overview_is_small_and_covers_everything(store: SeriesStore, count: int) -> None:
    store.put("r", {"tok_s": _window(T0, count)})
    overview = store.overviews(["r", "none"])["r"]["tok_s"]
    assert min(count, OVERVIEW_POINTS - 3) <= len(overview.times) <= OVERVIEW_POINTS
    assert overview.times[0] == T0
    assert min(overview.low) == 0.0
    assert max(overview.high) == min(9.0, count - 1)
    assert store.overviews(["none"]) == {"none": {}}


# --- a session's ----------------------------------------------------------------------------------


def test_a_session_is_exact_while_it_is_young(store: SeriesStore) -> None:
    session = store.begin(host="gpu1", server="s1", at=T0, about={"model": "kimi"})
    for minute in range(10):
        store.append(session.id, {"tok_s": _window(T0 + 60 * minute, 60)})
    store.thin(T0 + 600)
    window = store.window(session.id, "tok_s", T0 + 61, T0 + 65)
    assert list(window.times) == [T0 + second for second in range(61, 66)]
    assert list(window.values) == [1.0, 2.0, 3.0, 4.0, 5.0]
    (kept,) = store.sessions(host="gpu1")
    assert (kept.began, kept.ended, kept.about) == (T0, T0 + 599, {"model": "kimi"})
    assert store.sessions(host="gpu2") == ()


def test_yesterday_is_found_and_tomorrow_is_not(store: SeriesStore) -> None:
    session = store.begin(host="gpu1", server="s1", at=T0, about={})
    store.append(session.id, {"tok_s": _window(T0, 3600)})
    assert [one.id for one in store.sessions(T0 + 100, T0 + 200)] == [session.id]
    assert [one.id for one in store.sessions(T0 - 100, T0)] == [session.id]
    assert store.sessions(T0 + DAY) == ()
    assert store.sessions(end=T0 - 1) == ()


def test_what_is_old_is_thinned_and_keeps_its_extremes(
    database: Database, store: SeriesStore
) -> None:
    session = store.begin(host="gpu1", server="s1", at=T0, about={})
    hours = 5
    for minute in range(60 * hours):
        store.append(session.id, {"verify_ms": _window(T0 + 60 * minute, 60)})
    now = T0 + hours * HOUR
    before = _size(database)
    store.thin(now)
    assert _size(database) < before / 2
    buckets = store.buckets(session.id, "verify_ms")
    edge = now - AGES[0].after
    old = [index for index, time in enumerate(buckets.times) if time < edge]
    assert len(old) == pytest.approx(3 * 3600 / 20, abs=4)
    assert len(buckets.times) - len(old) == pytest.approx(7200, abs=1)
    assert {buckets.low[index] for index in old} == {0.0}
    assert {buckets.high[index] for index in old} == {9.0}
    assert {buckets.mean[index] for index in old} == {4.5}
    assert all(a < b for a, b in pairwise(buckets.times))
    window = store.window(session.id, "verify_ms", T0, T0 + 39)
    assert list(window.times) == [T0, T0, T0 + 20, T0 + 20]
    assert list(window.values) == [0.0, 9.0, 0.0, 9.0]
    # Each minute began after a gap: a bucket with a gap in it says so.
    assert list(window.joined[::2]) == [0, 1]


def test_a_month_of_watching_stays_small(database: Database, store: SeriesStore) -> None:
    """Ten days at a sample each five seconds, thinned each six hours, as a long session is."""
    session = store.begin(host="gpu1", server="s1", at=T0, about={})
    days, rows = 10, []
    for quarter in range(4 * days):
        begin = T0 + quarter * 6 * HOUR
        store.append(session.id, {"tok_s": _window(begin, 4320, 5.0)})
        store.thin(begin + 6 * HOUR)
        rows.append(_rows(database))
    assert max(rows) < 30
    assert max(rows[20:]) <= max(rows[:20]) + 8
    buckets = store.buckets(session.id, "tok_s")
    assert buckets.times[0] == T0
    assert buckets.times[-1] == T0 + days * DAY - 5
    assert len(buckets.times) < 3 * DAY / 20 + days * DAY / 300 + 8640
    assert all(a < b for a, b in pairwise(buckets.times))


def test_what_is_very_old_is_forgotten_but_never_a_runs(
    database: Database, store: SeriesStore
) -> None:
    session = store.begin(host="gpu1", server="s1", at=T0, about={})
    store.append(session.id, {"tok_s": _window(T0, 100)})
    store.put("run", {"tok_s": _window(T0, 100)})
    store.thin(T0 + 99 + KEPT_SECONDS)
    assert len(store.sessions()) == 1
    store.thin(T0 + 100 + KEPT_SECONDS)
    assert store.sessions() == ()
    assert store.names(session.id) == ()
    assert store.window("run", "tok_s") == _window(T0, 100)


def test_a_damaged_column_is_said(database: Database, store: SeriesStore) -> None:
    store.put("run", {"tok_s": _window(T0, 100)})
    with database.write() as connection:
        connection.execute("UPDATE series SET low = ?", (pack_values([1.0]),))
    with pytest.raises(RunsDamaged, match="different lengths"):
        store.window("run", "tok_s")


# --- recording ------------------------------------------------------------------------------------


def _written(recorder: SessionRecorder) -> str:
    assert recorder.session is not None
    return recorder.session.id


def test_a_session_without_a_point_is_none(store: SeriesStore) -> None:
    recorder = SessionRecorder(host="h", server="s", began=T0)
    recorder.add(T0, {"a": None})
    recorder.flush(store, T0 + 30)
    assert store.sessions() == ()


def test_a_recorder_writes_now_and_then(database: Database, store: SeriesStore) -> None:
    recorder = SessionRecorder(host="h", server="s", began=T0)
    due = [second for second in range(60) if recorder.add(T0 + second, {"a": 1.0, "b": None})]
    assert due[0] == FLUSH_SECONDS
    assert _rows(database) == 0
    recorder.flush(store, T0 + 60)
    assert _rows(database) == 1
    assert len(store.window(_written(recorder), "a").times) == 60
    assert not recorder.add(T0 + 61, {"a": 1.0})


def test_gaps_stay_gaps(store: SeriesStore) -> None:
    recorder = SessionRecorder(host="h", server="s", began=T0)
    for second, value in enumerate([1.0, 2.0, None, 3.0, math.nan, math.inf, 4.0, 5.0]):
        recorder.add(T0 + second, {"a": value})
    recorder.add(T0 + 7, {"a": 9.0})  # the same moment again
    recorder.flush(store, T0 + 8)
    window = store.window(_written(recorder), "a")
    assert list(window.values) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(window.joined) == [1, 1, 0, 0, 1]


def test_what_could_not_be_written_is_written_the_next_time(
    database: Database, store: SeriesStore
) -> None:
    recorder = SessionRecorder(host="h", server="s", began=T0)
    recorder.about = {"model": "m"}
    recorder.add(T0, {"a": 1.0})
    database.read_only = True
    with pytest.raises(RunsError):
        recorder.flush(store, T0 + 1)
    assert recorder.session is None
    recorder.add(T0 + 2, {"a": 2.0, "b": 3.0})
    database.read_only = False
    recorder.flush(store, T0 + 3)
    assert store.sessions()[0].about == {"model": "m"}
    assert list(store.window(_written(recorder), "a").values) == [1.0, 2.0]
    assert list(store.window(_written(recorder), "b").values) == [3.0]


_STEPS = st.tuples(st.floats(0.01, 90.0), st.sampled_from([0.0, 0.0, 40.0, 80.0]), st.booleans())


def _worked(points: Buckets) -> float:
    """Tokens over all of it, as far as it is known how long each point was."""
    return math.fsum(m * span for m, span in zip(points.mean, spans(points), strict=True))


@given(st.lists(_STEPS, min_size=1, max_size=200), st.sampled_from([20.0, 300.0]))
def test_buckets_of_a_speed_keep_their_order_and_extremes(
    steps: list[tuple[float, float, bool]], seconds: float
) -> None:
    times = list(accumulate((gap for gap, _, _ in steps), initial=T0))[1:]
    window = Window(times, [value for _, value, _ in steps], [int(on) for _, _, on in steps])
    points = points_of(window)
    found = folded_by_use(points, seconds)
    assert found.times[0] == times[0]
    assert found.times[-1] <= times[-1]
    assert all(a < b for a, b in pairwise(found.times))
    assert len(found.times) <= 3 * len({time // seconds for time in times})
    assert (min(found.low), max(found.high)) == (min(window.values), max(window.values))
    for low, high, mean in zip(found.low, found.high, found.mean, strict=True):
        assert low == high == mean == 0.0 or 40.0 <= low <= mean + 1e-9 <= high + 1e-8


@pytest.mark.parametrize("seconds", [20.0, 300.0])
def test_buckets_of_a_speed_hold_as_many_tokens(seconds: float) -> None:
    values = [0.0 if at % 7 < 3 else 10.0 + at % 5 for at in range(3000)]
    points = points_of(Window([T0 + at for at in range(3000)], values, [1] * 3000))
    assert _worked(folded_by_use(points, seconds)) == pytest.approx(_worked(points), rel=1e-3)
