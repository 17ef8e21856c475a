from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.model.gone import Gone
from eagletui.model.run import Run
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunExists, RunNotFound
from eagletui.store.runs.runs import Comparison, Runs, digest_of
from tests.store.runs.made import made_cell, made_run


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with Database(tmp_path / "runs.db") as database:
        yield Runs(database)


def _other(run: str, name: str, tokens: int, **fields: object) -> Run:
    return made_run(run, name, cells=(made_cell(requests=tokens),), **fields)


def test_a_run_comes_back_as_it_was(runs: Runs) -> None:
    run = made_run(notes="first try\nsecond line", tags=("nccl", "pcie"), partial=True)
    runs.add(run)
    assert runs.get(run.id) == run


def test_a_run_is_kept_cell_by_cell(runs: Runs) -> None:
    whole = made_run()
    runs.begin(whole)
    assert runs.get(whole.id) == replace(whole, cells=(), ended=None, partial=True)
    for cell in whole.cells:
        runs.add_cell(whole.id, cell)
    runs.finish(whole.id, ended=whole.ended or 0.0)
    assert runs.get(whole.id) == whole


def test_a_run_measured_here_is_known_when_it_is_imported_again(runs: Runs) -> None:
    whole = made_run()
    runs.begin(whole)
    for cell in whole.cells:
        runs.add_cell(whole.id, cell)
    runs.finish(whole.id, ended=1.0)
    with pytest.raises(RunExists, match="aaaaaaaaaaaa"):
        runs.add(replace(whole, id="b" * 12, name="other"))


def test_the_same_run_twice_is_refused_by_id_and_by_content(runs: Runs) -> None:
    runs.add(made_run())
    with pytest.raises(RunExists, match="aaaaaaaaaaaa chain-2"):
        runs.add(_other("aaaaaaaaaaaa", "same id", 3))
    with pytest.raises(RunExists, match="aaaaaaaaaaaa"):
        runs.add(made_run("bbbbbbbbbbbb", "other name, same cells", notes="x"))
    assert [row.id for row in runs.rows()] == ["aaaaaaaaaaaa"]


def test_two_runs_without_cells_are_no_duplicates(runs: Runs) -> None:
    runs.begin(made_run("a" * 12))
    runs.begin(made_run("b" * 12))
    assert len(runs.rows()) == 2
    assert digest_of(made_run(cells=())) == ""


def test_the_list_has_the_newest_first(runs: Runs) -> None:
    runs.add(_other("a" * 12, "old", 2, began=10.0))
    runs.add(_other("b" * 12, "new", 3, began=20.0))
    rows = runs.rows()
    assert [row.name for row in rows] == ["new", "old"]
    assert rows[0].speculative == "EAGLE3 k=2 topk=1 draft=3"
    assert rows[0].concurrency == (1,)


def test_a_run_is_found_by_id_prefix_or_name(runs: Runs) -> None:
    runs.add(_other("abc123456789", "fast", 2))
    runs.add(_other("abd123456789", "slow", 3))
    runs.add(_other("fast12345678", "abc", 4))
    assert runs.id("abc123456789") == "abc123456789"
    assert runs.id("abd1") == "abd123456789"
    assert runs.id("slow") == "abd123456789"
    # A whole name goes before the beginning of an id.
    assert runs.id("abc") == "fast12345678"
    assert runs.id("fast") == "abc123456789"
    assert runs.find("slow").name == "slow"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("ab", "2 runs are called ab: abc123456789, abd123456789"),
        ("twin", "2 runs are called twin"),
        ("a", "There is no run called a"),
        ("slwo", "Did you mean slow"),
        ("%", "no run called %"),
        ("", "no run called"),
    ],
)
def test_what_is_not_one_run_is_said(runs: Runs, word: str, said: str) -> None:
    runs.add(_other("abc123456789", "twin", 2, began=2.0))
    runs.add(_other("abd123456789", "twin", 3, began=1.0))
    runs.add(_other("zzz123456789", "slow", 4))
    with pytest.raises(RunNotFound) as missing:
        runs.find(word)
    assert said in str(missing.value)
    assert missing.value.exit_status == 2


def test_notes_names_and_tags_change(runs: Runs) -> None:
    runs.add(made_run(tags=("old",)))
    runs.note("aaaaaaaaaaaa", "warm")
    runs.rename("aaaaaaaaaaaa", "best")
    assert runs.tag("aaaaaaaaaaaa", add=["b", "a", "b"], remove=["old", "none"]) == ("a", "b")
    run = runs.get("aaaaaaaaaaaa")
    assert (run.notes, run.name, run.tags) == ("warm", "best", ("a", "b"))
    assert run.cells == made_run().cells


def test_a_run_that_is_removed_is_gone(runs: Runs) -> None:
    runs.add(made_run())
    runs.remove("aaaaaaaaaaaa")
    assert runs.rows() == ()
    runs.add(made_run())


@pytest.mark.parametrize("method", ["remove", "get", "tag"])
def test_a_run_that_is_not_there_is_said(runs: Runs, method: str) -> None:
    with pytest.raises(RunNotFound):
        getattr(runs, method)("nothing")
    with pytest.raises(RunNotFound):
        runs.add_cell("nothing", made_cell())
    with pytest.raises(RunNotFound):
        runs.note("nothing", "")


def test_a_removed_runs_name_is_known_as_long_as_a_comparison_names_it(runs: Runs) -> None:
    one, two, alone = (made_run(letter * 12, letter) for letter in "abc")
    for number, run in enumerate((one, two, alone)):
        runs.add(replace(run, cells=(made_cell(seconds=1.0 + number),)))
    runs.save_comparison(Comparison(name="x", saved=1.0, runs=(one.id, two.id), baseline=one.id))
    assert runs.gone((one.id, two.id), one.id) == ()
    runs.rename(one.id, "other")
    for run in (one, alone):
        runs.remove(run.id)
    assert runs.gone((one.id, two.id, alone.id), one.id) == (
        Gone(one.id, "other", baseline=True), Gone(alone.id),
    )  # fmt: skip
    runs.remove_comparison("x")
    assert runs.gone((one.id,)) == (Gone(one.id),)


def test_a_removed_runs_name_goes_when_its_comparison_is_saved_over(runs: Runs) -> None:
    one, two = (made_run(letter * 12, letter) for letter in "ab")
    for number, run in enumerate((one, two)):
        runs.add(replace(run, cells=(made_cell(seconds=1.0 + number),)))
    both = Comparison(name="x", saved=1.0, runs=(one.id, two.id), baseline=one.id)
    runs.save_comparison(both)
    runs.remove(one.id)
    runs.save_comparison(replace(both, saved=2.0, baseline=two.id))
    assert runs.gone((one.id,)) == (Gone(one.id, "a"),)
    runs.save_comparison(replace(both, saved=3.0, runs=(two.id,), baseline=two.id))
    assert runs.gone((one.id,)) == (Gone(one.id),)


def test_comparisons_have_names(runs: Runs) -> None:
    first = Comparison(name="nccl", saved=1.0, runs=("a" * 12, "b" * 12), baseline="a" * 12)
    runs.save_comparison(first)
    runs.save_comparison(replace(first, name="steps", saved=2.0))
    again = replace(first, saved=3.0, runs=("c" * 12,), baseline="c" * 12)
    runs.save_comparison(again)
    assert [kept.name for kept in runs.comparisons()] == ["nccl", "steps"]
    assert runs.comparison("nccl") == again
    assert runs.comparison("none") is None
    assert runs.remove_comparison("nccl")
    assert not runs.remove_comparison("nccl")
