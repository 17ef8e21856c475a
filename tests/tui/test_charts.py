"""Which series the charts draw, what they are called, and when they are built."""

from __future__ import annotations

from eagletui.model.history import History
from eagletui.model.state import ServerState, State, fold_all
from eagletui.tui.config import Settings
from eagletui.tui.view import View
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
from tests.tui.scenes import KEY, NOW, SCENES, scrape


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


def test_the_span_of_all_begins_with_the_first_point() -> None:
    server, history = load("serving")
    state = fold_all(State(), SCENES["serving"]())
    view = View(state, history, {}, NOW, Settings(), window="all")
    assert view.span == (NOW - 600, NOW)
    assert view._replace(window="15m").span == (NOW - 900, NOW)
    assert server.ready
