"""The person's runs as the screen has them, from a real database."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from eagletui.cli.run_shelf import DiskShelf
from eagletui.model.errors import EagletuiError
from eagletui.model.figures import figures_of
from eagletui.model.keeping import ReportForm
from eagletui.model.series import Window
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore
from tests.store.runs.made import made_cell, made_run

OLD = made_run("aaaaaaaaaaaa", "old", began=1000.0)
NEW = made_run("bbbbbbbbbbbb", "new", began=2000.0, cells=(made_cell(seconds=1.0),))


@pytest.fixture
def shelf(tmp_path: Path) -> DiskShelf:
    with Database(runs_file()) as database:
        for run in (OLD, NEW):
            Runs(database).add(run)
        SeriesStore(database).put(OLD.id, {"tok_s": Window([5.0, 6.0], [1.0, 2.0], b"\0\1")})
    return DiskShelf(tmp_path)


async def test_the_newest_run_is_first_and_its_figures_are_those_of_every_other_place(
    shelf: DiskShelf,
) -> None:
    kept = await shelf.kept()
    assert [run.name for run in kept.runs] == ["new", "old"]
    for line, run in zip(kept.runs, (NEW, OLD), strict=True):
        assert [(cell.concurrency, cell.tok_s, cell.accept_length) for cell in line.cells] == [
            (found.concurrency, found.tok_s, found.accept_length) for found in figures_of(run)
        ]


async def test_what_is_kept_of_how_a_run_went_is_given(shelf: DiskShelf) -> None:
    found = await shelf.series([OLD.id, NEW.id, "nobody"])
    assert {run: list(named) for run, named in found.items()} == {
        OLD.id: ["tok_s"], NEW.id: [], "nobody": [],
    }  # fmt: skip
    window = found[OLD.id]["tok_s"]
    assert (list(window.times), list(window.values), list(window.joined)) == (
        [5.0, 6.0], [1.0, 2.0], [0, 1],
    )  # fmt: skip


async def test_sessions_are_given_as_runs_are_as_far_as_they_go(shelf: DiskShelf) -> None:
    times = [1000.0 + n for n in range(5000)]
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        session = store.begin(host="gpu1", server=":30000", at=1000.0, about={})
        ones = Window(times, [7.0] * 5000, b"\0" + b"\1" * 4999)
        store.append(session.id, {"tok_s": ones, "gpu_power": ones})
    found = await shelf.series([OLD.id], [session.id, "nobody"])
    assert {owner: list(named) for owner, named in found.items()} == {
        OLD.id: ["tok_s"], session.id: ["tok_s"], "nobody": [],
    }  # fmt: skip
    window = found[session.id]["tok_s"]
    assert window.times[0] == 1000.0
    assert window.times[-1] > 5950.0
    assert 200 < len(window.times) <= 240
    assert set(window.values) == {7.0}


async def test_a_comparison_is_kept_under_its_name_and_words_are_changed(shelf: DiskShelf) -> None:
    compared = await shelf.compare([NEW.id, OLD.id], OLD.id)
    assert compared.baseline == OLD.id
    await shelf.save("before and after", [OLD.id, NEW.id], OLD.id)
    await shelf.annotate(OLD.id, name="first", notes="by night", tags=("a", "b"))
    await shelf.annotate(OLD.id, tags=("b", "c"))
    kept = await shelf.kept()
    [saved] = kept.comparisons
    assert (saved.name, saved.runs, saved.baseline) == (
        "before and after", (OLD.id, NEW.id), OLD.id,
    )  # fmt: skip
    line = kept.runs[1]
    assert (line.name, line.notes, set(line.tags)) == ("first", "by night", {"b", "c"})


@pytest.mark.parametrize(("form", "begins"), [("md", "| "), ("html", "<!DOCTYPE html>")])
async def test_reports_never_write_over_one_another(
    shelf: DiskShelf, tmp_path: Path, form: ReportForm, begins: str
) -> None:
    compared = await shelf.compare([OLD.id, NEW.id], None)
    paths = {await shelf.report(compared, form) for _ in range(3)}
    assert len(paths) == 3
    for path in map(Path, paths):
        assert path.parent == tmp_path
        assert begins in path.read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_may_not_be_written_is_said(shelf: DiskShelf, tmp_path: Path) -> None:
    compared = await shelf.compare([OLD.id, NEW.id], None)
    os.chmod(tmp_path, 0o500)
    with pytest.raises(EagletuiError):
        await shelf.report(compared, "md")


async def test_a_folder_that_is_gone_is_said(shelf: DiskShelf, tmp_path: Path) -> None:
    compared = await shelf.compare([OLD.id, NEW.id], None)
    with pytest.raises(EagletuiError):
        await DiskShelf(tmp_path / "gone").report(compared, "html")


@pytest.mark.parametrize("table", ["runs", "cells"])
async def test_a_run_that_is_damaged_hides_no_other(shelf: DiskShelf, table: str) -> None:
    with sqlite3.connect(runs_file()) as connection:
        key = "id" if table == "runs" else "run"
        connection.execute(f"UPDATE {table} SET document = x'00' WHERE {key} = ?", (OLD.id,))
    kept = await shelf.kept()
    assert [(run.name, run.damaged) for run in kept.runs] == [("new", False), ("old", True)]
