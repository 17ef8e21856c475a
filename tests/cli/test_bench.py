"""`eagletui bench` against a server in small: what it prints, keeps, refuses, and how it ends."""

from __future__ import annotations

import asyncio
import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pytest
from click.testing import CliRunner, Result

from eagletui.bench import observer
from eagletui.bench.export import rows
from eagletui.bench.progress import Progress
from eagletui.cli.bench import _document
from eagletui.cli.bench_words import Teller, progress_line, table
from eagletui.cli.main import main
from eagletui.cli.run_words import show_lines
from eagletui.model.compare import compare, comparison_document
from eagletui.model.figures import cell_figures, figures_of
from eagletui.model.run import Run
from eagletui.store.claims import AlreadyMeasured, claimed
from eagletui.store.places import runs_file
from eagletui.store.reports.text import csv_text, markdown_lines
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from tests import sshd
from tests.bench.server import FakeServer
from tests.store.runs.made import made_cell, made_run

Start = Callable[..., FakeServer]
bench_command = importlib.import_module("eagletui.cli.bench")


@pytest.fixture
def start() -> Iterator[Start]:
    """Start servers on an event loop of their own, for the command has one itself."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    servers: list[FakeServer] = []

    def begin(**how: Any) -> FakeServer:
        async def make() -> FakeServer:
            server = FakeServer(**how)
            await server.server.start_server()
            return server

        servers.append(asyncio.run_coroutine_threadsafe(make(), loop).result(20))
        return servers[-1]

    yield begin
    for server in servers:
        asyncio.run_coroutine_threadsafe(server.server.close(), loop).result(20)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def bench(server: FakeServer | None, *words: str | Path, **more: Any) -> Result:
    address = ["--url", server.url] if server is not None else []
    small = ["--output-tokens", "9", "--requests", "4", "--repeats", "2"]
    asked = ["bench", "--local", *address, *small, *map(str, words)]
    return CliRunner().invoke(main, asked, **more)


def test_a_run_is_printed_kept_and_exported(start: Start, tmp_path: Path) -> None:
    out, export = tmp_path / "run.json", tmp_path / "runs.jsonl"
    export.write_text('{"tag": "before"}\n')
    result = bench(
        start(), "--concurrency", "1,2", "--name", "mine", "--out", out, "--export", export
    )
    assert result.exit_code == 0, result.output
    run = msgspec.json.decode(out.read_bytes(), type=Run)
    assert (run.name, run.via, run.partial, len(run.id)) == ("mine", "host", False, 12)
    assert [(cell.concurrency, cell.repeat) for cell in run.cells] == [
        (1, 0), (2, 0), (1, 1), (2, 1),
    ]  # fmt: skip
    assert all(cell.server_tokens == 36 for cell in run.cells)
    assert run.workload.prompts == "chat"
    assert (run.workload.requests, run.workload.repeats) == (4, 2)
    assert run.surroundings.versions["sglang"] == "0.5.23"
    assert "mine · /v1/chat/completions · chat · from the host" in result.output
    assert "0: 20.0%  1: 80.0%" in result.output
    before, *rows = map(json.loads, export.read_text().splitlines())
    assert before == {"tag": "before"}
    assert len(rows) == 4
    assert (rows[1]["max_concurrency"], rows[1]["completed"]) == (2, 4)
    assert (rows[0]["backend"], rows[0]["total_output_tokens"]) == ("sglang-oai-chat", 36)
    assert rows[0]["accept_length"] == pytest.approx(1.8)
    assert rows[0]["mean_ttft_ms"] > 0.0
    assert rows[0]["output_throughput"] == pytest.approx(36 / rows[0]["duration"])


def test_runs_are_kept_and_compared(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    server = start()
    assert "Kept as" in bench(server, "--name", "mine", "--out", out).stderr
    assert "Kept as" not in bench(server, "--name", "lost", "--no-keep").stderr
    bench(server, "--name", "other")
    listed = json.loads(CliRunner().invoke(main, ["runs", "list", "--json"]).stdout)["runs"]
    assert {run["name"] for run in listed} == {"mine", "other"}
    assert not any(run["partial"] for run in listed)
    with Database(runs_file()) as database:
        assert Runs(database).find("mine") == msgspec.json.decode(out.read_bytes(), type=Run)
    compared = CliRunner().invoke(main, ["compare", "mine", "other", "--json"])
    assert compared.exit_code == 0, compared.output
    assert [run["name"] for run in json.loads(compared.stdout)["runs"]] == ["mine", "other"]


def test_the_series_of_a_run_are_kept_with_it(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(observer, "SHARE", 1.0)
    server = start()
    assert bench(server, "--name", "mine", "--output-tokens", "60").exit_code == 0
    file = tmp_path / "runs"
    assert CliRunner().invoke(main, ["runs", "export", "mine", "-o", str(file)]).exit_code == 0
    lines = list(map(json.loads, file.read_text().splitlines()))
    (running,) = [x["series"] for x in lines if x.get("series", {}).get("name") == "running"]
    assert running["run"] == lines[1]["run"]["id"]
    assert 1.0 in running["values"]
    assert set(running["values"]) <= {0.0, 1.0}
    assert running["joined"].count(0) == 2  # a gap before each cell


def test_a_run_that_fails_in_its_warm_up_is_none(start: Start) -> None:
    assert bench(start(misbehave=lambda at: "500")).exit_code == 1
    listed = json.loads(CliRunner().invoke(main, ["runs", "list", "--json"]).stdout)
    assert listed["runs"] == []


def test_a_database_that_cannot_be_written_ends_no_benchmark(start: Start) -> None:
    runs_file().parent.mkdir(parents=True, exist_ok=True)
    runs_file().write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    result = bench(start(), "--repeats", "1")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("The run is not kept as long as it is so") == 1
    assert "Kept as" not in result.stderr


@pytest.mark.parametrize(("way", "via"), [("yes", "host"), ("no", "client"), ("auto", "host")])
def test_json_says_who_sent(start: Start, way: str, via: str) -> None:
    result = bench(start(), "--on-host", way, "--json", "--endpoint", "/generate")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["run"]["via"] == via
    assert [cell["served"] for cell in found["cells"]] == [4, 4]
    assert found["cells"][0]["accepted"] == [4, 16]
    assert found["notes"] == []


def test_failures_are_exit_status_1_and_the_rest_is_told(start: Start) -> None:
    result = bench(start(misbehave=lambda n: "500" if n % 3 == 2 else ""), "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert sum(cell["failed"] for cell in found["cells"]) == 3
    assert sum(cell["served"] for cell in found["cells"]) == 5


def test_an_exact_length_is_the_tokenizers(start: Start) -> None:
    server = start()
    result = bench(server, "--input-tokens", "50", "--endpoint", "/generate", "--json")
    assert result.exit_code == 0, result.output
    assert {len(body["input_ids"]) for body in server.bodies} == {50}
    assert json.loads(result.stdout)["run"]["workload"]["input_tokens"] == 50


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--concurrency", "0"], 2, "Each must be 1 to 4096"),
        (["--concurrency", "1,x"], 2, "Numbers with commas between, such as 1,8,32"),
        (["--prompts", "poetry"], 2, "There is no set of prompts 'poetry'"),
        (["--prompts", "./none.jsonl"], 2, "cannot be read: No such file"),
        (["--prompts", "/"], 2, "/ is a folder, not a file of prompts"),
        (["--prompts", "/dev/zero"], 2, "is a device, not a file of prompts"),
        (["--rate", "0"], 2, "--rate"),
        (["--input-tokens", "9"], 2, "An exact length of the input needs"),
        (["--out", "/nowhere/run.json"], 2, "cannot be written: No such file"),
        (["--out", "/"], 2, "is a folder"),
        (["--out", __file__], 2, "is there already"),
        # Names that no file can have, which `pathlib` fails on.
        (["--prompts", "x" * 300], 2, "There is no set of prompts"),
        (["--prompts", f"./{'x' * 300}"], 2, "cannot be read: File name too long"),
        (["--prompts", "~nobody-of-this-name/x"], 2, "cannot be read: No such file"),
        (["--out", "x" * 300], 2, "cannot be written: File name too long"),
    ],
)
def test_wrong_usage(start: Start, words: list[str], status: int, said: str) -> None:
    result = bench(start(), *words)
    assert (result.exit_code, said in result.output) == (status, True), result.output


def test_prompt_files_that_are_of_no_use(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "prompts.bin"
    path.write_bytes(b"\x7fELF\0\0")
    result = bench(start(), "--prompts", path)
    assert (result.exit_code, "is no text" in result.output) == (2, True)
    path.write_bytes(b"")
    assert "holds no prompt" in bench(start(), "--prompts", path).output
    path.unlink()
    os.mkfifo(path)  # nobody writes to it
    assert "is a pipe, not a file of prompts" in bench(start(), "--prompts", path).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prompts", ""], "No prompts are named"),
        (["--prompts", " "], "No prompts are named"),
        (["--prompts", "poetry"], "There is no set of prompts 'poetry'"),
        (["--prompts", "./none.jsonl"], "cannot be read: No such file"),
        (["--prompts", "circle"], "circle cannot be read: Too many levels of symbolic links"),
        (["--prompts", "nowhere"], "nowhere cannot be read: No such file"),
        (["--prompts", "empty.jsonl"], "holds no prompt"),
        (["--prompts", "/"], "/ is a folder, not a file of prompts"),
        (["--input-tokens", "9"], "An exact length of the input needs"),
    ],
)
def test_what_needs_no_host_is_looked_at_before_one_is_reached(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password is asked for, and minutes are waited, for nothing else."""
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    Path("nowhere").symlink_to("gone")
    Path("empty.jsonl").touch()
    reached: list[object] = []

    def reach(target: str | None, _: object) -> None:
        reached.append(target)
        raise AssertionError

    monkeypatch.setattr("eagletui.cli.benching.connected", reach)
    result = CliRunner().invoke(main, ["bench", "--host", "far", *words])
    assert (result.exit_code, said in result.stderr) == (2, True), result.output
    assert reached == []


