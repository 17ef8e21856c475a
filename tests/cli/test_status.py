"""`status --json`: values of now are those that the screen shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner
from msgspec.structs import replace

from eagletui.cli.main import main
from eagletui.cli.status import status_document, status_lines
from eagletui.model import events as ev
from eagletui.model.readings import Rates
from eagletui.model.state import State, fold_all
from tests.tui.scenes import KEY, NOW, SCENES, connected, found, launch, scrape

LINE = ev.DecodeSample(
    at=NOW - 3,
    server=KEY,
    running=4,
    queued=2,
    accept_length=2.5,
    accept_rate=0.5,
    gen_throughput=80.0,
    step_ms=31.0,
)
NAMES = {
    "tok_s", "step_ms", "verify_ms", "draft_ms", "draft_extend_ms", "accept_length",
    "accept_rate", "source", "stale", "running", "queued", "token_usage",
}  # fmt: skip


def live(*events: ev.Event, now: float = NOW, scene: str = "serving") -> dict[str, Any]:
    state = fold_all(State(), [*SCENES[scene](), *events])
    (server,) = status_document(state, name="gpu1", now=now)["servers"]
    assert set(server["live"]) == NAMES
    found: dict[str, Any] = server["live"]
    return found


def lacking(**rates: Any) -> ev.Scraped:
    return replace(scrape(NOW - 1, 3), rates=Rates(seconds=1.0, tok_s=84.0, **rates))


def test_a_scrape_that_lacks_the_step_does_not_hide_a_fresh_decode_line() -> None:
    found = live(LINE, lacking())
    assert (found["tok_s"], found["step_ms"], found["accept_length"]) == (84.0, 31.0, 2.5)
    assert (found["accept_rate"], found["source"], found["stale"]) == (0.5, "decode log", False)
    assert (found["running"], found["queued"]) == (4.0, 1.0)
    assert live(LINE, lacking(), now=NOW + 60)["step_ms"] is None


def test_a_whole_scrape_is_said_as_it_is() -> None:
    found = live(LINE)
    assert found["source"] == "device timer"
    assert round(found["verify_ms"], 1) == 22.1
    assert round(found["accept_length"], 2) == 2.09


def test_the_accept_length_of_an_idle_server_is_called_stale() -> None:
    found = live(scene="idle")
    assert (found["running"], found["stale"]) == (0.0, True)
    assert found["accept_length"] is not None
    assert found["accept_rate"] is not None


def test_without_metrics_the_last_line_is_given_and_called_stale_when_it_is_old() -> None:
    found = live(scene="serving_by_log")
    assert (found["source"], found["stale"], found["running"]) == ("decode log", False, 4.0)
    assert live(scene="serving_by_log", now=NOW + 180)["stale"] is True


def test_nothing_is_known_of_a_server_that_loads() -> None:
    assert set(live(scene="loading").values()) == {None}


def test_the_same_for_a_person() -> None:
    state = fold_all(State(), [*SCENES["serving"](), LINE, lacking()])
    text = "\n".join(status_lines(state, name="gpu1", now=NOW))
    assert "84.0 tok/s · accept length 2.50 · step 31.00 ms (decode log) · running 4" in text


def test_a_log_that_is_none_and_a_pid_that_is_not_there_are_said(tmp_path: Path) -> None:
    words = ["--local", "--log", str(tmp_path / "no*.log"), "--pid", "2147483000"]
    result = CliRunner().invoke(main, ["status", *words])
    assert f"warning: No file matches {tmp_path}/no*.log." in result.stdout
    assert "warning: No SGLang server has pid 2147483000." in result.stdout
    assert result.exit_code == 1
    result = CliRunner().invoke(main, ["status", "--local", "--log", str(tmp_path)])
    assert f"warning: {tmp_path} is a folder." in result.stdout


def test_the_time_left_of_a_phase_and_of_the_whole_are_told_apart() -> None:
    state = fold_all(State(), SCENES["loading"]())
    lines = status_lines(state, name="gpu1", now=NOW)
    said = "target weights running 19/64, about 5 min left of it; about 7 min left in all"
    assert f"    {said}" in lines
    between = fold_all(State(), [*connected(), *found(), *launch(NOW - 30)])
    text = next(line for line in status_lines(between, name="gpu1", now=NOW) if "done" in line)
    assert text == "    distributed init done; about 9 min left in all"
