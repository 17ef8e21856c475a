# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from eagletui.engine.conditions import FIRST_STALL, stall_limit
from eagletui.engine.verdicts import RULES, Watch, live_verdicts
from eagletui.engine.watch import Finding
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.events import DecodeSample, LinkChanged, ScrapeFailed
from eagletui.model.phases import PhaseExperience, Rung
from eagletui.model.readings import Rates, Reading
from eagletui.model.server import Gpu, LogPlace, ServerProcess
from eagletui.model.speculative import Speculative
from eagletui.model.state import LogState, MetricsState, ServerState, State

FILE = LogPlace(kind="file", target="/srv/s.log")
SPINNING = (Gpu(index=0, utilization=100.0, power=140.0, power_limit=600.0),)
WORKING = (Gpu(index=0, utilization=100.0, power=500.0, power_limit=600.0),)
RESTING = (Gpu(index=0, utilization=0.0, power=80.0, power_limit=600.0),)


def make(**changes: Any) -> ServerState:
    server = ServerState(
        process=ServerProcess(key=":1", pid=7, started_at=0.0, metrics_enabled=True),
        ready=True,
        speculative=Speculative(algorithm="EAGLE3", num_steps=3),
        log=LogState(place=FILE, received=10, last_at=0.0, live=True),
    )
    return replace(server, **changes)


def scraped(at: float, *, took: float = 0.0, **fields: Any) -> MetricsState:
    reading_names, rates_names = Reading.__struct_fields__, Rates.__struct_fields__
    reading = Reading(at=at, samples=9, **{k: v for k, v in fields.items() if k in reading_names})
    rates = Rates(**{k: v for k, v in fields.items() if k in rates_names})
    return MetricsState(at=at, reading=reading, rates=rates, took=took)


def failed(problem: Any, failures: int = 3) -> MetricsState:
    words = ScrapeFailed(at=0.0, server=":1", problem=problem, detail="it said so")
    return MetricsState(problem=words, failures=failures)


def judge(
    watch: Watch,
    server: ServerState,
    now: float,
    gpus: tuple[Gpu, ...] = (),
    link: str = "connected",
) -> tuple[Diagnosis, ...]:
    state = State(
        link=LinkChanged(at=0.0, link=link),  # type: ignore[arg-type]
        gpus=gpus,
        gpus_at=now,
    )
    return live_verdicts(server, state, now, watch)


def codes(found: tuple[Diagnosis, ...]) -> list[str]:
    return [diagnosis.code for diagnosis in found]


def over_time(
    server: Any, begin: int, end: int, gpus: tuple[Gpu, ...] = ()
) -> dict[str, tuple[float, Diagnosis]]:
    """When each verdict was first said, judged every second."""
    watch = Watch()
    first: dict[str, tuple[float, Diagnosis]] = {}
    for now in range(begin, end):
        for diagnosis in judge(watch, server(float(now)), float(now), gpus):
            first.setdefault(diagnosis.code, (float(now), diagnosis))
    return first


def test_a_healthy_server_gets_no_verdict() -> None:
    def healthy(now: float) -> ServerState:
        return make(
            metrics=scraped(
                now, running=2.0, queued=0.0, accept_length=2.3, progress=True, tok_s=300.0
            ),
            progress_at=now,
            log=LogState(place=FILE, received=10, last_at=now, live=True),
        )

    assert over_time(healthy, 0, 400, WORKING) == {}


def test_deadlocked_after_thirty_seconds_of_spinning_at_idle_power() -> None:
    def server(now: float) -> ServerState:
        return make(metrics=scraped(now, running=3.0), progress_at=100.0)

    found = over_time(server, 100, 200, SPINNING)
    when, diagnosis = found["deadlocked"]
    assert when == 135.0
    assert diagnosis.severity == "error"
    assert diagnosis.evidence == "3 running, no token for 35 s; GPUs at 100 % and 140 W of 600 W"
    assert "hung" not in found
    assert "deadlocked" not in over_time(server, 100, 200, WORKING)
    hung, diagnosis = over_time(server, 100, 200, RESTING)["hung"]
    assert hung == 165.0
    assert "no token for 65 s" in diagnosis.evidence


@pytest.mark.parametrize("gpus", [SPINNING, RESTING, ()])
def test_a_page_that_counts_no_requests_makes_no_hang_of_the_last_decode_line(
    gpus: tuple[Gpu, ...],
) -> None:
    last = DecodeSample(at=0.0, server=":1", running=1)

    def server(now: float) -> ServerState:
        return make(metrics=scraped(now, running=None), decode=last, progress_at=0.0)

    assert {"hung", "deadlocked"} & over_time(server, 0, 300, gpus).keys() == set()