def test_prompts_of_the_persons_own(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("one\ntwo\nthree\n")
    server = start()
    assert bench(server, "--prompts", path, "--repeats", "1", "--warmup", "0").exit_code == 0
    asked = [body["messages"][0]["content"] for body in server.bodies]
    assert asked == ["one", "two", "three", "one"]


def test_over_the_context_is_the_servers_word(start: Start) -> None:
    result = bench(start(misbehave=lambda _: "500"))
    assert result.exit_code == 1
    assert "Every request of the warm-up failed: HTTP 500" in result.output
    assert "a prompt may be too long" in result.output


def test_nobody_there_is_status_3() -> None:
    result = CliRunner().invoke(main, ["bench", "--local", "--url", "http://127.0.0.1:9"])
    assert result.exit_code == 3
    assert "does not answer" in result.output
    assert "No host was given" in CliRunner().invoke(main, ["bench"]).output


def test_two_at_once_are_refused_by_name(start: Start, tmp_path: Path, monkeypatch: Any) -> None:
    server = start()
    monkeypatch.setenv("EAGLETUI_DATA", str(tmp_path))
    with claimed(tmp_path / "benchmarks", f"localhost {server.url}", "first\x1b[31m"):
        result = bench(server)
    assert result.exit_code == 1
    assert "is being measured: benchmark 'first" in result.output
    assert "\x1b" not in result.output
    assert server.bodies == []
    assert bench(server).exit_code == 0


def test_a_claim_goes_with_its_process_and_a_read_only_disk_holds_nothing_back(
    tmp_path: Path,
) -> None:
    program = (
        "import sys, os\nfrom pathlib import Path\nfrom eagletui.store.claims import claimed\n"
        "with claimed(Path(sys.argv[1]), 'x', 'dead'): os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=_environment())
    with claimed(tmp_path, "x", "second"):
        with pytest.raises(AlreadyMeasured, match="second"), claimed(tmp_path, "x", "third"):
            pass
        with claimed(tmp_path, "y", "other server"):
            pass
    blocked = tmp_path / "file"
    blocked.write_text("")
    with claimed(blocked / "folder", "x", "fourth"):
        pass


def test_a_file_that_is_there_is_written_over_when_it_is_said(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    out.write_text("mine")
    server = start()
    assert bench(server, "--out", out).exit_code == 2
    assert (out.read_text(), server.bodies) == ("mine", [])
    assert bench(server, "--out", out, "--force").exit_code == 0
    assert len(msgspec.json.decode(out.read_bytes(), type=Run).cells) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_each_cell_is_in_the_file_as_soon_as_it_is_measured(start: Start, tmp_path: Path) -> None:
    """Killed in the second cell, without a word: the first one is there, kept or not."""
    hanging = threading.Event()

    def misbehave(at: int) -> str:
        if at == 6:
            hanging.set()
        return "hang" if at >= 6 else ""

    out = tmp_path / "run.json"
    server = start(misbehave=misbehave)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "eagletui", "bench", "--local", "--url", server.url),
            *("--output-tokens", "9", "--requests", "4", "--repeats", "2", "--no-keep"),
            *("--out", str(out)),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )
    assert hanging.wait(60)
    process.kill()
    process.wait(60)
    run = msgspec.json.decode(out.read_bytes(), type=Run)
    assert (len(run.cells), run.partial) == (1, True)
    assert [sent.output_tokens for sent in run.cells[0].requests] == [9] * 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_loses_nothing(start: Start) -> None:
    result = bench(start(), "--out", "/dev/full", "--repeats", "1")
    assert result.exit_code == 1
    assert "could not be written: No space left on device" in result.stderr
    run = msgspec.json.decode(result.stdout.splitlines()[0], type=Run)
    assert len(run.cells[0].requests) == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [("--json",), ()])
