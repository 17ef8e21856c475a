"""The line a person reads first, for each scene."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.phases import PhaseName, Role
from eagletui.model.state import State, fold, fold_all
from eagletui.tui.verdict import MARKS, verdicts
from tests.tui.scenes import KEY, NOW, SCENES, begun, connected, found, launch


def said(scene: str, remaining: float | None = None) -> list[tuple[str, str, str]]:
    """(level, word, text) of a scene."""
    found = verdicts(fold_all(State(), SCENES[scene]()), NOW, remaining)
    return [(v.level, v.word or MARKS[v.level][1], v.text) for v in found]


def test_loading_says_how_far_and_how_long() -> None:
    assert said("loading", 469.0) == [
        ("busy", "LOADING", "Target weights 19/64; about 8 min left in all.")
    ]
    assert said("loading") == [("busy", "LOADING", "Target weights 19/64.")]


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        (("kv cache", ""), "KV cache."),
        (("kv cache", "draft"), "Draft kv cache."),
        (("weights", "target"), "Target weights."),
    ],
)
def test_a_phase_begins_its_sentence_as_it_is_spelled(
    phase: tuple[PhaseName, Role], text: str
) -> None:
    events = [*connected(), *found(), *launch(NOW - 30), *begun(*phase, NOW)]
    assert verdicts(fold_all(State(), events), NOW, None)[0].text == text


def test_between_two_phases_the_time_left_is_not_that_of_the_one_that_is_done() -> None:
    state = fold_all(State(), [*connected(), *found(), *launch(NOW - 30)])
    assert verdicts(state, NOW, 310.0)[0].text == (
        "Distributed init done; about 5 min left in all."
    )


@pytest.mark.parametrize(
    ("scene", "first"),
    [
        ("serving", ("ok", "SERVING", "Serving 4 requests, accept length 2.09, 83 tok/s.")),
        ("serving_by_log", ("ok", "SERVING", "Serving 4 requests, accept length 2.08, 83 tok/s.")),
        ("idle", ("ok", "IDLE", "Ready and idle: no requests.")),
        (
            "cannot_connect",
            (
                "error",
                "OFFLINE",
                "Cannot connect, next try in 18 s: gpu1.example:22 did not answer within 10 s.",
            ),
        ),
        (
            "link_lost",
            (
                "error",
                "OFFLINE",
                "Connection lost, next try in 11 s: gpu1 has not answered for 30 s."
                " What you see is the last that was known.",
            ),
        ),
        (
            "crashed",
            (
                "fatal",
                "FATAL",
                "The server ran out of GPU memory while capturing CUDA graphs.",
            ),
        ),
    ],
)
def test_the_first_line(scene: str, first: tuple[str, str, str]) -> None:
    assert said(scene)[0] == first


def test_a_server_known_by_its_log_alone_is_not_said_to_serve_when_it_is_quiet() -> None:
    state = fold_all(State(), SCENES["serving_by_log"]())
    texts = {}
    for later in (0, 4, 30, 180, 7200):
        first = verdicts(state, NOW + later)[0]
        texts[later] = (first.word, first.text)
    assert texts[0] == texts[4] == ("SERVING", "Serving 4 requests, accept length 2.08, 83 tok/s.")
    assert texts[30] == ("QUIET", "Ready; last step 34 s ago, by the log.")
    assert texts[180] == ("QUIET", "Ready; last step 3 min ago, by the log.")
    assert texts[7200] == ("QUIET", "Ready; last step 2 h ago, by the log.")


@pytest.mark.parametrize(("running", "said"), [(0.0, "Serving, "), (2.0, "Serving 2 requests, ")])
def test_no_request_is_counted_that_the_gauge_does_not_count(running: float, said: str) -> None:
    state = fold_all(State(), SCENES["serving"]())
    server = state.servers[state.selected]
    reading = server.metrics.reading
    assert reading is not None
    metrics = replace(server.metrics, reading=replace(reading, running=running))
    state = replace(state, servers={state.selected: replace(server, metrics=metrics)})
    assert verdicts(state, NOW)[0].text.startswith(said)


@pytest.mark.parametrize(
    ("running", "said"),
    [(0.0, "Serving, accept length 2.09."),
     (2.0, "Serving 2 requests, accept length 2.09, no tokens now.")],
)  # fmt: skip
def test_a_speed_of_nothing_is_no_figure(running: float, said: str) -> None:
    state = fold_all(State(), SCENES["serving"]())
    server = state.servers[state.selected]
    reading, rates = server.metrics.reading, server.metrics.rates
    assert reading is not None
    assert rates is not None
    metrics = replace(
        server.metrics,
        reading=replace(reading, running=running),
        rates=replace(rates, tok_s=0.0),
    )
    state = replace(state, servers={state.selected: replace(server, metrics=metrics)})
    assert verdicts(state, NOW)[0].text == said


def test_a_stall_comes_before_the_progress() -> None:
    levels = [level for level, _, _ in said("stalled")]
    assert levels == ["warning", "busy"]


def test_a_crash_is_not_said_twice() -> None:
    assert len(said("crashed")) == 1


def test_a_process_that_is_gone_without_a_reason() -> None:
    state = fold_all(State(), SCENES["serving"]())
    state = fold(state, ev.ServerGone(at=NOW - 12, server=KEY))
    first = verdicts(state, NOW)[0]
    assert (first.level, first.word) == ("fatal", "GONE")
    assert first.text == "The server's process is gone since 12 s."


def test_metrics_that_stopped_are_said() -> None:
    state = fold_all(State(), SCENES["serving"]())
    failed = ev.ScrapeFailed(at=NOW, server=KEY, problem="timeout", advice="It may be busy.")
    found = verdicts(fold(state, failed), NOW)
    assert (found[0].level, found[0].text) == ("warning", "No metrics: timeout.")


def test_nothing_is_said_before_anything_is_known() -> None:
    assert verdicts(State(), NOW) == ()


def ended(title: str = "The server was stopped by SIGTERM") -> ev.Diagnosed:
    """The log says that somebody stopped the server."""
    stop = Diagnosis(code="terminated", severity="info", title=title, evidence="SIGTERM received")
    return ev.Diagnosed(at=NOW - 2, server=KEY, diagnosis=stop, ended=True)


@pytest.mark.parametrize("scene", sorted(SCENES))
@pytest.mark.parametrize(
    "last",
    [
        [],
        [ended()],
        [ended(), ev.ServerGone(at=NOW, server=KEY)],
        [ev.ServerGone(at=NOW, server=KEY)],
        [ev.ServersFound(at=NOW, servers=())],
        [ev.LinkChanged(at=NOW, link="lost"), ended()],
    ],
)
def test_a_watched_server_always_has_a_verdict(scene: str, last: list[ev.Event]) -> None:
    events = [*SCENES[scene](), ev.ServerSelected(at=NOW, server=KEY), *last]
    assert verdicts(fold_all(State(), events), NOW)


def test_a_stop_on_purpose_is_said_first_and_is_no_failure() -> None:
    state = fold_all(State(), [*SCENES["serving_by_log"](), ended()])
    first = verdicts(state, NOW)[0]
    assert (first.level, first.word) == ("info", "STOPPED")
    assert first.text == "The server was stopped by SIGTERM."
    gone = verdicts(fold(state, ev.ServerGone(at=NOW, server=KEY)), NOW)[0]
    assert gone.text == first.text


def test_an_error_that_stops_tokens_and_serving_are_not_said_together() -> None:
    alert = Diagnosis(code="deadlocked", severity="error", title="Deadlocked.")
    state = fold_all(State(), SCENES["serving"]())
    stuck = fold(state, ev.Alerted(at=NOW, server=KEY, alerts=(alert,)))
    assert [v.text for v in verdicts(stuck, NOW)] == ["Deadlocked."]
    crash = Diagnosis(code="scheduler-crashed", severity="fatal", title="Crashed.")
    crashed = fold(state, ev.Diagnosed(at=NOW, server=KEY, diagnosis=crash))
    assert [v.word for v in verdicts(crashed, NOW)] == ["", "SERVING"], "tokens still move"
    assert [v.text for v in verdicts(crashed, NOW + 5)] == ["Crashed."]


def test_what_is_not_read_yet_is_not_called_a_start() -> None:
    events = list(SCENES["several"]())
    texts = {}
    for key in ("5151@1200", "6161@1300"):
        state = fold_all(State(), [*events, ev.ServerSelected(at=NOW, server=key)])
        first = verdicts(state, NOW)[0]
        texts[key] = (first.word, first.text)
    assert texts == {
        "5151@1200": ("RUNNING", "Reading its log."),
        "6161@1300": ("RUNNING", "Its log cannot be read; waiting for an answer."),
    }
    read = ev.LogText(at=NOW, server="5151@1200", start=0, data=b"x\n", live=True)
    chosen = ev.ServerSelected(at=NOW, server="5151@1200")
    state = fold_all(State(), [*events, chosen, read])
    said = "Starting for 1 min 30 s; the log has not named a phase yet."
    assert verdicts(state, NOW)[0].text == said


@pytest.mark.parametrize(("asked", "said"), [(-1.0, False), (1.0, True)])
def test_a_port_that_was_asked_before_it_could_answer_is_no_warning(
    asked: float, said: bool
) -> None:
    began = ev.LaunchBegan(at=NOW - 60, server=KEY, stamp=0.0, ladder=(("ready", ""),))
    failed = ev.ScrapeFailed(
        at=NOW + asked, server=KEY, problem="refused", detail="Nothing listens on the port yet."
    )
    ready = ev.ServerReady(at=NOW, server=KEY, stamp=60.0)
    order: list[ev.Event] = [failed, ready] if asked < 0 else [ready, failed]
    chosen = ev.ServerSelected(at=NOW - 60, server=KEY)
    state = fold_all(State(), [*connected(), chosen, began, *order])
    warned = [v.text for v in verdicts(state, NOW + 2) if v.level == "warning"]
    assert warned == (["No metrics: Nothing listens on the port yet."] if said else [])
