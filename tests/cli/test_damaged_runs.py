"""A database whose pages are whole and whose content is not what was written."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import zlib
from array import array
from pathlib import Path

import pytest
from click.testing import CliRunner

from eagletui.cli.main import main
from eagletui.cli.run_shelf import DiskShelf
from eagletui.model.errors import EagletuiError
from eagletui.model.series import Window
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Comparison, Runs
from eagletui.store.runs.series import SeriesStore
from tests.store.runs.made import made_cell, made_run

HURT, SOUND = "a" * 12, "b" * 12
WINDOW = Window(array("d", (1.79e9, 1.79e9 + 1)), array("d", (1.0, 2.0)), b"\0\1")

# The id that a table's damaged row belongs to, and its fields that are read.
FIELDS = {
    ("runs", "id"): ("began", "name", "ended", "partial", "notes", "tags", "document"),
    ("cells", "run"): ("document",),
    ("comparisons", "name"): ("saved", "runs", "baseline"),
    ("sessions", "id"): ("host", "server", "ended", "document"),
    ("series", "owner"): ("times", "low", "high", "mean", "joined"),
}
# What a field may hold instead, as SQL.
CONTENT = {
    "empty": "''",
    "a number": "5",
    "bytes": "x'ff00'",
    "no UTF-8": "CAST(x'fffe' AS TEXT)",
    "other JSON": "'[1]'",
    "another document": f"x'{zlib.compress(b'{}').hex()}'",
    "a part of one": f"x'{zlib.compress(b'{}')[:-3].hex()}'",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Two runs, two comparisons and two sessions; the id of the session that is to be hurt."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    with Database(path) as database:
        runs, series = Runs(database), SeriesStore(database)
        runs.add(made_run(HURT, "hurt", began=1.79e9, cells=(made_cell(requests=2),)))
        runs.add(made_run(SOUND, "sound", began=1.79e9 + 1, cells=(made_cell(2, requests=2),)))
        for name in ("a", "b"):
            both = Comparison(name=name, saved=1.0, runs=(HURT, SOUND), baseline=HURT)
            runs.save_comparison(both)
        ids = []
        for host in ("one", "other"):
            begun = series.begin(host=host, server=":1", at=1.79e9, about={"model": "m"})
            series.append(begun.id, {"tok_s": WINDOW, "accept_length": WINDOW})
            ids.append(begun.id)
        series.put(HURT, {"tok_s": WINDOW})
    return path, ids[0]


@pytest.fixture
def session(whole: tuple[Path, str]) -> str:
    """The same as the person's own database."""
    path, begun = whole
    runs_file().parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, runs_file())
    return begun


@pytest.mark.parametrize("content", CONTENT)
@pytest.mark.parametrize(
    ("table", "key", "field"),
    [(table, key, field) for (table, key), names in FIELDS.items() for field in names],
)
def test_a_damaged_row_hides_no_other(
    table: str, key: str, field: str, content: str, session: str, tmp_path: Path
) -> None:
    hurt = {"comparisons": "a", "sessions": session, "series": session}.get(table, HURT)
    connection = sqlite3.connect(runs_file())
    with connection:
        changed = connection.execute(
            f"UPDATE {table} SET {field} = {CONTENT[content]} WHERE {key} = ?", (hurt,)
        )
    connection.close()
    assert changed.rowcount

    shelf = DiskShelf(tmp_path)
    kept = asyncio.run(shelf.kept())
    assert {run.id: run.damaged for run in kept.runs}[SOUND] is False
    assert [run.id for run in kept.runs if run.id == HURT] == [HURT]
    assert {one.name for one in kept.comparisons} == {"a", "b"}
    assert {one.id for one in kept.sessions} >= {session}
    assert len(kept.sessions) == 2
    for saved in kept.comparisons if table == "comparisons" else ():
        baseline = saved.baseline if saved.baseline in saved.runs else None
        with contextlib.suppress(EagletuiError):
            asyncio.run(shelf.compare(saved.runs, baseline))
    for words in (
        ("runs", "list", "--sessions"),
        ("runs", "show", HURT),
        ("runs", "export", HURT),
        ("compare", "a"),
        ("runs", "tag", HURT, "new"),
        ("runs", "rm", HURT, "--yes"),
    ):
        result = CliRunner().invoke(main, words)
        assert isinstance(result.exception, (SystemExit, type(None))), (words, result.exception)
        if words != ("runs", "show", HURT) and words[0] != "compare" and words[1] != "export":
            assert result.exit_code == 0, (words, result.output)