def test_an_export_that_is_refused_is_named_and_costs_nothing_else(
    start: Start, tmp_path: Path, words: tuple[str, ...]
) -> None:
    out = tmp_path / "run.json"
    result = bench(
        start(), "--repeats", "1", "--out", out, "--export", "/dev/full", "--name", "n", *words
    )
    assert result.exit_code == 1
    assert "/dev/full could not be written: No space left on device" in result.stderr
    assert len(msgspec.json.decode(out.read_bytes(), type=Run).cells) == 1
    if words:
        assert set(json.loads(result.stdout)) == {"run", "figures", "cells", "notes"}
    else:
        assert result.stdout.startswith("n · ")


def test_an_export_is_made_longer_by_whole_lines_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that becomes full takes the beginning."""
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"tag": "before"}\n')

    def half(file: BinaryIO, data: bytes) -> None:
        file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bench_command, "_write_all", half)
    problem = bench_command._exported(made_run(), path)
    assert problem is not None
    assert problem.what == f"{path} could not be written: No space left on device."
    assert path.read_bytes() == b'{"tag": "before"}\n'


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}


@pytest.mark.parametrize("way", ["yes", "no"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_was_measured(
    start: Start, tmp_path: Path, way: str, number: signal.Signals
) -> None:
    """The sixth request hangs: then it is interrupted."""
    hanging = threading.Event()

    def misbehave(at: int) -> str:
        if at == 6:
            hanging.set()
        return "hang" if at >= 6 else ""

    out = tmp_path / "run.json"
    server = start(misbehave=misbehave)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "eagletui", "bench", "--local", "--url", server.url),
            *("--output-tokens", "9", "--requests", "4", "--repeats", "2", "--on-host", way),
            *("--out", str(out)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        text=True,
    )
    assert hanging.wait(180)
    process.send_signal(number)
    printed, said = process.communicate(timeout=180)
    assert process.returncode == 130, said
    assert "what was measured is kept" in said
    run = msgspec.json.decode(out.read_bytes(), type=Run)
    assert run.partial
    assert [cell.stopped for cell in run.cells] == ["", "cancelled"]
    assert [sent.error for sent in run.cells[1].requests] == ["", "stopped"]
    assert "partial" in printed
    with Database(runs_file()) as database:
        assert Runs(database).get(run.id) == run
    assert "c=1 repeat 2 ended early (cancelled)" in printed


@pytest.mark.sshd
@pytest.mark.skipif(sshd.SSHD is None, reason=sshd.MISSING)
def test_over_ssh_both_ways_count_the_same(start: Start, tmp_path: Path) -> None:
    """More at once than an SSH connection's usual limit for HTTP."""
    there = sshd.start_sshd(tmp_path)
    try:
        found = {}
        for way, via in (("no", "client"), ("yes", "host")):
            server = start()
            result = CliRunner().invoke(
                main,
                [
                    *("bench", "--host", there.name, "--ssh-config", str(there.config)),
                    *("--url", server.url, "--on-host", way, "--json", "--repeats", "1"),
                    *("--concurrency", "24", "--requests", "48", "--output-tokens", "40"),
                ],
            )
            assert result.exit_code == 0, result.output
            assert server.most_under_way == 24
            document = json.loads(result.stdout)
            assert document["run"]["via"] == via
            (found[way],) = document["cells"]
    finally:
        there.stop()
    for cell in found.values():
        assert (cell["served"], cell["output_tokens"], cell["server_tokens"]) == (48, 1920, 1920)
        assert cell["accepted"] == [0, 48 * 20]


