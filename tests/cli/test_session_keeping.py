"""What the live screen watched, on the disk: sessions, their series, and nothing secret."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.cli.session_keeping import LATE, SessionKeeper, Sessions
from eagletui.model import events as ev
from eagletui.model.speculative import Speculative
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunsReadOnly
from eagletui.store.runs.series import SeriesStore
from tests.tui.scenes import KEY, NOW, SCENES, found, process, scrape, serving

SERVING = serving()


def kept(file: Path, events: Sequence[ev.Event], *, at: float | None = None) -> SessionKeeper:
    """All of it through a keeper, each event at its own moment, and closed."""
    keeper = SessionKeeper("gpu1", file, every=60.0, clock=lambda: NOW)
    for event in events:
        keeper.put(event.at if at is None else at, [event])
    keeper.close(20.0)
    return keeper


def with_steps(at: float, num_steps: int) -> ev.Scraped:
    """A scrape that says so many draft steps."""
    one = scrape(at, 0)
    reading = replace(one.reading, num_steps=num_steps, num_draft_tokens=num_steps + 1)
    return replace(one, reading=reading)


def test_a_session_has_what_the_charts_showed(tmp_path: Path) -> None:
    keeper = kept(tmp_path / "runs.db", SERVING)
    assert keeper.words == ""
    with Database(tmp_path / "runs.db") as database:
        store = SeriesStore(database)
        (session,) = store.sessions()
        assert (session.host, session.server) == ("gpu1", KEY)
        assert (session.began, session.ended) == (NOW - 600, NOW - 1)
        assert session.about["model"] == "/models/Kimi-K2.5"
        assert session.about["speculative"] == "EAGLE3 k=3 topk=1 draft=4"
        assert session.about["version"] == "0.5.16"
        window = store.window(session.id, "tok_s")
        assert len(window.times) == 600
        expected = [e.rates.tok_s for e in SERVING if isinstance(e, ev.Scraped)]
        assert all(abs(a - (b or 0.0)) < 1e-4 for a, b in zip(window.values, expected, strict=True))
        assert {"accept_length", "verify_ms", "step_ms", "running"} <= set(store.names(session.id))


def test_another_launch_of_the_same_server_is_another_session(tmp_path: Path) -> None:
    other = Speculative(algorithm="EAGLE3", num_steps=5, eagle_topk=1, num_draft_tokens=6)
    again = process(pid=5000, started_at=NOW - 20, speculative=other)
    kept(
        tmp_path / "runs.db",
        [
            *SERVING,
            ev.ServersFound(at=NOW, servers=(again,)),
            ev.LaunchBegan(at=NOW, server=KEY, version="0.5.16", speculative=other),
            *(with_steps(NOW + second, 5) for second in range(5)),
        ],
    )
    with Database(tmp_path / "runs.db") as database:
        store = SeriesStore(database)
        new, old = store.sessions()
        assert new.about["speculative"] == "EAGLE3 k=5 topk=1 draft=6"
        assert (new.began, old.ended) == (NOW, NOW - 1)
        assert len(store.window(new.id, "tok_s").times) == 5
        assert len(store.window(old.id, "tok_s").times) == 600


def test_an_adaptive_server_that_changes_k_goes_on_in_its_session(tmp_path: Path) -> None:
    moments: list[ev.Event] = [with_steps(NOW + second, 3 + second % 2) for second in range(6)]
    kept(tmp_path / "runs.db", [*SERVING, *moments])
    with Database(tmp_path / "runs.db") as database:
        store = SeriesStore(database)
        (session,) = store.sessions()
        assert list(store.window(session.id, "num_steps").values)[-6:] == [3, 4, 3, 4, 3, 4]


def test_a_loss_of_the_connection_is_a_gap(tmp_path: Path) -> None:
    kept(
        tmp_path / "runs.db",
        [
            *found(NOW - 70),
            *(scrape(NOW - 60 + second, second) for second in range(3)),
            ev.LinkChanged(at=NOW - 57, link="lost"),
            *(scrape(NOW - 30 + second, second) for second in range(2)),
        ],
    )
    with Database(tmp_path / "runs.db") as database:
        store = SeriesStore(database)
        window = store.window(store.sessions()[0].id, "tok_s")
        assert list(window.joined)[1:] == [1, 1, 0, 1]


def test_an_old_log_is_not_watched_again(tmp_path: Path) -> None:
    lines = [
        ev.DecodeSample(at=NOW - 900 + n, server=KEY, gen_throughput=80.0, accept_length=2.0)
        for n in range(20)
    ]
    kept(tmp_path / "a.db", [*found(), *lines], at=NOW)
    assert not (tmp_path / "a.db").exists()
    kept(tmp_path / "b.db", [*found(NOW - 900), *lines])
    with Database(tmp_path / "b.db") as database:
        assert len(SeriesStore(database).sessions()) == 1
    assert LATE < 60.0


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    secret = "hf_abcdefghijklmnopqrstuvwxyz0123456789"
    one = process(model=f"https://ann:{secret}@models.example/kimi?token={secret}")
    events: list[ev.Event] = [
        ev.ServersFound(at=NOW - 60, servers=(one,)),
        ev.ServerSelected(at=NOW - 60, server=KEY),
        *(scrape(NOW - 50 + second, second) for second in range(5)),
    ]
    kept(tmp_path / "runs.db", events)
    with Database(tmp_path / "runs.db") as database:
        assert len(SeriesStore(database).sessions()) == 1
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in everything


def test_a_disk_that_is_lost_is_said_once_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "runs.db").mkdir()  # a folder in the file's place
    keeper = kept(tmp_path / "runs.db", SERVING)
    assert "tried again" in keeper.words
    assert "\x1b" not in keeper.words


def test_a_fault_is_said_and_nothing_waits_for_who_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise ZeroDivisionError("no \x1b[31mway")

    monkeypatch.setattr(Sessions, "take", wrong)
    keeper = kept(tmp_path / "runs.db", SERVING)
    assert keeper.words == "A fault of eagletui ended it: ZeroDivisionError: no way"
    keeper.put(NOW, SERVING)
    assert not keeper._waiting


def test_what_could_not_be_written_comes_with_the_next_try(tmp_path: Path) -> None:
    sessions = Sessions("gpu1")
    sessions.take(SERVING)
    with Database(tmp_path / "runs.db") as database:
        store = SeriesStore(database)
        database.read_only = True
        with pytest.raises(RunsReadOnly):
            sessions.flush(store, NOW)
        database.read_only = False
        sessions.flush(store, NOW)
        (session,) = store.sessions()
        assert len(store.window(session.id, "accept_length").times) == 600


def test_every_scene_can_be_kept(tmp_path: Path) -> None:
    for name, scene in SCENES.items():
        assert kept(tmp_path / f"{name}.db", scene()).words == ""
