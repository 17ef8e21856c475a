"""The file itself: crashes, two programs at once, older and newer formats, bad disks."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import (
    RunsBusy,
    RunsDamaged,
    RunsDiskFull,
    RunsError,
    RunsNewer,
)
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.schema import APPLICATION_ID, MIGRATIONS, VERSION
from tests.store.runs.made import made_cell, made_run

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.db"


def _python(program: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )


# --- crashes and neighbours -----------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from tests.store.runs.made import made_cell, made_run

runs = Runs(Database(Path(sys.argv[1])))
runs.begin(made_run())
for repeat in range(10_000):
    runs.add_cell("aaaaaaaaaaaa", made_cell(repeat=repeat))
    print(repeat, flush=True)
"""


@pytest.mark.parametrize("cells", [1, 7, 40])
def test_a_writer_that_is_killed_loses_nothing_it_said_was_kept(path: Path, cells: int) -> None:
    with _python(WRITER, path) as writer:
        assert writer.stdout is not None
        for _ in range(cells):
            said = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    with Database(path) as database:
        run = Runs(database).get("aaaaaaaaaaaa")
        with database.read() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(run.cells) >= said + 1
    assert run.cells == tuple(made_cell(repeat=repeat) for repeat in range(len(run.cells)))
    assert run.partial
    assert run.ended is None


def test_what_a_block_began_is_gone_where_it_failed(path: Path) -> None:
    with Database(path) as database:
        runs = Runs(database)
        runs.add(made_run())
        with pytest.raises(ZeroDivisionError), database.write() as connection:
            assert connection.execute("DELETE FROM runs").rowcount / 0
        assert runs.get("aaaaaaaaaaaa") == made_run()


ADDER = """
import sys
from pathlib import Path
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from tests.store.runs.made import made_cell, made_run

name = sys.argv[2]
with Database(Path(sys.argv[1])) as database:
    runs = Runs(database)
    for index in range(15):
        runs.add(made_run(f"{name}{index:011d}", name=name, began=float(index), cells=(
            made_cell(repeat=index, requests=len(name) + ord(name)),)))
"""


def test_programs_that_begin_and_write_at_once_all_keep_theirs(path: Path) -> None:
    """None of them finds the file there: making it and its tables is a race as well."""
    writers = [_python(ADDER, path, name) for name in "abc"]
    for writer in writers:
        _, error = writer.communicate()
        assert writer.returncode == 0, error
    with Database(path) as database:
        assert len(Runs(database).rows()) == 45


def test_a_reader_goes_on_beside_a_writer(path: Path) -> None:
    with Database(path) as one, Database(path, busy=0.0) as other:
        Runs(one).add(made_run())
        with one.write() as connection:
            connection.execute("DELETE FROM runs")
            assert len(Runs(other).rows()) == 1
            with Database(path, busy=0.0) as third:  # also one that only now opens it
                assert len(Runs(third).rows()) == 1
            with pytest.raises(RunsBusy, match="could not be kept") as busy:
                Runs(other).note("aaaaaaaaaaaa", "text")
        assert "Another eagletui is writing" in str(busy.value)
        assert Runs(other).rows() == ()


def test_one_database_serves_many_threads(path: Path) -> None:
    with Database(path) as database:
        runs, problems = Runs(database), []

        def work(letter: str) -> None:
            try:
                for index in range(10):
                    cells = (made_cell(repeat=index, requests=ord(letter)),)
                    runs.add(made_run(f"{letter}{index:011d}", cells=cells))
                    runs.rows()
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(letter,)) for letter in "xyz"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert len(runs.rows()) == 30


def test_a_folders_name_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=ro&x=1#c%41" / "runs.db"
    with Database(path) as database:
        Runs(database).add(made_run())
        assert not database.read_only
    assert path.stat().st_size > 0
    with Database(path) as database:
        assert len(Runs(database).rows()) == 1


def test_nobody_else_can_read_it(path: Path) -> None:
    with Database(path):
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


# --- formats --------------------------------------------------------------------------------------


def _old(path: Path, version: int) -> None:
    """A database as the eagletui of that version left it."""
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for step in MIGRATIONS[:version]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()


def _shape(path: Path) -> list[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_older_database_takes_the_missing_steps_and_keeps_its_runs(
    path: Path, tmp_path: Path, version: int
) -> None:
    _old(path, version)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        Runs._insert(None, connection, made_run(), "digest")  # type: ignore[arg-type]
        connection.commit()
    with Database(path) as database:
        assert Runs(database).get("aaaaaaaaaaaa") == made_run()
    with Database(tmp_path / "new.db"):
        pass
    assert _shape(path) == _shape(tmp_path / "new.db")


def test_a_step_that_fails_leaves_the_old_database_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _old(path, 1)
    before = _shape(path)
    steps = (*MIGRATIONS[:2], ("CREATE TABLE fine (x)", "CREATE TABLE broken ("))
    monkeypatch.setattr("eagletui.store.runs.database.MIGRATIONS", steps)
    with pytest.raises(RunsError):
        Database(path)
    assert _shape(path) == before


def test_a_newer_database_is_refused_and_not_touched(path: Path) -> None:
    _old(path, VERSION)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 4}")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(RunsNewer) as newer:
        Database(path)
    assert "Update eagletui" in str(newer.value)
    assert f"format {VERSION + 4}" in str(newer.value)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(RunsDamaged, match="no database of runs"):
        Database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database\n" * 200, b"\x00\xff" * 3000, b"SQLite"])
