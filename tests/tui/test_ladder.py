"""The ladder's rows: what they say in each scene, and that they fit."""

from __future__ import annotations

import pytest

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.history import History
from eagletui.model.state import State, fold_all
from eagletui.tui.config import Settings
from eagletui.tui.view import View
from eagletui.tui.widgets.ladder import ladder_lines
from tests.tui.scenes import KEY, NOW, SCENES


def rows(scene: str, width: int = 100, height: int = 14) -> list[str]:
    """The ladder of a scene as text."""
    state = fold_all(State(), SCENES[scene]())
    view = View(state, History(), {}, NOW, Settings())
    server = state.server
    assert server is not None
    return [part.plain.rstrip() for part in ladder_lines(server, view, width, height)]


def row(scene: str, title: str, width: int = 100) -> list[str]:
    """The words of one row, bars left out."""
    found = next(text for text in rows(scene, width) if title in text)
    return [word for word in found.split() if not set(word) <= set("█░·━")]


def test_a_running_phase_counts() -> None:
    assert row("loading", "target weights")[:5] == ["▶", "target", "weights", "19/64", "2:04"]
    assert row("loading", "kv cache") == ["○", "kv", "cache", "usually", "0:09"]
    assert row("loading", "distributed init")[:4] == ["✔", "distributed", "init", "0:11"]


def test_a_bar_shows_the_part_done() -> None:
    text = next(text for text in rows("loading") if "target weights" in text)
    full, empty = text.count("█"), text.count("░")
    assert full + empty > 20
    assert abs(full / (full + empty) - 19 / 64) < 0.03


def test_ranks_that_lag_are_named() -> None:
    assert any(text.strip() == "waiting for TP3, TP6" for text in rows("draft_weights"))


def test_a_stall_is_a_word() -> None:
    assert row("stalled", "target weights")[0] == "‖"
    assert row("stalled", "target weights")[-1] == "stalled"


def test_a_failed_phase_is_a_word() -> None:
    words = row("crashed", "draft graphs")
    assert words[0] == "✖"
    assert words[-1] == "failed"
    assert rows("crashed")[0].startswith("✖ this start-up is over")


def test_a_start_up_that_was_asked_to_stop_is_no_failure() -> None:
    events = [*SCENES["loading"](), ev.ServerGone(at=NOW, server=KEY)]
    server = fold_all(State(), events).server
    assert server is not None
    view = View(fold_all(State(), events), History(), {}, NOW, Settings())
    said = ladder_lines(server, view, 100, 20)[0]
    assert said.plain.startswith("○ this start-up is over")
    assert not any("$error" in str(span.style) for span in said.spans)


def test_ready_says_how_long_it_took() -> None:
    assert rows("serving")[0] == "✔ ready after 10 min 02 s"


@pytest.mark.parametrize("scene", ["loading", "draft_weights", "stalled", "crashed", "serving"])
@pytest.mark.parametrize("width", [56, 76, 118, 196])
def test_rows_fit_their_width(scene: str, width: int) -> None:
    for height in (8, 14, 40):
        assert all(len(text) <= width for text in rows(scene, width, height))


def test_what_is_over_shares_a_line_where_rows_are_few() -> None:
    text = rows("draft_weights", 76, 8)
    assert "✔ 5 phases done: arguments to target graphs, 8 min 56 s" in text
    assert any("draft weights" in part for part in text)


@pytest.mark.parametrize("scene", ["serving", "serving_by_log"])
def test_a_start_up_that_succeeded_stays_one_when_the_server_has_ended(scene: str) -> None:
    stop = Diagnosis(code="terminated", severity="info", title="Stopped by SIGTERM.")
    for last in (
        ev.Diagnosed(at=NOW, server=KEY, diagnosis=stop, ended=True),
        ev.ServerGone(at=NOW, server=KEY),
    ):
        state = fold_all(State(), [*SCENES[scene](), last])
        assert state.server is not None
        view = View(state, History(), {}, NOW, Settings())
        first = ladder_lines(state.server, view, 100, 14)[0].plain
        assert first == "✔ was ready after 10 min 02 s; the server is gone"
        assert {"ready", "charts"} <= view.facts