def test_no_deadlock_without_requests_or_with_progress() -> None:
    assert "deadlocked" not in over_time(
        lambda now: make(metrics=scraped(now, running=0.0), progress_at=0.0), 0, 100, SPINNING
    )
    assert "deadlocked" not in over_time(
        lambda now: make(metrics=scraped(now, running=3.0), progress_at=now - 2), 0, 100, SPINNING
    )


def loading(**changes: Any) -> ServerState:
    rung = Rung(
        name="weights", role="target", status="running", begun=0.0, done=163, total=163, moved_at=0.0,
        ranks={" TP0": True, " TP1": False},
    )  # fmt: skip
    return make(ready=False, ladder=(rung,), **changes)


def test_stalled_never_sooner_than_it_ever_took() -> None:
    known = loading(experience={"weights/target": PhaseExperience(typical=200.0, longest=300.0)})
    when, diagnosis = over_time(lambda _: known, 0, 400)["stalled"]
    assert when == 306.0
    assert diagnosis.title == "Stalled in target weights: nothing moves for longer than it may."
    assert diagnosis.evidence.startswith("nothing moved for 306 s at 163/163; the longest launch")
    assert "waiting for TP1" in diagnosis.evidence


def test_what_stood_still_before_we_came_is_stalled_once_it_stood_still_before_our_eyes() -> None:
    known = loading(experience={"weights/target": PhaseExperience(typical=200.0, longest=300.0)})
    came = replace(known, log=replace(known.log, read_at=1000.0))
    when, diagnosis = over_time(lambda _: came, 1000, 1400)["stalled"]
    assert when == 1306.0
    assert diagnosis.evidence.startswith("nothing moved for 306 s")
    late = replace(came.ladder[0], moved_at=1100.0)
    moved = replace(came, ladder=(late,))
    assert over_time(lambda _: moved, 1000, 1500)["stalled"][0] == 1406.0


def test_stalled_is_generous_without_experience() -> None:
    watch = Watch()
    limit = FIRST_STALL["weights"]
    assert limit >= 1800.0
    assert codes(judge(watch, loading(), limit)) == []
    assert codes(judge(watch, loading(), limit + 1)) == []
    assert codes(judge(watch, loading(), limit + 7)) == ["stalled"]
    moved = replace(loading().ladder[0], moved_at=limit + 8)
    assert codes(judge(watch, replace(loading(), ladder=(moved,)), limit + 8)) == []


def test_silence_between_two_phases_is_judged_generously() -> None:
    done = Rung(name="arguments", status="done", moved_at=0.0)
    server = make(
        ready=False,
        ladder=(done, Rung(name="distributed init")),
        experience={"arguments": PhaseExperience(typical=1.0, longest=1.0)},
    )
    when, diagnosis = over_time(lambda _: server, 0, 700)["stalled"]
    assert when == FIRST_STALL["arguments"] + 6.0
    assert (
        diagnosis.title
        == "Stalled in what follows arguments: nothing moves for longer than it may."
    )


def test_a_short_phase_may_still_rest_a_minute() -> None:
    server = make(experience={"kv cache": PhaseExperience(typical=0.5, longest=0.7)})
    assert stall_limit(server, Rung(name="kv cache")) == 60.0


def test_nothing_stalls_while_we_are_not_looking() -> None:
    watch = Watch()
    for now in (5000.0, 5006.0, 5012.0):
        assert judge(watch, loading(), now, link="lost") == ()
    unread = replace(loading(), log=LogState(place=FILE, live=False, received=1))
    for now in (5013.0, 5019.0):
        assert judge(watch, unread, now) == ()
    assert judge(watch, loading(), 5020.0) == ()


def test_a_useless_draft_is_named_after_many_steps() -> None:
    def server(now: float) -> ServerState:
        return make(
            metrics=scraped(
                now, running=1.0, accept_length=1.02, passes_total=50.0 * now, progress=True
            ),
            progress_at=now,
        )

    when, diagnosis = over_time(server, 0, 30)["accept-length-one"]
    assert when == 6.0
    assert diagnosis.evidence == "accept length 1.02 over 300 verify steps in a row"


def test_a_few_bad_steps_are_no_verdict_and_a_good_one_ends_it() -> None:
    watch = Watch()

    def server(now: float, length: float, **rates: Any) -> ServerState:
        return make(
            metrics=scraped(now, running=1.0, passes_total=100 * now, accept_length=length, progress=True, **rates),
            progress_at=now,
        )  # fmt: skip

    for now in range(1, 4):
        assert codes(judge(watch, server(now, 1.0), now)) == []
    judge(watch, server(4, 1.5), 4)
    for now in range(5, 8):
        assert codes(judge(watch, server(now, 1.0, stale=True), now)) == []
    assert codes(judge(watch, server(8, 1.0), 8)) == []
    assert codes(judge(watch, server(11, 1.0), 11)) == ["accept-length-one"]
    assert codes(judge(watch, server(12, 1.08), 12)) == ["accept-length-one"]
    judge(watch, server(13, 2.0), 13)
    assert codes(judge(watch, server(30, 2.0), 30)) == []


