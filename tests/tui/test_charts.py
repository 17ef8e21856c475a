"""Which series the charts draw, what they are called, and when they are built."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.geometry import Size

from eagletui.model import events as ev
from eagletui.model.history import History
from eagletui.model.state import ServerState, State, fold, fold_all
from eagletui.tui.config import Settings
from eagletui.tui.session import Session
from eagletui.tui.verdict import verdicts
from eagletui.tui.view import View
from eagletui.tui.widgets.chart import Chart
from eagletui.tui.widgets.charts import (
    ACCEPT,
    STEP,
    VERIFY,
    ChartClock,
    lines_of,
    note_of,
    specs,
    title_of,
)
from eagletui.tui.widgets.numbers import Numbers, number_rows
from tests.tui.driving import Clock, inject, make_app, settle
from tests.tui.scenes import KEY, NOW, SCENES, ready, scrape


def load(scene: str) -> tuple[ServerState, History]:
    """State and series of a scene."""
    events = SCENES[scene]()
    history = History()
    history.add_all(events)
    server = fold_all(State(), events).server
    assert server is not None
    return server, history


def test_verify_is_called_verify_only_with_a_device_timer() -> None:
    server, history = load("serving")
    spec = specs(server)[1]
    assert spec is VERIFY
    lines = lines_of(spec, history.server(KEY), NOW - 300, NOW)
    assert [(line.name, line.role) for line in lines] == [
        ("verify", "stack"),
        ("draft", "stack"),
        ("draft extend", "stack"),
    ]
    assert title_of(spec, server) == "verify latency"


def test_a_derived_number_is_a_step_and_names_its_source() -> None:
    server, history = load("serving_by_log")
    spec = specs(server)[1]
    assert spec is STEP
    assert title_of(spec, server) == "step (decode log)"
    assert [line.name for line in lines_of(spec, history.server(KEY), NOW - 300, NOW)] == ["step"]
    assert note_of(spec, server) == "wall time a step"


def test_k_is_a_step_line_that_holds_from_before_the_window() -> None:
    server, history = load("adaptive")
    accept, k = lines_of(ACCEPT, history.server(KEY), NOW - 60, NOW)
    assert accept.name == "accept length"
    assert min(accept.window.times) >= NOW - 60
    assert (k.name, k.role) == ("k", "step")
    assert k.window.times[0] < NOW - 60
    assert {round(value) for value in k.window.values} == {1, 2, 3}
    assert server.speculative.num_steps == 2


def test_an_idle_server_draws_no_leftover() -> None:
    server, history = load("idle")
    accept, k = lines_of(ACCEPT, history.server(KEY), NOW - 150, NOW)
    assert list(accept.window.values) == []
    assert (k.name, k.window.values[-1]) == ("k", 3.0)
    assert note_of(ACCEPT, server) == "idle: nothing new is accepted"


def test_charts_are_built_on_new_samples_and_twice_a_second_at_most() -> None:
    events = list(SCENES["serving"]())
    history = History()
    history.add_all(events)
    state = fold_all(State(), events)
    view = View(state, history, {}, NOW, Settings())
    clock = ChartClock()
    assert clock.due(view, 10.0)
    assert not clock.due(view, 20.0), "nothing new"
    history.add(scrape(NOW + 1, 600))
    assert not clock.due(view, 10.4), "too soon"
    assert clock.due(view, 10.5)
    assert clock.due(view._replace(window="1m"), 10.6), "a wish is served at once"
    paused = view._replace(window="1m", paused_at=NOW)
    assert clock.due(paused, 10.7)
    assert clock.due(paused._replace(paused_at=NOW - 15), 10.8)


def test_numbers_that_grow_old_are_built_again_once() -> None:
    state = fold_all(State(), SCENES["serving"]())
    history = History()
    history.add_all(SCENES["serving"]())
    view = View(state, history, {}, NOW, Settings())
    clock = ChartClock()
    assert clock.due(view, 10.0)
    for now, due in ((NOW + 4, False), (NOW + 9, True), (NOW + 19, False)):
        assert clock.due(view._replace(now=now), now - NOW + 10.0) is due
    gone = fold(state, ev.ServerGone(at=NOW, server=KEY))
    view = view._replace(state=gone, now=NOW)
    assert clock.due(view._replace(state=state), 40.0)
    assert clock.due(view, 40.1), "a server that is gone makes its numbers old at once"


async def test_the_last_values_of_a_server_that_is_gone_are_called_stale() -> None:
    app = make_app(SCENES["serving"](), clock=Clock(NOW))
    async with app.run_test(size=(120, 35)) as pilot:
        await settle(pilot)
        charts = list(app.screen.query(Chart))
        assert all("stale" not in text_of(chart) for chart in charts)
        await inject(app, pilot, ev.ServerGone(at=NOW, server=KEY))
        assert all("stale" in text_of(chart) for chart in charts)


def text_of(chart: Chart) -> str:
    """What a chart says in its rows and its border."""
    rows = "".join(text for row in chart._rows for text, _ in row)
    return f"{rows} {chart.border_subtitle}"


def test_the_span_of_all_holds_the_first_point_and_grows_in_steps() -> None:
    server, history = load("serving")
    state = fold_all(State(), SCENES["serving"]())
    view = View(state, history, {}, NOW, Settings(), window="all")
    assert view.span == (NOW - 608, NOW)
    later = [view._replace(now=NOW + second).span for second in range(600)]
    lengths = {end - begin for begin, end in later}
    assert lengths == {608, *range(640, 1025, 32), *range(1088, 1217, 64)}
    assert all(begin <= NOW - 600 for begin, _ in later)
    assert view._replace(window="15m").span == (NOW - 900, NOW)
    assert server.ready


def last_scrape(**rates: object) -> ev.Scraped:
    """A scrape at `NOW` with these rates."""
    event = scrape(NOW, 600)
    return replace(event, rates=replace(event.rates, **rates))


UNTIMED = {"verify_ms": None, "draft_ms": None, "draft_extend_ms": None}


@pytest.mark.parametrize("source", ["none", "pass counter"])
def test_an_idle_server_keeps_its_verify_chart(source: str) -> None:
    history = History()
    events = [*SCENES["serving"](), last_scrape(source=source, step_ms=None, **UNTIMED)]
    history.add_all(events)
    server = fold_all(State(), events).server
    assert server is not None
    series = history.server(KEY)
    spec = specs(server, series, NOW - 300)[1]
    assert (spec, title_of(spec, server)) == (VERIFY, "verify latency")
    assert len(lines_of(spec, series, NOW - 300, NOW)) == 3
    assert specs(server, series, NOW + 1)[1] is STEP, "it left the window"
    assert server.metrics.reading is not None
    reading = replace(server.metrics.reading, verify_seconds_total=12.0)
    timed = replace(server, metrics=replace(server.metrics, reading=reading))
    assert specs(timed, series, NOW + 1)[1] is VERIFY


def test_requests_that_run_are_never_called_idle() -> None:
    server = fold_all(State(), [*SCENES["serving"](), last_scrape(stale=True)]).server
    assert server is not None
    assert note_of(ACCEPT, server) == "the gauge is stale"
    row = next(row for row in number_rows(server, NOW) if row.label == "accept length")
    assert (row.value, row.note) == ("–", "stale")


def test_a_fresh_decode_line_gives_what_the_scrape_lacks() -> None:
    decode = ev.DecodeSample(
        at=NOW - 3, server=KEY, running=4, accept_length=2.5, step_ms=31.0, gen_throughput=80.0
    )
    lacking = last_scrape(accept_length=None, step_ms=None, source="none", **UNTIMED)
    session = Session()
    session.take([*ready(), decode, lacking])
    server = session.state.server
    assert server is not None
    rows = {row.label: (row.value, row.note) for row in number_rows(server, NOW)}
    assert rows["accept length"] == ("2.50", "decode log")
    assert rows["step"] == ("31.0 ms", "wall, decode log")
    assert title_of(specs(server)[1], server) == "step (decode log)"
    assert "accept length 2.50" in verdicts(session.state, NOW)[0].text
    old = {row.label: row.value for row in number_rows(server, NOW + 30)}
    assert (old["accept length"], old["step"]) == ("–", "–")


@pytest.mark.parametrize("scene", ["serving", "serving_by_log"])
def test_numbers_of_a_server_that_is_gone_are_old(scene: str) -> None:
    events = [*SCENES[scene](), ev.ServerGone(at=NOW, server=KEY)]
    state, history = fold_all(State(), events), History()
    view = View(state, history, {}, NOW, Settings())
    for height in (1, 12):
        text = Numbers().draw(view, Size(60, height)).plain
        assert text.startswith("‖ old: server gone, last "), text
