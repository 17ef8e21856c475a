"""The person's runs as the screen has them, from a real database."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from eagletui.cli.run_shelf import DiskShelf
from eagletui.model import figures, statistics
from eagletui.model.errors import EagletuiError
from eagletui.model.figures import figures_of
from eagletui.model.gone import Gone
from eagletui.model.keeping import ReportForm
from eagletui.model.run import Run
from eagletui.model.series import Window
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Comparison, Runs
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


class Counted:
    """How often runs were decoded and resampled, whoever did it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.decoded: list[str] = []
        self.resampled = 0
        get, resampled = Runs.get, statistics.resampled

        def counted_get(runs: Runs, run: str) -> Run:
            self.decoded.append(run)
            return get(runs, run)

        def counted_resampled(*given: Any, **named: Any) -> tuple[float, ...]:
            self.resampled += 1
            return resampled(*given, **named)

        def no_rows(_: Runs) -> NoReturn:
            raise AssertionError("the list decoded every run once more")

        monkeypatch.setattr(Runs, "get", counted_get)
        monkeypatch.setattr(Runs, "rows", no_rows)
        monkeypatch.setattr(figures, "resampled", counted_resampled)

    def since(self) -> list[str]:
        """Decoded since the last time that was asked."""
        found, self.decoded = self.decoded, []
        return found


