from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.phases import PhaseName, Role
from eagletui.model.readings import Rates, Reading
from eagletui.model.server import LogPlace, ServerProcess
from eagletui.model.speculative import Speculative, accept_rate
from eagletui.model.state import State, fold, fold_all

S = ":30000"
FILE = LogPlace(kind="file", target="/srv/a.log")
LADDER: tuple[tuple[PhaseName, Role], ...] = (
    ("weights", "target"),
    ("weights", "draft"),
    ("ready", ""),
)


def found(*processes: ServerProcess, at: float = 0.0) -> ev.ServersFound:
    return ev.ServersFound(at=at, servers=processes)


def launch(**more: Any) -> ev.LaunchBegan:
    return ev.LaunchBegan(at=10.0, server=S, stamp=100.0, ladder=LADDER, **more)


def test_a_rung_counts_its_shards_and_is_done_only_when_its_end_line_comes() -> None:
    state = fold_all(
        State(),
        [
            launch(),
            ev.PhaseBegan(at=11.0, server=S, name="weights", role="target", stamp=101.0),
            ev.PhaseMoved(at=15.0, server=S, name="weights", role="target", done=59, total=59),
        ],
    )
    rung = state.servers[S].ladder[0]
    assert (rung.status, rung.done, rung.total, rung.fraction) == ("running", 59, 59, 1.0)
    state = fold(
        state, ev.PhaseEnded(at=16.0, server=S, name="weights", role="target", stamp=106.0)
    )
    rung = state.servers[S].ladder[0]
    assert (rung.status, rung.seconds) == ("done", 5.0)


def test_the_servers_own_duration_wins_over_stamps_of_a_second() -> None:
    state = fold_all(
        State(),
        [
            launch(),
            ev.PhaseBegan(at=1.0, server=S, name="weights", role="target", stamp=100.0),
            ev.PhaseEnded(
                at=1.0, server=S, name="weights", role="target", stamp=104.0, seconds=3.47
            ),
        ],
    )
    assert state.servers[S].ladder[0].seconds == 3.47


def test_a_phase_waits_for_its_last_rank() -> None:
    begin = [
        ev.PhaseBegan(at=1.0, server=S, name="weights", role="target", rank=f"TP{n}", stamp=1.0)
        for n in range(3)
    ]
    ends = [
        ev.PhaseEnded(at=2.0, server=S, name="weights", role="target", rank=f"TP{n}", stamp=4.0)
        for n in range(3)
    ]
    state = fold_all(State(), [launch(), *begin, *ends[:2]])
    rung = state.servers[S].ladder[0]
    assert rung.status == "running"
    assert rung.ranks == {"TP0": True, "TP1": True, "TP2": False}
    assert fold(state, ends[2]).servers[S].ladder[0].status == "done"


def test_a_stall_is_judged_by_movement_not_by_repeated_bars() -> None:
    moved = ev.PhaseMoved(at=20.0, server=S, name="weights", role="target", done=3, total=9)
    state = fold_all(State(), [launch(), moved, msgspec.structs.replace(moved, at=90.0)])
    assert state.servers[S].ladder[0].moved_at == 20.0


def test_a_new_launch_forgets_the_old_one() -> None:
    crash = Diagnosis(code="out-of-memory-kv", severity="fatal", title="no memory")
    state = fold_all(
        State(),
        [
            launch(),
            ev.PhaseBegan(at=1.0, server=S, name="weights", role="target", stamp=1.0),
            ev.Diagnosed(at=2.0, server=S, diagnosis=crash, ended=True),
        ],
    )
    dead = state.servers[S]
    assert dead.ended
    assert not dead.alive
    assert dead.ladder[0].status == "failed"
    assert dead.phase is not None
    assert dead.phase.status == "failed"
    again = fold(state, launch(speculative=Speculative(algorithm="EAGLE3", num_steps=3)))
    server = again.servers[S]
    assert (server.ended, server.diagnoses, server.restarts) == (False, (), 1)
    assert [rung.status for rung in server.ladder] == ["pending"] * 3


def test_ready_counts_from_the_first_line() -> None:
    state = fold_all(State(), [launch(), ev.ServerReady(at=1.0, server=S, stamp=221.0)])
    server = state.servers[S]
    assert (server.ready, server.ready_after) == (True, 121.0)
    assert server.ladder[-1].status == "done"


