"""`eagletui record` and `replay` without a screen."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eagletui.cli.main import main
from eagletui.cli.replay import moment_of
from eagletui.engine.reader import LogReader
from eagletui.engine.scrapes import Scrape
from eagletui.model import events as ev
from eagletui.model.errors import UsageError
from eagletui.model.state import State, fold, fold_all
from eagletui.monitor.saved import Found, pieces, zone_of
from eagletui.store.recording.reader import Recording
from tests.engine.recorded import RECORDINGS
from tests.no_numbers import NO_NUMBERS
from tests.store.recording.made import write
from tests.store.recording.test_hiding import on_disk

LOG = RECORDINGS / "h200-spec5.log.gz"
SCRAPES = RECORDINGS / "spec5_c8.prom.xz"
SECRET = "open-sesame-4711"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def state_of(path: Path) -> State:
    with Recording(path) as recording:
        return fold_all(State(), [event for frame in recording for event in frame.events])


def test_a_saved_log_becomes_a_session(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    result = run("record", "--from-log", LOG, "--from-metrics", SCRAPES, path, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["ended"], told["bytes"]) == ("closed", path.stat().st_size)
    server = state_of(path).server
    assert server is not None
    assert server.ladder
    assert {rung.status for rung in server.ladder} == {"done"}
    assert server.process.tp_size == 1
    assert server.speculative.num_steps == 5
    assert server.log.received == len(gzip.decompress(LOG.read_bytes()))
    assert server.metrics.rates is not None
    assert [d.code for d in server.diagnoses] == ["terminated"]
    with Recording(path) as recording:
        # 12:29:49 of the first stamp to 12:32:47 of the last line.
        assert (recording.begin, recording.end) == (1795955389.0, 1795955567.0)
        assert recording.about.source == "files"
        times = [frame.at for frame in recording]
        assert times == sorted(times)


def test_the_log_gives_what_the_reader_gives(tmp_path: Path) -> None:
    """Cut at stamps or not: the same events, but for the time they came."""
    data = gzip.decompress(LOG.read_bytes())
    run("record", "--from-log", LOG, tmp_path / "a.rec")
    with Recording(tmp_path / "a.rec") as recording:
        ours = [type(event).__name__ for frame in recording for event in frame.events]
    reader = LogReader("a")
    theirs = [type(event).__name__ for event in [*reader.feed(data, at=0.0), *reader.finish(0.0)]]
    kinds = set(theirs)
    assert [name for name in ours if name in kinds] == theirs


def test_pieces_lose_nothing_and_each_has_one_stamp() -> None:
    data = gzip.decompress(LOG.read_bytes())
    whole = list(pieces([data]))
    assert b"".join(piece.data for piece in whole) == data
    cut = list(pieces(data[i : i + 997] for i in range(0, len(data), 997)))
    assert b"".join(piece.data for piece in cut) == data
    stamps = [piece.stamp for piece in whole if piece.stamp is not None]
    assert (stamps[0], stamps[-1]) == (1795955389.0, 1795955567.0)


@pytest.mark.parametrize(
    ("first", "last", "times", "zone"),
    [
        (1000.0, 9000.0, [2000.0, 8000.0], 0.0),
        (1000.0, 9000.0, [], 0.0),
        (None, None, [5.0], 0.0),
        (1000.0 + 7200, 9000.0 + 7200, [2000.0, 8990.0], 7200.0),
        (1000.0 - 12600, 9000.0 - 12600, [2000.0, 9100.0], -12600.0),
    ],
)
def test_the_zone_of_a_log(
    first: float | None, last: float | None, times: list[float], zone: float
) -> None:
    assert zone_of(Found(first, last), [Scrape(at, b"") for at in times]) == zone


def test_a_given_zone(tmp_path: Path) -> None:
    run("record", "--from-log", LOG, "--utc-offset", "2", tmp_path / "a.rec")
    with Recording(tmp_path / "a.rec") as recording:
        assert recording.begin == 1795955389.0 - 7200
        assert recording.about.utc_offset == 7200.0
        assert moment_of("12:30", recording) == 1795955400.0 - 7200


def test_a_key_of_the_arguments_is_hidden_wherever_the_log_has_it(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(
        f"[2026-01-20 03:00:00] server_args=ServerArgs(model_path='/m', api_key='{SECRET}')\n"
        f"[2026-01-20 03:00:01] somebody said {SECRET} aloud\n"
        f"[2026-01-20 03:00:02] and x{SECRET}x\n"
    )
    result = run("record", "--from-log", log, tmp_path / "a.rec")
    assert result.exit_code == 0, result.output
    assert SECRET.encode() not in on_disk(tmp_path / "a.rec")
    printed = run("replay", tmp_path / "a.rec", "--json").stdout
    assert "somebody said **************** aloud" in printed
    assert SECRET not in printed


def test_json_is_the_events(tmp_path: Path) -> None:
    said: list[tuple[float, list[ev.Event]]] = [
        (1000.0, [ev.LogText(at=1.0, server="a", start=0, data=b"one\x1b[31m \xff\ntwo\n")]),
        (1001.0, [ev.ServerGone(at=2.0, server="a")]),
    ]
    write(tmp_path / "a", said)
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in run("replay", tmp_path / "a", "--json").stdout.splitlines()
    ]
    assert [line["type"] for line in lines] == ["Recording", "LogText", "ServerGone", "End"]
    assert (lines[0]["host"], lines[0]["began"]) == ("gpu1", 1000.0)
    assert (lines[1]["came"], lines[1]["data"]) == (1000.0, "one \ufffd\ntwo\n")
    assert lines[3] == {"type": "End", "reason": "closed", "problem": "", "skipped": 0}
    later = run("replay", tmp_path / "a", "--json", "--at", "+1").stdout.splitlines()
    assert [json.loads(line)["type"] for line in later] == ["Recording", "ServerGone", "End"]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("+0", 1000.0),
        ("+90", 1090.0),
        ("+1:30", 1090.0),
        ("+1:00:00", 4600.0),
        # It began at 00:16:40 UTC, 01:16:40 by its own clock.
        ("01:16:40", 1000.0),
        ("1:20", 1200.0),
        ("01:20:05", 1205.0),
    ],
)
def test_moments(tmp_path: Path, text: str, at: float) -> None:
    gone = ev.ServerGone(at=1.0, server="a")
    write(tmp_path / "a", [(1000.0, [gone]), (5000.0, [gone])])
    with Recording(tmp_path / "a") as recording:
        assert moment_of(text, recording) == at


@pytest.mark.parametrize(
    "text", ["", "x", "+", "12", "24:00", "1:60", "-5", "+1:2:3:4", "23:00", "+4001", *NO_NUMBERS]
)
def test_what_is_no_moment(tmp_path: Path, text: str) -> None:
    gone = ev.ServerGone(at=1.0, server="a")
    write(tmp_path / "a", [(1000.0, [gone]), (5000.0, [gone])])
    with Recording(tmp_path / "a") as recording, pytest.raises(UsageError):
        moment_of(text, recording)


def test_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(b"precious")
    for arguments, status, words in (
        (["record", path], 2, "No host was given."),
        (["record", "--from-log", LOG, path], 1, "is there already"),
        (["record", "--from-log", LOG, "--local", path], 2, "A host and saved files"),
        (["record", "--from-log", "-", tmp_path / "b"], 2, "not standard input"),
        (["record", "--from-log", tmp_path / "no", tmp_path / "b"], 1, "cannot be read"),
        (["record", "--from-log", SCRAPES, tmp_path / "b"], 0, ""),
        (["record", "--from-metrics", LOG, tmp_path / "c"], 1, ""),
        (["record", "--local", "--utc-offset", "1", tmp_path / "d"], 2, "--utc-offset is for"),
        (["record", "--local", "--record", "x"], 2, "No such option"),
        (["replay", path], 1, "is no recording"),
        (["replay", tmp_path / "no"], 1, "cannot be read"),
        (["demo", "--list", "--record", tmp_path], 2, "is a directory"),
    ):
        result = run(*arguments)
        assert (result.exit_code, words in result.stderr) == (status, True), (
            arguments,
            result.output,
        )
    assert path.read_bytes() == b"precious"
    assert not (tmp_path / "c").exists()


def test_a_host_that_is_not_reached_leaves_no_file(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host nowhere\n  HostName 127.0.0.1\n  Port 1\n")
    path = tmp_path / "a.rec"
    result = run("record", "--ssh-config", config, "--host", "nowhere", path)
    assert result.exit_code == 3, result.output
    assert "eagletui: " in result.stderr
    assert not path.exists()


def test_a_recording_that_is_full_says_so(tmp_path: Path) -> None:
    result = run("record", "--from-log", LOG, "--max-mb", "0.01", tmp_path / "a.rec")
    assert result.exit_code == 0
    assert "It stopped at 0.01 MB, as agreed (--max-mb)." in result.stderr
    assert (tmp_path / "a.rec").stat().st_size <= 10_000


def test_the_screen_needs_a_terminal(tmp_path: Path) -> None:
    write(tmp_path / "a", [])
    result = run("replay", tmp_path / "a")
    assert result.exit_code == 2
    assert "eagletui replay FILE --json" in result.stderr


def test_replaying_folds_to_one_state(tmp_path: Path) -> None:
    """Told twice, from the beginning: `StartedOver` leaves nothing behind."""
    run("record", "--from-log", LOG, tmp_path / "a.rec")
    once = state_of(tmp_path / "a.rec")
    with Recording(tmp_path / "a.rec") as recording:
        events = [event for frame in recording for event in frame.events]
    again = fold(once, ev.StartedOver(at=0.0))
    assert again == State()
    assert fold_all(again, events) == once
