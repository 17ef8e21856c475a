"""A run on a disk that refuses for a while: said before anything is measured, and nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from eagletui.cli import run_keeping
from eagletui.cli.run_keeping import Keeper
from eagletui.cli.run_store import open_runs
from eagletui.model.series import Window
from eagletui.store.places import runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunsDiskFull
from eagletui.store.runs.runs import Runs
from eagletui.store.runs.series import SeriesStore
from tests.store.runs.made import made_cell, made_run

RUN = made_run(cells=())
CELLS = tuple(made_cell(1, repeat, seconds=2.0 + repeat) for repeat in range(3))
SERIES = {"tok_s": Window([1.0, 2.0], [5.0, 6.0], b"\0\1")}


class Disk:
    """Refuses while `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        monkeypatch.setattr(run_keeping, "open_runs", self._opened)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Database, Runs]]:
        if self.full:
            raise RunsDiskFull("The disk is full.", advice="Make room.")
        with open_runs() as opened:
            yield opened


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def kept() -> list[tuple[int, bool, bool]]:
    """Cells of each run that is kept, whether it is partial, and whether its series are there."""
    with Database(runs_file()) as database:
        runs = Runs(database)
        return [
            (
                len(runs.get(row.id).cells),
                row.partial,
                list(SeriesStore(database).window(row.id, "tok_s").values) == [5.0, 6.0],
            )
            for row in runs.rows()
        ]


@pytest.mark.parametrize("full", [(), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
async def test_what_was_measured_while_the_disk_was_full_is_written_when_it_is_not(
    full: tuple[int, ...], disk: Disk
) -> None:
    said: list[str] = []
    keeper = Keeper(RUN, wanted=True, said=said.append)
    await keeper.look()
    for at, cell in enumerate(CELLS):
        disk.full = at in full
        await keeper.cell(cell, SERIES)
        if not disk.full:
            assert kept() == [(at + 1, True, True)]
    disk.full = False
    assert await keeper.finish(replace(RUN, cells=CELLS, ended=RUN.began + 9))
    assert kept() == [(3, False, True)]
    refusals = [text for text in said if "not kept as long as it is so: The disk is full." in text]
    assert len(refusals) == len([at for at in full if at - 1 not in full])
    assert said.count("The run is kept after all, with all that was measured.") == len(refusals)
    assert said[-1] == f"Kept as {RUN.id}: `eagletui runs show {RUN.id}`."


async def test_a_disk_that_stays_full_is_said_once_and_before_anything_is_measured(
    disk: Disk,
) -> None:
    said: list[str] = []
    keeper = Keeper(RUN, wanted=True, said=said.append)
    disk.full = True
    await keeper.look()
    assert said == ["The run is not kept as long as it is so: The disk is full. Make room."]
    for cell in CELLS:
        await keeper.cell(cell, SERIES)
    assert not await keeper.finish(replace(RUN, cells=CELLS))
    assert len(said) == 1


async def test_looking_writes_nothing_and_a_run_without_a_cell_is_none(disk: Disk) -> None:
    said: list[str] = []
    keeper = Keeper(RUN, wanted=True, said=said.append)
    await keeper.look()
    assert not await keeper.finish(RUN)
    assert said == []
    assert kept() == []


async def test_what_is_not_wanted_is_not_tried(disk: Disk) -> None:
    disk.full = True
    said: list[str] = []
    keeper = Keeper(RUN, wanted=False, said=said.append)
    await keeper.look()
    await keeper.cell(CELLS[0], SERIES)
    assert not await keeper.finish(replace(RUN, cells=CELLS[:1]))
    assert said == []