def test_who_is_missing_from_a_look_is_gone_and_may_come_back() -> None:
    process = ServerProcess(key=S, pid=7, log=FILE)
    state = fold_all(State(), [found(process), found(at=5.0)])
    assert state.servers[S].gone_at == 5.0
    assert fold(state, found(process, at=6.0)).servers[S].gone_at is None


def test_a_given_log_is_never_gone() -> None:
    state = fold_all(State(), [found(ServerProcess(key="log:/x")), found(at=5.0)])
    assert state.servers["log:/x"].gone_at is None


def test_a_restart_into_the_same_log_keeps_what_the_log_said() -> None:
    scraped = ev.Scraped(at=3.0, server=S, reading=Reading(at=3.0), rates=Rates(progress=True))
    before = fold_all(State(), [found(ServerProcess(key=S, pid=7, log=FILE)), scraped, launch()])
    after = fold(before, found(ServerProcess(key=S, pid=8, log=FILE)))
    assert after.servers[S].ladder == before.servers[S].ladder
    assert after.servers[S].metrics.reading is None
    assert after.servers[S].process.pid == 8


def test_a_restart_into_another_log_starts_clean() -> None:
    before = fold_all(State(), [found(ServerProcess(key=S, pid=7, log=FILE)), launch()])
    other = LogPlace(kind="file", target="/srv/b.log")
    after = fold(before, found(ServerProcess(key=S, pid=8, log=other))).servers[S]
    assert (after.ladder, after.launched, after.restarts) == ((), None, 1)


OTHER = LogPlace(kind="file", target="/srv/b.log")
STOPPED = Diagnosis(code="terminated", severity="info", title="stopped by SIGTERM")


def served(at: float, *end: ev.Event, log: LogPlace = FILE, pid: int = 7) -> State:
    """A server that was launched at this moment, served, and ended so."""
    began = msgspec.structs.replace(launch(), at=at)
    ready = ev.ServerReady(at=at + 30.0, server=S, stamp=130.0)
    process = ServerProcess(key=S, pid=pid, started_at=at - 3.0, log=log)
    return fold_all(State(), [found(process), began, ready, *end])


TERMINATED = ev.Diagnosed(at=60.0, server=S, diagnosis=STOPPED, ended=True)
GONE = ev.ServerGone(at=61.0, server=S)


@pytest.mark.parametrize(
    "end", [(), (TERMINATED,), (GONE,), (TERMINATED, GONE)], ids=["silent", "said", "gone", "both"]
)
@pytest.mark.parametrize(
    ("pid", "started_at", "log"),
    [(8, 70.0, FILE), (8, 70.0, OTHER), (7, 70.0, FILE), (7, 70.0, OTHER)],
    ids=["same file", "new file", "pid reused", "pid reused, new file"],
)
def test_a_new_process_is_a_new_launch_before_it_writes_a_word(
    end: tuple[ev.Event, ...], pid: int, started_at: float, log: LogPlace
) -> None:
    new = ServerProcess(key=S, pid=pid, started_at=started_at, log=log)
    server = fold(served(10.0, *end), found(new, at=71.0)).servers[S]
    assert (server.alive, server.ready, server.ready_after) == (True, False, None)
    assert (server.ladder, server.phase, server.launched) == ((), None, None)
    assert (server.diagnoses, server.restarts) == ((), 1)
    assert server.process.started_at == started_at


def test_the_same_process_seen_again_keeps_everything() -> None:
    state = served(10.0)
    process = msgspec.structs.replace(state.servers[S].process, cwd="/elsewhere")
    again = fold(state, found(process, at=71.0)).servers[S]
    assert again == msgspec.structs.replace(state.servers[S], process=process)
    assert again.ready


@pytest.mark.parametrize("started_at", [70.0, None], ids=["its start is known", "it is not"])
def test_a_launch_read_before_its_process_was_noticed_stays(started_at: float | None) -> None:
    again = msgspec.structs.replace(launch(), at=75.0, stamp=160.0)
    state = fold_all(served(10.0, TERMINATED, GONE), [again])
    new = ServerProcess(key=S, pid=8, started_at=started_at, log=FILE)
    server = fold(state, found(new, at=76.0)).servers[S]
    assert (server.launched, len(server.ladder), server.restarts) == (160.0, len(LADDER), 1)
    assert server.alive