# --- one set of figures ---------------------------------------------------------------------------


def test_whoever_shows_a_figure_shows_the_same() -> None:
    """Repeats of unlike size and speed, whose mean is not the figure of all their requests."""
    cells = [made_cell(8, repeat=0, requests=8), made_cell(8, repeat=1, requests=24)]
    cells[1] = msgspec.structs.replace(cells[1], seconds=1.7 * cells[1].seconds)
    run = made_run(cells=tuple(cells))
    (whole,) = figures_of(run)
    mean = sum(cell_figures(run, cell).tok_s or 0.0 for cell in cells) / 2
    assert whole.tok_s is not None
    assert abs(mean / whole.tok_s - 1.0) > 0.05
    speed, accept = f"{whole.tok_s:.1f}", f"{whole.accept_length:.2f}"
    printed = next(line.split() for line in table(run) if line.split()[:1] == ["8"])
    assert (printed[1], accept in printed) == (speed, True)
    shown = [line.split() for line in show_lines(run)]
    assert ["tok/s", speed] in shown
    assert ["accept", "length", accept] in shown
    document = _document(run, [])
    compared = compare([run])
    (cell,) = comparison_document(compared)["runs"][0]["cells"]
    (figures,) = document["figures"]
    for name in ("tok_s", "tok_s_low", "tok_s_high", "accept_length", "step_ms", "tpot_ms"):
        assert figures[name] == cell[name]
    assert cell["tok_s"] == whole.tok_s
    assert f"| {speed} |" in "\n".join(markdown_lines(compared))
    assert str(whole.tok_s) in csv_text(compared)
    for exported, kept, one in zip(rows(run), document["cells"], cells, strict=True):
        found = cell_figures(run, one)
        assert exported["output_throughput"] == kept["tok_s"] == found.tok_s
        assert exported["accept_length"] == kept["accept_length"] == found.accept_length
        assert exported["median_tpot_ms"] == kept["tpot_ms"]["p50"] == found.tpot_ms["p50"]


