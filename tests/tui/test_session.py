"""Events become state, series, logs and at most a toast."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis, Severity
from eagletui.model.readings import Rates
from eagletui.tui.session import MAX_LOGS, Session, gap_text, slices
from tests.tui.scenes import KEY, NOW, SCENES, connected, found, launch, process, scrape


def titles(session: Session, events: list[ev.Event]) -> list[str]:
    """Titles of the toasts these events raise."""
    return [toast.title for toast in session.take(events)]


def test_only_four_things_pop_up() -> None:
    session = Session()
    assert titles(session, [*connected(), *found(), *launch(NOW - 600)]) == []
    lost = ev.LinkChanged(at=NOW - 9, link="lost", detail="no answer")
    assert titles(session, [lost]) == ["Connection lost"]
    assert titles(session, [lost]) == []
    assert titles(session, [ev.LinkChanged(at=NOW - 8, link="connecting")]) == []
    assert titles(session, [ev.LinkChanged(at=NOW - 7, link="connected")]) == ["Connected again"]
    text = ev.LogText(at=NOW - 6, server=KEY, start=0, data=b"x\n")
    assert titles(session, [text, ev.ServerReady(at=NOW - 5, server=KEY)]) == ["Ready"]
    gone = ev.ServerGone(at=NOW - 4, server=KEY)
    assert titles(session, [gone]) == ["Server gone"]
    assert titles(session, [gone]) == []


def test_a_crash_pops_up_once() -> None:
    assert titles(Session(), list(SCENES["crashed"]())) == ["Server crashed"]


@pytest.mark.parametrize(
    ("severity", "title"),
    [
        ("fatal", "Server crashed"),
        ("error", "Server crashed"),
        ("warning", "Server stopped"),
        ("info", "Server stopped"),
    ],
)
def test_a_server_that_was_asked_to_go_did_not_crash(severity: Severity, title: str) -> None:
    why = Diagnosis(code="terminated", severity=severity, title="It was stopped by SIGTERM.")
    session = Session()
    text = ev.LogText(at=NOW - 6, server=KEY, start=0, data=b"x\n")
    session.take([*connected(), *found(), *launch(NOW - 600), text])
    assert titles(session, [ev.Diagnosed(at=NOW, server=KEY, diagnosis=why, ended=True)]) == [title]


def test_history_being_caught_up_with_does_not_pop_up() -> None:
    old = ev.LogText(at=NOW, server=KEY, start=0, data=b"x\n", live=False)
    events = [*connected(), *found(), old, ev.ServerReady(at=NOW, server=KEY)]
    assert titles(Session(), events) == []


def test_other_servers_do_not_pop_up() -> None:
    session = Session()
    session.take([*connected(), *found()])
    assert titles(session, [ev.ServerGone(at=NOW, server="other")]) == []


def test_logs_are_kept_by_server_and_bounded() -> None:
    session = Session()
    session.take([*connected(), *found()])
    session.take([ev.LogText(at=NOW, server=KEY, start=0, data=b"mine\n")])
    for number in range(MAX_LOGS + 2):
        session.take([ev.LogText(at=NOW, server=f"s{number}", start=0, data=b"theirs\n")])
    assert len(session.logs) == MAX_LOGS
    assert KEY in session.logs


def test_a_gap_is_a_line_of_the_log() -> None:
    session = Session()
    gap = ev.LogGap(at=NOW, server=KEY, reason="skipped", skipped=1_234_567)
    session.take([ev.LogText(at=NOW, server=KEY, start=0, data=b"a\n"), gap])
    assert gap_text(gap) == "1,234,567 bytes not read"
    store = session.logs[KEY]
    assert store.end - store.first == 2


@given(st.lists(st.binary(max_size=60), max_size=20), st.integers(1, 30), st.integers(1, 5))
def test_slices_lose_and_reorder_nothing(pieces: list[bytes], size: int, most: int) -> None:
    events: list[ev.Event] = []
    offset = 0
    for piece in pieces:
        events.append(ev.LogText(at=NOW, server=KEY, start=offset, data=piece))
        events.append(ev.ServerGone(at=NOW + offset, server=KEY))
        offset += len(piece)
    parts = list(slices(events, size=size, most=most))
    whole = [event for part in parts for event in part]
    texts = [event for event in whole if isinstance(event, ev.LogText)]
    assert b"".join(text.data for text in texts) == b"".join(pieces)
    assert [e for e in whole if isinstance(e, ev.ServerGone)] == events[1::2]
    assert all(text.start == sum(len(t.data) for t in texts[:n]) for n, text in enumerate(texts))
    assert all(1 <= len(part) <= most for part in parts)
    assert all(
        sum(len(e.data) for e in part if isinstance(e, ev.LogText)) <= size for part in parts
    )


def test_a_look_that_misses_the_server_pops_up_before_the_server_is_said_gone() -> None:
    session = Session()
    session.take([*connected(), *found()])
    look = ev.ServersFound(at=NOW, servers=())
    gone = ev.ServerGone(at=NOW, server=KEY)
    assert titles(session, [look, gone]) == ["Server gone"]
    back = ev.ServersFound(at=NOW + 1, servers=(process(),))
    assert titles(session, [back, ev.ServersFound(at=NOW + 2, servers=())]) == ["Server gone"]


def test_all_logs_together_are_bounded_and_the_watched_one_stays() -> None:
    session = Session(log_bytes=2_000_000, all_log_bytes=2_500_000)
    session.take([*connected(), *found()])
    for number, key in enumerate((KEY, "a", "b", KEY)):
        data = b"".join(b"%d %d\n" % (number, n) for n in range(120_000))
        session.take([ev.LogText(at=NOW, server=key, start=0, data=data)])
        assert sum(store.memory for store in session.logs.values()) <= 2_500_000
    assert KEY in session.logs
    assert "a" not in session.logs


def test_the_charts_go_on_with_decode_lines_where_scrapes_lack_a_number() -> None:
    session = Session()
    session.take([*connected(), *found()])
    bare = Rates(seconds=1.0, tok_s=84.0)
    for second in range(30):
        at = NOW - 30 + second
        if second < 10:
            session.take([scrape(at, second)])
        else:
            session.take([replace(scrape(at, second), rates=bare)])
        line = ev.DecodeSample(
            at=at + 0.5, server=KEY, running=4, accept_length=2.5, step_ms=31.0, gen_throughput=80.0
        )
        session.take([line])
    series = session.history.server(KEY)
    for name, told in (("step_ms", 31.0), ("accept_length", 2.5)):
        assert series.get(name).window(NOW - 31, NOW - 20.9).values[:10].count(told) == 0
        after = series.get(name).window(NOW - 15, NOW)
        assert set(after.values) == {told}, name
        assert len(after.values) == 15
    assert set(series.get("tok_s").window(NOW - 15, NOW).values) == {84.0}