def test_what_the_new_launch_says_is_counted_once() -> None:
    new = ServerProcess(key=S, pid=8, started_at=70.0, log=FILE)
    again = msgspec.structs.replace(launch(), at=75.0, stamp=160.0)
    server = fold_all(served(10.0, GONE), [found(new, at=71.0), again]).servers[S]
    assert (server.launched, server.restarts) == (160.0, 1)


def test_adaptive_k_follows_the_gauge() -> None:
    info = ev.InfoRead(at=1.0, server=S, speculative=Speculative(algorithm="EAGLE3", num_steps=3))
    scraped = ev.Scraped(
        at=2.0, server=S, reading=Reading(at=2.0, num_steps=1, num_draft_tokens=2), rates=Rates()
    )
    speculative = fold_all(State(), [info, scraped]).servers[S].speculative
    assert (speculative.num_steps, speculative.num_draft_tokens) == (1, 2)


def test_a_server_that_does_not_speak_of_speculation_keeps_what_the_log_said() -> None:
    eagle = Speculative(algorithm="EAGLE3", num_steps=3)
    known = fold_all(State(), [ev.InfoRead(at=1.0, server=S, speculative=eagle)])
    unsaid = ev.InfoRead(at=2.0, server=S, version="0.5.23")
    assert fold(known, unsaid).servers[S].speculative == eagle
    off = ev.InfoRead(at=2.0, server=S, speculative=Speculative())
    assert fold(known, off).servers[S].speculative == Speculative()


def test_a_failed_scrape_keeps_the_last_numbers_and_says_so() -> None:
    good = ev.Scraped(at=1.0, server=S, reading=Reading(at=1.0), rates=Rates(tok_s=90.0))
    bad = ev.ScrapeFailed(at=2.0, server=S, problem="refused")
    metrics = fold_all(State(), [good, bad, bad]).servers[S].metrics
    assert metrics.rates == Rates(tok_s=90.0)
    assert metrics.problem == bad
    assert metrics.failures == 2
    assert fold(State(), good).servers[S].metrics.failures == 0


def test_accept_rate_is_ours() -> None:
    assert accept_rate(2.33, 5) == (2.33 - 1) / 5
    assert accept_rate(7.0, 5) == 1.0
    assert accept_rate(1.0, 0) is None
    assert accept_rate(0.0, 3) is None
    assert accept_rate(float("nan"), 3) is None


_DECODER = msgspec.json.Decoder(ev.Event)


def test_every_event_survives_json() -> None:
    for event in (
        launch(),
        found(ServerProcess(key=S)),
        ev.LogText(at=1.0, server=S, start=0, data=b"\x00\xff"),
    ):
        assert _DECODER.decode(msgspec.json.encode(event)) == event


_NAMES = st.sampled_from(["weights", "graphs", "kv cache", "warm-up"])
_SERVERS = st.sampled_from([S, ":30001"])
_EVENTS = st.one_of(
    st.builds(ev.PhaseBegan, at=st.floats(0, 9), server=_SERVERS, name=_NAMES),
    st.builds(
        ev.PhaseMoved,
        at=st.floats(0, 9),
        server=_SERVERS,
        name=_NAMES,
        done=st.integers(),
        total=st.integers(),
    ),
    st.builds(ev.PhaseEnded, at=st.floats(0, 9), server=_SERVERS, name=_NAMES),
    st.builds(ev.ServerReady, at=st.floats(0, 9), server=_SERVERS),
    st.builds(ev.ServerGone, at=st.floats(0, 9), server=_SERVERS),
    st.builds(ev.LaunchBegan, at=st.floats(0, 9), server=_SERVERS),
    st.builds(ev.ServersFound, at=st.floats(0, 9), servers=st.just(())),
)


@given(st.lists(_EVENTS, max_size=40))
def test_any_events_in_any_order_fold(events: list[ev.Event]) -> None:
    state = fold_all(State(), events)
    for server in state.servers.values():
        for rung in server.ladder:
            assert rung.fraction is None or 0.0 <= rung.fraction <= 1.0
        assert server.verdicts == ()
