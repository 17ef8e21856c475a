"""`eagletui runs` and `eagletui compare`: text, JSON and exit statuses."""

from __future__ import annotations

import html
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eagletui.cli.main import main
from eagletui.cli.run_files import read_runs
from eagletui.cli.run_shelf import DiskShelf
from eagletui.model.errors import EagletuiError
from eagletui.model.series import Window
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore
from tests.recorded_replies import TABLE, replies_text
from tests.store.runs.made import made_cell, made_run

NAMES = [row.file for row in TABLE]


def run(*words: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    if result.exception is not None:
        assert isinstance(result.exception, SystemExit), result.exception
    return result


def document(*words: object) -> Any:
    return json.loads(run(*words, "--json").stdout)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The recordings as they lie on a disk."""
    paths = {name: tmp_path / f"{name}.jsonl" for name in NAMES}
    for name, path in paths.items():
        path.write_text(replies_text(name))
    return paths


@pytest.fixture
def kept(files: dict[str, Path]) -> Iterator[Runs]:
    """The recordings imported."""
    run("runs", "import", *files.values())
    with Database(runs_file()) as database:
        yield Runs(database)


# --- import ---------------------------------------------------------------------------------------


def test_replies_are_imported_and_refused_a_second_time(files: dict[str, Path]) -> None:
    found = document("runs", "import", *files.values())
    assert [row["name"] for row in found["imported"]] == NAMES
    again = run("runs", "import", files["dense_k3_c1"], status=1)
    assert "kept already" in again.stderr
    assert again.stdout == ""
    assert len(document("runs", "list")["runs"]) == len(NAMES)


def test_the_same_replies_under_another_name_are_refused(
    files: dict[str, Path], tmp_path: Path
) -> None:
    run("runs", "import", files["dense_k3_c1"])
    other = tmp_path / "other.jsonl"
    other.write_text(files["dense_k3_c1"].read_text() + "\n")
    assert "kept already" in run("runs", "import", other, status=1).stderr


def test_bench_serving_lines_are_imported(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    line = {
        "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"),
        "max_concurrency": 8, "duration": 30.0, "completed": 64, "total_output_tokens": 15000,
        "output_throughput": 500.0, "mean_tpot_ms": 11.0, "accept_length": 2.1,
    }  # fmt: skip
    path.write_text(json.dumps(line) + "\n" + json.dumps({**line, "output_throughput": 510.0}))
    assert "Infinity" in path.read_text()
    (row,) = document("runs", "import", path, "--name", "served", "--tag", "a")["imported"]
    shown = document("runs", "show", "served")
    assert shown["id"] == row["id"]
    assert [cell["repeat"] for cell in shown["cells"]] == [0, 1]
    assert shown["tags"] == ["a"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "is empty"),
        (b"\x00\x01\xff\xfe" * 50, "line 1"),
        (b"{}", "line 1: it is no measurement"),
        (b"[1, 2]\n", "line 1: it is no measurement"),
        (b'{"text": "x",\n', "line 1: it is no JSON"),
        (b'\n{"meta_info": {"completion_tokens": 1}}\n{"meta_info": 3}\n', "line 3"),
        (b'{"meta_info": {"completion_tokens": 1}}\nnot json\n', "line 2: it is no JSON"),
        (b"[" * 100_000, "line 1"),
        (b'{"eagletui_runs": 99}\n', "Update eagletui"),
        (b'{"eagletui_runs": 1}\n{"run": {"id": 5}}\n', "line 2"),
        (b'{"eagletui_runs": 1}\n{"run": {"id": "../../../x.."}}\n', "twelve letters"),
        (b'{"eagletui_runs": 1}\n{"other": 1}\n', "line 2: it is neither a run nor a series"),
        (b'{"eagletui_runs": 1}\n{"series": {"run": "x", "name": "", "times": [], "values": [],'
         b' "joined": []}}\n', "line 2: it is a series of a run"),
        (b'{"output_throughput": 1, "duration": 0, "completed": 1, "total_output_tokens": 1}',
         "line 1: duration is 0; it must be above 0"),
    ],
)  # fmt: skip
def test_a_bad_file_is_said_with_its_line_and_nothing_is_kept(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    result = run("runs", "import", path, status=1)
    assert said in result.stderr
    assert str(path) in result.stderr
    assert document("runs", "list")["runs"] == []


def test_a_line_without_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagletui.cli.run_files.LINE_LIMIT", 1 << 20)
    path = tmp_path / "endless"
    path.write_bytes(b"x" * (3 << 20))
    assert "line 1: it is longer than 1 MB" in run("runs", "import", path, status=1).stderr


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path, name: str) -> None:
    assert str(tmp_path) in run("runs", "import", tmp_path / name, status=2).stderr


def _ours(**change: Any) -> str:
    cell = msgspec.to_builtins(made_cell())
    run_ = {**msgspec.to_builtins(made_run()), "cells": [{**cell, **change}]}
    return json.dumps({"eagletui_runs": 1}) + "\n" + json.dumps({"run": run_})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_ours(concurrency=0), "cells[0].concurrency is 0; it must be 1 or more"),
        (_ours(seconds=-1.5), "cells[0].seconds is -1.5; it must be 0 or more"),
        (_ours(seconds=float("nan")), "cells[0].seconds is nan"),
        (_ours(power_watts=float("inf")), "cells[0].power_watts is inf"),
        ('\n{"duration": 0, "output_throughput": 1, "completed": 1, "total_output_tokens": 1}',
         "duration is 0; it must be above 0"),
        ('\n{"meta_info": {"completion_tokens": -7, "e2e_latency": 1.0}}',
         "completion_tokens is -7; it must be 0 or more"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [("runs", "import"), ("compare",)])
def test_a_figure_that_cannot_be_is_said_with_file_line_field_and_what_to_do(
    content: str, said: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "made up.jsonl"
    path.write_text(content)
    told = run(*words, path, status=1).stderr
    assert f"{path}: line 2: {said}" in told
    assert "nothing of the file was imported." in told
    assert document("runs", "list")["runs"] == []


@pytest.mark.parametrize("words", [("runs", "import"), ("compare", "x.jsonl")])
def test_a_link_that_leads_in_a_circle_is_called_one(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text(replies_text(NAMES[0]))
    Path("circle").symlink_to("circle")
    said = run(*words, "circle", status=2).stderr
    assert "circle cannot be read: Too many levels of symbolic links." in said
    assert "Check its path." in said


def test_a_name_for_several_runs_is_wrong_usage(tmp_path: Path) -> None:
    run_a, run_b = made_run("a" * 12), made_run("b" * 12, cells=(made_cell(2),))
    path = tmp_path / "two.jsonl"
    with Database(runs_file()) as database:
        Runs(database).add(run_a)
        Runs(database).add(run_b)
    run("runs", "export", "--all", "-o", path)
    run("runs", "rm", "a" * 12, "b" * 12, "--yes")
    assert "2 runs" in run("runs", "import", path, "--name", "x", status=2).stderr
    assert len(document("runs", "import", path)["imported"]) == 2


def test_of_a_file_all_runs_are_kept_or_none(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    with Database(runs_file()) as database:
        Runs(database).add(made_run("a" * 12))
        Runs(database).add(made_run("b" * 12, cells=(made_cell(2),)))
    run("runs", "export", "a" * 12, "b" * 12, "-o", path)
    run("runs", "rm", "a" * 12, "--yes")
    assert "bbbbbbbbbbbb" in run("runs", "import", path, status=1).stderr
    assert [row["id"] for row in document("runs", "list")["runs"]] == ["b" * 12]


@given(st.binary(max_size=400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_file_is_runs_or_a_message(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    with pytest.raises(EagletuiError, match=r"empty|ine 1|ine \d"):
        read_runs(path)


# --- export ---------------------------------------------------------------------------------------


def test_an_export_is_imported_as_it_was(kept: Runs, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    whole = kept.get(kept.id("dense_k3_c1"))
    window = Window([1.0, 2.5, 4.0], [1.5, 2.0, 0.25], b"\x00\x01\x00")
    with Database(runs_file()) as database:
        SeriesStore(database).put(whole.id, {"tok_s": window})
    assert document("runs", "export", "--all", "-o", path)["path"] == str(path)
    run("runs", "rm", "dense_k3_c1", "--yes")
    with pytest.raises(EagletuiError):
        kept.get(whole.id)
    run("runs", "rm", *(name for name in NAMES if name != "dense_k3_c1"), "--yes")
    run("runs", "import", path)
    assert kept.get(whole.id) == whole
    with Database(runs_file()) as database:
        found = SeriesStore(database).window(whole.id, "tok_s")
    assert (list(found.times), list(found.values), list(found.joined)) == (
        [1.0, 2.5, 4.0], [1.5, 2.0, 0.25], [0, 1, 0],
    )  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("bare", [True, False])
def test_what_bench_writes_is_imported(tmp_path: Path, indent: int | None, bare: bool) -> None:
    """`bench --out` writes a run, `bench --json` prints one among its figures."""
    measured = made_run(name="bench")
    row = msgspec.to_builtins(measured)
    path = tmp_path / "run.json"
    document_ = row if bare else {"run": row, "cells": [{"concurrency": 1}], "notes": []}
    path.write_text(json.dumps(document_, indent=indent) + "\n")
    run("runs", "import", path)
    assert msgspec.convert(document("runs", "show", "bench"), type(measured)) == measured


def test_an_export_goes_to_standard_output(kept: Runs) -> None:
    lines = run("runs", "export", "dense_k3_c1").stdout.splitlines()
    assert json.loads(lines[0]) == {"eagletui_runs": 1}
    assert json.loads(lines[1])["run"]["name"] == "dense_k3_c1"
    assert len(lines) == 2


def test_an_export_writes_over_nothing(kept: Runs, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    assert "there already" in run("runs", "export", "--all", "-o", path, status=2).stderr
    assert path.read_text() == "mine"
    run("runs", "export", "--all", "-o", path, "--force")
    assert path.read_text() != "mine"


def test_secrets_and_escapes_of_an_import_are_neither_kept_nor_shown(tmp_path: Path) -> None:
    evil = {
        "id": "e" * 12,
        "name": "n\x1b[31mred",
        "cells": [],
        "surroundings": {
            "argv": ["--api-key", "sesame-key"],
            "environment": {"HF_TOKEN": "hf_sesame"},
            "arguments": {"admin_api_key": "sesame", "port": 3},
        },
    }
    path = tmp_path / "evil.jsonl"
    path.write_text('{"eagletui_runs": 1}\n' + json.dumps({"run": evil}) + "\n")
    run("runs", "import", path)
    for words in (("runs", "list"), ("runs", "show", "e" * 12), ("runs", "export", "--all")):
        for form in ([], ["--json"]):
            output = run(*words, *form).output
            assert "sesame" not in output
            assert "\x1b" not in output
    with sqlite3.connect(runs_file()) as connection:
        (data,) = connection.execute("SELECT document FROM runs").fetchone()
    assert b"sesame" not in data


# --- list, show, tag, note, rm --------------------------------------------------------------------


def test_the_list_of_no_runs_says_how_to_get_some() -> None:
    assert "eagletui runs import" in run("runs", "list").stdout
    assert document("runs", "list") == {"runs": [], "comparisons": []}


def test_the_list_has_a_line_for_each(kept: Runs) -> None:
    lines = run("runs", "list").stdout.splitlines()
    assert len(lines) == len(NAMES)
    assert any("dense_k3_c1  speculation k=3 topk=1 draft=4  at 1" in line for line in lines)


def test_show_has_figures(kept: Runs) -> None:
    output = run("runs", "show", "dense_k3_c1").stdout
    assert "344.2" in output
    assert "verdict" not in output
    assert document("runs", "show", "dense_k3_c1")["cells"][0]["concurrency"] == 1


def test_tags_and_notes(kept: Runs) -> None:
    assert document("runs", "tag", "dense_k3_c1", "b", "a")["tags"] == ["a", "b"]
    assert document("runs", "tag", "dense_k3_c1", "--remove", "b")["tags"] == ["a"]
    assert [row["name"] for row in document("runs", "list", "--tag", "a")["runs"]] == [
        "dense_k3_c1"
    ]
    said = document("runs", "note", "dense_k3_c1", "warm", "--name", "best")
    assert (said["name"], said["notes"]) == ("best", "warm")
    assert "warm" in run("runs", "show", "best").stdout
    assert document("runs", "note", "best", "")["notes"] == ""


@pytest.mark.parametrize("words", [("tag", "x"), ("note", "x"), ("export",), ("rm",)])
def test_too_little_is_wrong_usage(words: tuple[str, ...]) -> None:
    run("runs", *words, status=2)


def test_removing_needs_a_word_where_nobody_can_be_asked(kept: Runs) -> None:
    result = run("runs", "rm", "dense_k3_c1", status=2)
    assert "--yes" in result.stderr
    assert kept.find("dense_k3_c1")
    found = kept.id("dense_k3_c1")
    assert document("runs", "rm", "dense_k3_c1", "--yes") == {"removed": [found]}
    assert len(kept.rows()) == len(NAMES) - 1


@pytest.mark.parametrize(("answer", "status", "left"), [("y", 0, 4), ("n", 1, 6), ("", 1, 6)])
def test_a_person_is_asked_before_runs_are_removed(
    kept: Runs, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, left: int
) -> None:
    monkeypatch.setattr("eagletui.cli.runs.somebody_is_there", lambda: True)
    words = ["runs", "rm", "dense_k3_c1", "spec5_t1"]
    result = CliRunner().invoke(main, words, input=f"{answer}\n" if answer else "")
    assert result.exit_code == status
    assert "Remove 2 for good?" in result.stderr
    assert "dense_k3_c1" in result.stderr
    assert len(kept.rows()) == left


@pytest.mark.parametrize("command", ["show", "rm", "tag", "note"])
def test_a_run_that_is_not_there_is_wrong_usage(kept: Runs, command: str) -> None:
    words = {"rm": ["--yes"], "tag": ["t"], "note": ["t"]}.get(command, [])
    result = run("runs", command, "dense_k3_cc", *words, status=2)
    assert "Did you mean dense_k3_c1" in result.stderr


def test_a_newer_database_is_said(kept: Runs) -> None:
    with Database(runs_file()) as database, database.write() as connection:
        connection.execute("PRAGMA user_version = 77")
    for words in (("runs", "list"), ("compare", "a", "b"), ("runs", "show", "x")):
        assert "newer eagletui" in run(*words, status=1).stderr


# --- compare --------------------------------------------------------------------------------------


def test_compare_has_the_contract(kept: Runs) -> None:
    found = document("compare", *NAMES)
    assert list(found) == ["baseline", "runs", "differences", "verdicts", "break_even"]
    assert found["baseline"] == found["runs"][0]["id"]
    assert [round(run["cells"][0]["tok_s"], 1) for run in found["runs"]] == [
        215.0, 270.6, 319.0, 344.2, 345.3, 342.4,
    ]  # fmt: skip
    assert {verdict["verdict"] for verdict in found["verdicts"]} == {"faster"}
    assert json.loads(run("compare", *NAMES, "--format", "json").stdout) == found


def test_files_are_compared_without_being_kept(files: dict[str, Path]) -> None:
    found = document("compare", files["dense_k0_c1"], files["dense_k3_c1"])
    assert found["verdicts"][0]["ratio"] == pytest.approx(344.2 / 215.0, abs=0.001)
    assert document("runs", "list")["runs"] == []


def test_runs_and_files_and_prefixes_mix(kept: Runs, files: dict[str, Path]) -> None:
    prefix = kept.id("dense_k7_c1")[:5]
    found = document("compare", files["dense_k3_c1"], prefix, "--baseline", prefix)
    assert found["baseline"] == kept.id("dense_k7_c1")
    assert found["verdicts"][0]["verdict"] == "tie"


def test_the_baseline_may_be_one_more_run(kept: Runs) -> None:
    found = document("compare", "dense_k3_c1", "spec5_t1", "--baseline", "dense_k2_c1")
    assert [row["name"] for row in found["runs"]] == ["dense_k2_c1", "dense_k3_c1", "spec5_t1"]
    assert [verdict["verdict"] for verdict in found["verdicts"]] == ["faster", "faster"]


@pytest.mark.parametrize(
    ("form", "begins"),
    [("table", "Runs\n"), ("csv", "id,name,"), ("md", "## Comparison"), ("html", "<!DOCTYPE")],
)
def test_formats(kept: Runs, tmp_path: Path, form: str, begins: str) -> None:
    text = run("compare", "dense_k0_c1", "dense_k3_c1", "--format", form).stdout
    assert text.startswith(begins)
    assert "344.2" in text
    path = tmp_path / "report"
    result = run("compare", "dense_k0_c1", "dense_k3_c1", "--format", form, "-o", path)
    assert path.read_text() == text
    assert result.stdout == ""
    run("compare", "dense_k0_c1", "dense_k3_c1", "--format", form, "-o", path, status=2)


def test_comparisons_are_saved_under_a_name(kept: Runs, files: dict[str, Path]) -> None:
    first = document(
        "compare", "dense_k3_c1", "spec5_t1", "--baseline", "dense_k2_c1", "--save", "steps"
    )
    assert document("compare", "steps") == first
    (saved,) = document("runs", "list")["comparisons"]
    assert (saved["name"], saved["baseline"]) == ("steps", kept.id("dense_k2_c1"))
    assert "comparison steps" in run("runs", "list").stdout
    again = document("compare", "steps", "--baseline", "dense_k3_c1")
    assert again["baseline"] == kept.id("dense_k3_c1")


@pytest.mark.parametrize("form", ["table", "md", "html", "csv", "json"])
def test_a_saved_comparison_opens_without_the_run_that_was_removed(kept: Runs, form: str) -> None:
    first, second, third = NAMES[:3]
    run("compare", first, second, third, "--baseline", second, "--save", "all")
    there = {name: kept.id(name) for name in (first, second, third)}
    run("runs", "note", second, "--name", "k 3")
    run("runs", "rm", "k 3", "--yes")
    done = run("compare", "all", "--format", form)
    said = f"Removed meanwhile and missing here: {there[second]} (k 3), the baseline."
    if form == "json":
        found = json.loads(done.stdout)
        assert found["gone"] == [{"id": there[second], "name": "k 3", "baseline": True}]
        assert [one["id"] for one in found["runs"]] == [there[first], there[third]]
        assert found["baseline"] == there[first]
    else:
        told = html.unescape(done.stderr if form == "csv" else done.stdout).replace("\\", "")
        assert told.count(said) == 1
        assert first in told + done.stdout
        assert third in told + done.stdout


def test_of_a_comparison_one_run_may_be_left_or_none(kept: Runs) -> None:
    first, second = NAMES[:2]
    run("compare", first, second, "--save", "both of them")
    gone = kept.id(first), kept.id(second)
    run("runs", "rm", first, "--yes")
    found = document("compare", "both of them")
    assert [one["name"] for one in found["runs"]] == [second]
    assert found["gone"] == [{"id": gone[0], "name": first, "baseline": True}]
    run("runs", "rm", second, "--yes")
    said = run("compare", "both of them", status=2).stderr
    assert "Nothing is left of this comparison." in said
    assert f"{gone[0]} ({first}), the baseline; {gone[1]} ({second})." in said
    assert "`eagletui compare --forget 'both of them'` takes it away." in said


def test_a_saved_comparison_is_forgotten_and_its_runs_stay(kept: Runs) -> None:
    document("compare", "dense_k3_c1", "spec5_t1", "--save", "steps")
    assert "Did you mean steps?" in run("compare", "--forget", "stepz", status=2).stderr
    assert "compares nothing" in run("compare", "spec5_t1", "--forget", "steps", status=2).stderr
    assert document("compare", "--forget", "steps") == {"forgotten": "steps"}
    assert document("runs", "list")["comparisons"] == []
    assert kept.id("dense_k3_c1")
    assert "no run called steps" in run("compare", "steps", status=2).stderr
    assert "Which runs?" in run("compare", status=2).stderr


def test_only_what_is_kept_is_saved(files: dict[str, Path]) -> None:
    words = ("compare", files["dense_k0_c1"], files["dense_k3_c1"], "--save", "x")
    assert "runs import" in run(*words, status=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dense_k0_c1",), "two runs or more"),
        (("dense_k0_c1", "dense_k0_c1"), "two runs or more"),
        (("dense_k0_c1", "nothing_like"), "no run called nothing_like"),
        (("dense_k0_c1", "spec5_t1", "--baseline", "nothing_like"), "no run called"),
    ],
)
def test_what_is_no_comparison_is_wrong_usage(
    kept: Runs, words: tuple[str, ...], said: str
) -> None:
    assert said in run("compare", *words, status=2).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "NAME", "other"),
        ("compare", "other", "NAME", "--baseline", "NAME"),
        ("runs", "show", "NAME"),
        ("runs", "import", "NAME"),
        ("runs", "export", "--all", "-o", "NAME"),
        ("runs", "export", "--all", "-o", "NAME/x", "--force"),
    ],
)
def test_a_name_that_no_file_can_have_is_an_answer(words: tuple[str, ...]) -> None:
    name = "x" * 300
    result = CliRunner().invoke(main, [word.replace("NAME", name) for word in words])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert result.output.startswith("eagletui: ")


@pytest.mark.parametrize("variable", ["EAGLETUI_DATA", "EAGLETUI_CONFIG"])
def test_a_folder_of_a_user_who_is_not_there_is_an_answer(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "~nobody-of-this-name/x")
    result = CliRunner().invoke(main, ["paths", "--json"])
    assert result.exception is None


async def test_a_report_that_cannot_be_written_says_why(
    kept: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await DiskShelf().compare([row.id for row in kept.rows()[:2]], None)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for folder, said in (
        (None, "The folder that eagletui was started in is gone"),
        (gone, "There is no folder"),
        (Path("/proc"), "could not be written"),
    ):
        for form in ("md", "html"):
            with pytest.raises(EagletuiError, match=said) as caught:
                await DiskShelf(folder).report(found, form)
            assert caught.value.advice


async def test_a_disk_that_refuses_is_no_fault_of_the_screen(
    kept: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("eagletui.cli.run_shelf.write_export", refused)
    found = await DiskShelf().compare([row.id for row in kept.rows()[:2]], None)
    with pytest.raises(EagletuiError, match="Input/output error"):
        await DiskShelf().report(found, "md")


@pytest.mark.parametrize("name", ["", "  "])
def test_a_comparison_needs_a_name(kept: Runs, name: str) -> None:
    both = [row.id for row in kept.rows()[:2]]
    assert "needs a name" in run("compare", *both, "--save", name, status=2).output
    assert kept.comparisons() == ()


def test_a_long_name_leaves_the_list_as_wide_as_it_is(kept: Runs) -> None:
    width = max(map(len, run("runs", "list").output.splitlines()))
    kept.rename(kept.rows()[0].id, "x" * 500)
    assert max(map(len, run("runs", "list").output.splitlines())) <= width + 48
    assert "x" * 500 in run("runs", "list", "--json").output
