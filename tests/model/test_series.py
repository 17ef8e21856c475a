from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.history import History
from eagletui.model.readings import Rates, Reading
from eagletui.model.series import Series

S = ":30000"


def test_a_window_holds_its_borders_and_nothing_else() -> None:
    series = Series()
    for second in range(10):
        series.add(float(second), second * 2.0)
    window = series.window(3.0, 5.0)
    assert list(window.times) == [3.0, 4.0, 5.0]
    assert list(window.values) == [6.0, 8.0, 10.0]


def test_a_gap_is_not_joined_and_no_number_is_invented() -> None:
    series = Series()
    series.add(0.0, 1.0)
    series.add(1.0, math.nan)
    series.add(2.0, 3.0)
    series.add(3.0, 4.0)
    window = series.window(0.0, 9.0)
    assert list(window.values) == [1.0, 3.0, 4.0]
    assert list(window.joined) == [False, False, True]


def test_a_clock_that_goes_back_adds_nothing() -> None:
    series = Series()
    series.add(5.0, 1.0)
    series.add(4.0, 9.0)
    assert list(series) == [(5.0, 1.0)]


def test_old_points_are_thinned_but_their_extremes_stay() -> None:
    series = Series(fine=100, coarse=50, fold_by=10)
    for second in range(2000):
        series.add(float(second), 1000.0 if second == 1500 else float(second % 7))
    assert len(series) <= 100 + 16 * 10 + 2 * 50
    assert max(series.window(0, 2000).values) == 1000.0
    newest = series.window(1900.0, 1999.0)
    assert list(newest.times) == [float(s) for s in range(1900, 2000)]


@given(st.lists(st.floats(), max_size=300), st.integers(1, 40))
def test_bounded_and_ordered_for_any_values(values: list[float], fold_by: int) -> None:
    series = Series(fine=20, coarse=5, fold_by=fold_by)
    for second, value in enumerate(values):
        series.add(float(second), value)
    times = [time for time, _ in series]
    assert times == sorted(times)
    assert len(series) <= 20 + 16 * fold_by + 2 * 5
    assert all(math.isfinite(value) for _, value in series)


def scraped(at: float, **rates: object) -> ev.Scraped:
    return ev.Scraped(
        at=at,
        server=S,
        reading=Reading(at=at, running=1.0),
        rates=Rates(**rates),  # type: ignore[arg-type]
    )


def test_a_stale_accept_length_is_not_drawn() -> None:
    history = History()
    history.add(scraped(1.0, accept_length=2.3))
    history.add(scraped(2.0, accept_length=2.3, stale=True))
    history.add(scraped(3.0, accept_length=2.1))
    window = history.server(S).get("accept_length").window(0, 9)
    assert list(window.times) == [1.0, 3.0]
    assert list(window.joined) == [False, False]


def test_decode_lines_speak_only_where_scrapes_do_not() -> None:
    history = History()
    sample = ev.DecodeSample(at=1.0, server=S, accept_length=2.0, gen_throughput=90.0)
    history.add(sample)
    history.add(scraped(2.0, tok_s=100.0))
    history.add(ev.DecodeSample(at=3.0, server=S, gen_throughput=55.0))
    assert list(history.server(S).get("tok_s")) == [(1.0, 90.0), (2.0, 100.0)]


def decoded(at: float, **fields: float) -> ev.DecodeSample:
    return ev.DecodeSample(at=at, server=S, **fields)  # type: ignore[arg-type]


def test_decode_lines_speak_for_what_fresh_scrapes_do_not_know() -> None:
    """With metrics off `/v1/loads` gives running and tok/s, and no accept length."""
    history = History()
    for second in range(10):
        history.add(scraped(float(second), tok_s=100.0))
        history.add(
            decoded(second + 0.5, accept_length=2.0 + second, step_ms=7.0, gen_throughput=55.0)
        )
    server = history.server(S)
    lengths = server.get("accept_length").window(0, 99)
    assert list(lengths.values) == [2.0 + second for second in range(10)]
    assert list(lengths.joined) == [0] + [1] * 9
    assert len(server.get("step_ms")) == 10
    assert {value for _, value in server.get("tok_s")} == {100.0}
    assert {value for _, value in server.get("running")} == {1.0}


def test_sources_of_one_series_are_neither_mixed_nor_joined() -> None:
    history = History()
    for second in (0.0, 20.0, 40.0):
        history.add(scraped(second, step_ms=5.0))
    history.add(scraped(60.0))
    history.add(decoded(61.0, step_ms=9.0))  # 21 s after a scrape's, which come every 20 s
    history.add(decoded(80.1, step_ms=8.0))
    history.add(decoded(80.2, step_ms=8.5))
    history.add(scraped(81.0, step_ms=6.0))
    window = history.server(S).get("step_ms").window(0, 99)
    assert list(window.values) == [5.0, 5.0, 5.0, 8.0, 8.5, 6.0]
    assert list(window.joined) == [0, 1, 1, 0, 1, 0]


def test_the_first_decode_line_after_idle_has_no_honest_throughput() -> None:
    history = History()
    history.add(
        ev.DecodeSample(at=1.0, server=S, accept_length=2.0, gen_throughput=0.39, first=True)
    )
    assert list(history.server(S).get("tok_s")) == []
    assert list(history.server(S).get("accept_length")) == [(1.0, 2.0)]


def test_markers_say_what_happened_once() -> None:
    history = History()
    alert = Diagnosis(code="deadlocked", severity="error", title="Deadlocked")
    history.add(scraped(1.0))
    history.add(ev.Alerted(at=2.0, server=S, alerts=(alert,)))
    history.add(ev.Alerted(at=3.0, server=S, alerts=(alert,)))
    history.add(scraped(4.0, reset=True))
    history.add(ev.LinkChanged(at=5.0, link="lost"))
    kinds = [(marker.at, marker.kind) for marker in history.server(S).markers]
    assert kinds == [(2.0, "alert"), (4.0, "restart"), (5.0, "lost")]