def test_a_file_that_is_something_else_is_refused_and_not_touched(
    path: Path, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(RunsDamaged) as damaged:
        Database(path)
    assert str(path) in str(damaged.value)
    assert "Move it away" in str(damaged.value)
    assert path.read_bytes() == content


def test_a_page_that_was_overwritten_is_called_damage(path: Path) -> None:
    with Database(path) as database:
        runs = Runs(database)
        for index in range(60):
            cells = (made_cell(repeat=index),)
            runs.add(made_run(f"{index:012d}", cells=cells, notes="words " * 200))
    data = bytearray(path.read_bytes())
    page = 4096
    for begin in range(2 * page, len(data), page):
        data[begin : begin + page] = b"\xa5" * page
    path.write_bytes(data)
    with pytest.raises(RunsDamaged, match="could not be"), Database(path) as database:
        Runs(database).rows()
    assert path.read_bytes() == data


def test_a_row_that_is_damaged_is_named_and_the_others_are_read(path: Path) -> None:
    with Database(path) as database:
        runs = Runs(database)
        runs.add(made_run("a" * 12))
        runs.add(made_run("b" * 12, cells=(made_cell(2),)))
        with database.write() as connection:
            connection.execute("UPDATE runs SET document = x'00' WHERE id = ?", ("a" * 12,))
        with pytest.raises(RunsDamaged, match="Run aaaaaaaaaaaa"):
            runs.get("a" * 12)
        assert runs.get("b" * 12).cells == (made_cell(2),)
        listed = {row.id: (row.damaged, row.name) for row in runs.rows()}
        assert listed == {"a" * 12: (True, "chain-2"), "b" * 12: (False, "chain-2")}
        runs.remove("a" * 12)
        assert len(runs.rows()) == 1


# --- disks ----------------------------------------------------------------------------------------


def test_a_full_disk_is_said_and_keeps_what_was_there(path: Path) -> None:
    with Database(path) as database:
        runs = Runs(database)
        runs.add(made_run())
        # SQLite's own "database or disk is full", as the file system's would come.
        pages = database._connection.execute("PRAGMA page_count").fetchone()[0]
        database._connection.execute(f"PRAGMA max_page_count = {pages}")
        big = made_cell(requests=20_000)
        with pytest.raises(RunsDiskFull) as full:
            runs.add_cell("aaaaaaaaaaaa", big)
        assert "Make room" in str(full.value)
        assert runs.get("aaaaaaaaaaaa") == made_run()
        database._connection.execute("PRAGMA max_page_count = 100000")
        runs.add_cell("aaaaaaaaaaaa", big)
        assert runs.get("aaaaaaaaaaaa").cells == (*made_run().cells, big)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that others may read too: root, whom no permission holds, reads as another."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


READER = """
import os
import sys
import threading
import urllib.parse  # newer Pythons load it late, when the library can perhaps not be read
from pathlib import Path
from eagletui.model.errors import EagletuiError
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    with Database(Path(sys.argv[1])) as database:
        rows = []
        reader = threading.Thread(target=lambda: rows.extend(Runs(database).rows()))
        reader.start()
        reader.join()
        print(database.read_only, [row.id for row in rows], flush=True)
        Runs(database).note("aaaaaaaaaaaa", "changed")
except EagletuiError as error:
    print(type(error).__name__, str(error).replace("\\n", " "))
"""


def _as_reader(path: Path) -> list[str]:
    reader = _python(READER, path)
    output, error = reader.communicate()
    assert reader.returncode == 0, error
    return output.splitlines()


def test_a_read_only_folder_can_be_read_and_says_why_it_is_not_written(shared: Path) -> None:
    path = shared / "runs.db"
    with Database(path) as database:
        Runs(database).add(made_run())
    path.chmod(0o444)
    shared.chmod(0o555)
    try:
        said = _as_reader(path)
    finally:
        shared.chmod(0o755)
    assert said[0] == "True ['aaaaaaaaaaaa']"
    assert said[1].startswith("RunsReadOnly")
    assert "EAGLETUI_DATA" in said[1]


def test_a_read_only_folder_with_runs_in_the_log_never_shows_less_than_there_is(
    shared: Path,
) -> None:
    path = shared / "runs.db"
    with Database(path) as database:
        Runs(database).add(made_run())
        copy = shared / "copy"
        copy.mkdir()
        for name in ("runs.db", "runs.db-wal"):
            (copy / name).write_bytes((shared / name).read_bytes())
            (copy / name).chmod(0o444)
    copy.chmod(0o555)
    try:
        said = _as_reader(copy / "runs.db")
    finally:
        copy.chmod(0o755)
    assert said[0].startswith("RunsReadOnly")
    assert "runs.db-wal" in said[0]
    assert "Nothing is lost" in said[0]


def test_where_nothing_is_and_nothing_can_be_made_there_are_no_runs(shared: Path) -> None:
    shared.chmod(0o555)
    try:
        said = _as_reader(shared / "runs.db")
    finally:
        shared.chmod(0o755)
    assert said[0] == "True []"
    assert said[1].startswith("RunsReadOnly")


def test_a_folder_in_the_files_place_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(RunsError, match="could not be opened"):
        Database(path)