def test_what_the_log_diagnosed_is_not_said_twice() -> None:
    known = Diagnosis(code="accept-length-one", severity="warning", title="x")
    found = over_time(
        lambda now: make(
            metrics=scraped(
                now, running=1.0, accept_length=1.0, passes_total=100 * now, progress=True
            ),
            progress_at=now,
            diagnoses=(known,),
        ),
        0,
        30,
    )
    assert found == {}


def test_a_refusal_counts_once_it_lasts_on_a_server_that_was_ready() -> None:
    when, _ = over_time(lambda _: make(metrics=failed("refused")), 100, 140)["not-answering"]
    assert when == 115.0
    for quiet in (make(ready=False), make(gone_at=100.0)):
        found = over_time(lambda _, s=quiet: replace(s, metrics=failed("refused")), 100, 140)
        assert "not-answering" not in found


@pytest.mark.parametrize("severity", ["fatal", "error"])
def test_what_the_log_names_is_said_before_the_end_that_it_caused(severity: Any) -> None:
    cause = Diagnosis(code="port-in-use", severity=severity, title="The port is in use.")
    server = make(gone_at=5.0, ready=False, diagnoses=(cause,))
    (gone,) = judge(Watch(), server, 6.0)
    assert (gone.code, gone.severity) == ("gone", "warning")
    assert gone.evidence == (
        "process 7 is not there any more; the log says before: The port is in use."
    )
    assert [d.code for d in replace(server, alerts=(gone,)).verdicts] == ["port-in-use", "gone"]
    mild = make(gone_at=5.0, diagnoses=(replace(cause, severity="warning"),))
    (gone,) = judge(Watch(), mild, 6.0)
    assert gone.severity == "fatal"
    assert gone.evidence.endswith("the log names no end")


@pytest.mark.parametrize(
    ("server", "code"),
    [
        (make(gone_at=5.0), "gone"),
        (make(metrics=failed("not found")), "metrics-off"),
        (make(metrics=failed("unauthorised")), "key-refused"),
        (make(metrics=failed("timeout")), "not-answering"),
        (make(metrics=failed("refused")), "not-answering"),
        (make(process=ServerProcess(key=":1", metrics_enabled=False)), "metrics-off"),
        (
            make(
                log=LogState(place=FILE, live=True), process=ServerProcess(key=":1", started_at=0.0)
            ),
            "log-silent",
        ),
    ],
)
def test_states_that_last(server: ServerState, code: str) -> None:
    found = over_time(lambda _: server, 100, 140)
    assert list(found) == [code]
    diagnosis = found[code][1]
    assert diagnosis.evidence
    assert diagnosis.advice


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"running": 32.0, "queued": 8.0, "token_usage": 0.99}, "kv-full"),
        ({"running": 1.0, "retracted": 2.0}, "retracting"),
        ({"running": 1.0, "took": 1.5}, "slow-scrape"),
        ({"running": 0.0, "queued": 0.0}, "idle"),
    ],
)
def test_readings_that_last(fields: dict[str, Any], code: str) -> None:
    progress = {} if code == "idle" else {"progress": True}
    found = over_time(
        lambda now: make(metrics=scraped(now, **fields, **progress), progress_at=now), 100, 170
    )
    assert list(found) == [code]


def test_a_log_that_stays_silent_while_tokens_move() -> None:
    found = over_time(
        lambda now: make(
            metrics=scraped(now, running=1.0, progress=True, tok_s=90.0), progress_at=now
        ),
        100,
        300,
    )
    assert found["log-silent"][0] == 191.0


def test_an_ended_launch_is_not_called_gone() -> None:
    assert over_time(lambda _: make(gone_at=5.0, ended=True, ready=False), 0, 9) == {}


def test_hysteresis() -> None:
    watch = Watch()
    finding = Finding("x")

    def held(now: float, on: bool) -> bool:
        return watch.held("s", "c", finding if on else None, now, 10.0, 5.0) is not None

    assert not held(0, True)
    assert not held(9, True)
    assert held(10, True)
    assert held(13, False), "a short break changes nothing"
    assert not held(15, False)
    assert not held(16, True)
    assert not held(19, False)
    assert not held(30, True), "a long break began it anew"
    watch.forget("s")
    assert not held(41, True)


def test_every_rule_says_what_to_do() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert all(rule.advice and rule.title.endswith(".") for rule in RULES)