# --- words ----------------------------------------------------------------------------------------

NOW = Progress(
    cell=2, cells=6, concurrency=8, repeat=0, repeats=3, done=12, requests=32, tokens=3100,
    seconds=10.0, remaining=240.0,
)  # fmt: skip


def test_where_it_stands() -> None:
    line = progress_line(NOW)
    assert line.startswith("cell 2/6 · c=8 · repeat 1/3 · 12/32 requests · 310 tok/s · about 4 min")
    assert "tok/s" not in progress_line(msgspec.structs.replace(NOW, tokens=0))
    warm = progress_line(msgspec.structs.replace(NOW, warming=True, remaining=None))
    assert warm == "cell 2/6 · c=8 · warm-up · 12/32 requests"


def test_a_terminal_gets_one_line_that_changes_and_a_file_one_a_cell(tmp_path: Path) -> None:
    for live, expected in ((True, 2), (False, 1)):
        path = tmp_path / str(live)
        moments = iter([0.0, 0.0, 0.05, 1.0, 1.0])
        with path.open("w") as file:
            teller = Teller(file, live=live, clock=lambda m=moments: next(m))  # type: ignore[misc]
            for done in (1, 2, 3):
                teller.progress(msgspec.structs.replace(NOW, done=done))
        text = path.read_bytes().decode()
        assert text.count("cell 2/6") == expected
        assert ("\r\x1b[K" in text) == live