async def test_each_run_is_decoded_once_until_it_changes(
    shelf: DiskShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(runs_file()) as database:
        runs = Runs(database)
        for at in range(500):
            cells = (made_cell(seconds=3.0 + at, requests=1),)
            runs.add(made_run(f"{at:c>12}", f"run {at}", began=3000.0 + at, cells=cells))
        begun = made_run("z" * 12, "begun", began=9000.0, cells=())
        runs.begin(begun)
        counted = Counted(monkeypatch)
        first = await shelf.kept()
        assert len(first.runs) == len(set(counted.since())) == 503
        for _ in range(3):
            assert await shelf.kept() == first
        assert counted.since() == []
        for change in (
            lambda: runs.note(OLD.id, "by night"),
            lambda: runs.tag(OLD.id, ["a"]),
            lambda: runs.rename(OLD.id, "older"),
        ):
            change()
            assert [run.id for run in (await shelf.kept()).runs].index(OLD.id) == 502
            assert counted.since() == [OLD.id]
        runs.add_cell(begun.id, made_cell())
        assert [cell.concurrency for cell in (await shelf.kept()).runs[0].cells] == [1]
        assert counted.since() == [begun.id]
        runs.finish(begun.id, ended=9100.0)
        counted.since()
        assert not (await shelf.kept()).runs[0].partial
        assert counted.since() == [begun.id]
        runs.remove(NEW.id)
        assert NEW.id not in {run.id for run in (await shelf.kept()).runs}
        assert counted.since() == []
        assert counted.resampled == 0


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


async def test_a_comparison_tells_the_runs_that_were_removed(shelf: DiskShelf) -> None:
    with Database(runs_file()) as database:
        Runs(database).save_comparison(
            Comparison(name="both", saved=1.0, runs=(OLD.id, NEW.id), baseline=OLD.id)
        )
        Runs(database).remove(OLD.id)
    found = await shelf.compare((OLD.id, NEW.id, "c" * 12), OLD.id)
    assert [side.run.id for side in found.sides] == [NEW.id]
    assert found.gone == (Gone(OLD.id, "old", baseline=True), Gone("c" * 12))
    with pytest.raises(EagletuiError, match="Nothing is left") as caught:
        await shelf.compare((OLD.id,), None)
    assert caught.value.meaning == f"Removed meanwhile and missing here: {OLD.id} (old)."
    assert caught.value.advice == "`eagletui runs list` shows what is kept."
    with Database(runs_file()) as database:
        Runs(database).remove(NEW.id)
    with pytest.raises(EagletuiError, match="Nothing is left") as caught:
        await shelf.compare((OLD.id, NEW.id), OLD.id)
    assert caught.value.advice == "`eagletui compare --forget both` takes it away."


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


async def test_a_comparison_that_is_damaged_says_how_it_is_taken_away(shelf: DiskShelf) -> None:
    for name, said in (("night \x1b[31m1", "'night 1'"), ("day", "NAME")):
        with Database(runs_file()) as database:
            Runs(database).save_comparison(
                Comparison(name=name, saved=1.0, runs=(), baseline=OLD.id)
            )
        with pytest.raises(EagletuiError, match="can't be read") as caught:
            await shelf.compare((), None)
        assert caught.value.advice == (
            "Mark the runs and compare them again; "
            f"`eagletui compare --forget {said}` takes it away."
        )


@pytest.mark.parametrize("table", ["runs", "cells"])
async def test_a_run_that_is_damaged_hides_no_other(shelf: DiskShelf, table: str) -> None:
    with sqlite3.connect(runs_file()) as connection:
        key = "id" if table == "runs" else "run"
        connection.execute(f"UPDATE {table} SET document = x'00' WHERE {key} = ?", (OLD.id,))
    kept = await shelf.kept()
    assert [(run.name, run.damaged) for run in kept.runs] == [("new", False), ("old", True)]


async def test_a_run_that_comes_again_under_its_id_is_the_one_that_is_shown(
    shelf: DiskShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where all that tells them apart is in the document: the cells are the same."""
    before = (await shelf.kept()).runs
    counted = Counted(monkeypatch)
    for other in (
        replace(OLD, surroundings=replace(OLD.surroundings, model="/models/sparse")),
        replace(OLD, surroundings=replace(OLD.surroundings, model="/models/spares")),  # as long
        replace(OLD, surroundings=replace(OLD.surroundings, host="gpu2")),
    ):
        with Database(runs_file()) as database:
            Runs(database).remove(OLD.id)
            Runs(database).add(other)
        (new, old) = (await shelf.kept()).runs
        assert new == before[0]
        assert (old.model, old.host) == (other.surroundings.model, other.surroundings.host)
        assert counted.since() == [OLD.id]


@pytest.mark.parametrize("table", ["runs", "cells"])
async def test_a_run_that_was_damaged_is_looked_at_again(
    shelf: DiskShelf, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was damaged after it was shown, or repaired after it was shown damaged."""
    sound = (await shelf.kept()).runs
    counted = Counted(monkeypatch)
    key = "id" if table == "runs" else "run"
    where = f"FROM {table} WHERE {key} = '{OLD.id}'"
    for damage in (b"\0", 5, None):
        with closing(sqlite3.connect(runs_file())) as connection:
            documents = [document for (document,) in connection.execute(f"SELECT document {where}")]
        for document, damaged in ((damage, True), (documents[0], False)):
            with closing(sqlite3.connect(runs_file())) as connection, connection:
                connection.execute(
                    f"UPDATE {table} SET document = coalesce(?, x'') WHERE {key} = ?"
                    + (" AND position = 0" if table == "cells" else ""),
                    (document, OLD.id),
                )
            assert [run.damaged for run in (await shelf.kept()).runs] == [False, damaged]
        assert (await shelf.kept()).runs == sound
        assert counted.since() == [OLD.id, OLD.id]


async def test_a_run_that_stays_damaged_is_shown_so_until_it_is_whole(shelf: DiskShelf) -> None:
    """Where nothing but the content of its cells tells that it was repaired."""
    with closing(sqlite3.connect(runs_file())) as connection, connection:
        (whole,) = connection.execute(
            "SELECT document FROM cells WHERE run = ? AND position = 0", (OLD.id,)
        ).fetchone()
        change = "UPDATE cells SET document = ? WHERE run = ? AND position = 0"
        connection.execute(change, (bytes(len(whole)), OLD.id))
        connection.commit()
        for _ in range(2):
            assert [run.damaged for run in (await shelf.kept()).runs] == [False, True]
        connection.execute(change, (whole, OLD.id))
        connection.commit()
        assert [run.damaged for run in (await shelf.kept()).runs] == [False, False]


async def test_a_session_that_was_damaged_is_looked_at_again(shelf: DiskShelf) -> None:
    with Database(runs_file()) as database:
        store = SeriesStore(database)
        session = store.begin(host="gpu1", server=":30000", at=1000.0, about={"model": "m"})
        window = Window([1000.0, 1001.0], [7.0, 7.0], b"\0\1")
        store.append(session.id, {"tok_s": window, "accept_length": window})
    with closing(sqlite3.connect(runs_file())) as connection:
        (low,) = connection.execute(
            "SELECT low FROM series WHERE owner = ? AND name = 'tok_s'", (session.id,)
        ).fetchone()
        change = "UPDATE series SET low = ? WHERE owner = ? AND name = 'tok_s'"
        for content, mean in ((b"\0", None), (low, 7.0)):
            connection.execute(change, (content, session.id))
            connection.commit()
            (found,) = (await shelf.kept()).sessions
            assert (found.tok_s, found.accept_length) == (mean, 7.0)
        about = "UPDATE sessions SET document = ? WHERE id = ?"
        for document, model in ((b"\0", ""), (b'{"model": "other"}', "other")):
            connection.execute(about, (document, session.id))
            connection.commit()
            (found,) = (await shelf.kept()).sessions
            assert found.model == model
