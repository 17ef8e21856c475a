"""Values of now: the scrape's, else a fresh decode line's; and never one that is old."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from eagletui.model import events as ev
from eagletui.model import latest
from eagletui.model.readings import Rates, Reading
from eagletui.model.server import ServerProcess
from eagletui.model.speculative import Speculative
from eagletui.model.state import MetricsState, ServerState

NOW = 1_768_878_000.0
LINE = ev.DecodeSample(
    at=NOW - 4,
    server="1@1",
    running=4,
    queued=2,
    accept_length=2.5,
    accept_rate=0.5,
    gen_throughput=80.0,
    token_usage=0.4,
    step_ms=31.0,
)
BARE = Rates(seconds=1.0)
FULL = Rates(
    seconds=1.0,
    tok_s=90.0,
    step_ms=25.0,
    accept_length=2.2,
    accept_rate=0.4,
    source="pass counter",
)


def server(
    rates: Rates | None = None, line: ev.DecodeSample | None = LINE, **reading: float
) -> ServerState:
    metrics = MetricsState()
    if rates is not None:
        metrics = MetricsState(at=NOW, reading=Reading(at=NOW, **reading), rates=rates)  # type: ignore[arg-type]
    return ServerState(
        process=ServerProcess(key="1@1"),
        speculative=Speculative(algorithm="EAGLE3", num_steps=3),
        decode=line,
        metrics=metrics,
        ready=True,
    )


def everything(state: ServerState, now: float = NOW) -> tuple[float | None, ...]:
    return (
        latest.accept_length(state, now).value,
        latest.accept_rate(state, now),
        latest.step_ms(state, now).value,
        latest.tok_s(state, now).value,
        latest.running(state, now),
        latest.queued(state, now),
        latest.token_usage(state, now),
    )


def test_a_scrape_speaks_first() -> None:
    state = server(FULL, running=5.0, queued=0.0, token_usage=0.1)
    assert everything(state) == (2.2, 0.4, 25.0, 90.0, 5.0, 0.0, 0.1)
    assert latest.step_ms(state, NOW).source == "pass counter"


def test_a_fresh_line_gives_each_number_that_the_scrape_lacks() -> None:
    state = server(BARE, running=5.0)
    assert everything(state) == (2.5, 0.5, 31.0, 80.0, 5.0, 2.0, 0.4)
    assert latest.step_ms(state, NOW).source == "decode log"
    assert not latest.is_leftover(state, NOW)


def test_an_old_line_gives_nothing_beside_a_scrape() -> None:
    later = NOW - 4 + latest.LINE_FRESH + 0.1
    assert everything(server(BARE, running=5.0), later) == (*[None] * 4, 5.0, None, None)
    assert latest.tok_s(server(BARE, running=5.0), later - 0.2).value == 80.0


def test_a_line_gives_nothing_where_the_scrape_says_that_nothing_runs() -> None:
    assert everything(server(BARE, running=0.0)) == (*[None] * 4, 0.0, None, None)


def test_without_metrics_the_last_line_stays_and_is_called_old() -> None:
    state = server()
    assert everything(state, NOW + 600) == (2.5, 0.5, 31.0, 80.0, 4.0, 2.0, 0.4)
    assert latest.line_age(state, NOW) is None
    assert latest.line_age(state, NOW + 600) == 604
    assert latest.is_leftover(state, NOW + 600)
    assert not latest.is_leftover(state, NOW)


@pytest.mark.parametrize(("step_ms", "fresh"), [(31.0, 10.0), (500.0, 60.0)])
def test_a_slow_server_is_given_time_for_three_of_its_lines(step_ms: float, fresh: float) -> None:
    state = server(line=replace(LINE, step_ms=step_ms))
    assert latest.line_age(state, LINE.at + fresh) is None
    assert latest.line_age(state, LINE.at + fresh + 1) == fresh + 1


def test_the_first_line_after_idle_counts_the_idle_time_and_is_no_speed() -> None:
    state = server(line=replace(LINE, first=True))
    assert (latest.tok_s(state, NOW).value, latest.step_ms(state, NOW).value) == (None, None)
    assert latest.accept_length(state, NOW).value == 2.5


def test_a_stale_gauge_is_a_leftover_unless_a_fresh_line_speaks() -> None:
    stale = replace(FULL, stale=True)
    assert latest.accept_length(server(stale, None, running=0.0), NOW).value is None
    assert latest.is_leftover(server(stale, None, running=0.0), NOW)
    assert latest.accept_length(server(stale, running=4.0), NOW) == (2.5, "decode log")
    assert not latest.is_leftover(server(stale, running=4.0), NOW)
