"""The screen's benchmark on a connection that is there, against a server in small."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from eagletui.cli.benchmarking import HostBenchmarker
from eagletui.host.base import Host
from eagletui.host.local import LocalHost
from eagletui.model.benchmarking import Moment, Subject, Wish
from eagletui.store.claims import claimed
from eagletui.store.places import claims_folder, runs_file
from eagletui.store.runs.database import Database
from eagletui.store.runs.runs import Runs
from tests.bench.server import FakeServer

SMALL = Wish(concurrencies=(1, 2), output_tokens=9, repeats=2, requests=4)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    found = LocalHost()
    await found.connect()
    yield found
    await found.close()


async def moments(benchmarker: HostBenchmarker, wish: Wish, url: str) -> list[Moment]:
    async with aclosing(
        benchmarker.begin(wish, Subject(url=url, name="m", setting="k=2"))
    ) as found:
        return [moment async for moment in found]


def kept() -> dict[str, tuple[bool, int]]:
    """Runs on the disk: whether partial, and how many cells."""
    with Database(runs_file()) as database:
        runs = Runs(database)
        return {row.id: (row.partial, len(runs.get(row.id).cells)) for row in runs.rows()}


async def test_it_says_where_it_stands_and_keeps_the_run(host: Host) -> None:
    server = FakeServer()
    async with server.server:
        found = await moments(HostBenchmarker(host, target=None), SMALL, server.url)
    last = found[-1]
    assert (last.over, last.partial, last.problem) == (True, False, "")
    assert [(cell.concurrency, cell.repeat) for cell in last.measured] == list(SMALL.cells())
    assert all(cell.tok_s and cell.ttft_p50 for cell in last.measured)
    assert [moment.over for moment in found[:-1]] == [False] * (len(found) - 1)
    numbers = [moment.under.number for moment in found if moment.under is not None]
    assert numbers == sorted(numbers)
    assert kept() == {last.run: (False, 4)}
    with Database(runs_file()) as database:
        name = Runs(database).get(last.run).name
    assert re.fullmatch(r"k=2 chat \d\d-\d\d \d\d:\d\d", name)


async def test_cancelling_keeps_what_was_measured_and_calls_it_partial(host: Host) -> None:
    server = FakeServer(misbehave=lambda number: "hang" if number > 6 else "")
    async with server.server:
        benchmarker = HostBenchmarker(host, target=None)
        subject = Subject(url=server.url, name="m")
        async with aclosing(benchmarker.begin(SMALL, subject)) as found:
            async for moment in found:
                if moment.measured:
                    benchmarker.cancel()
        assert moment.over
        assert moment.partial
        assert moment.cancelling
        assert server.under_way == 0
    partial, cells = kept()[moment.run]
    assert partial
    assert cells >= 1


async def test_leaving_ends_it_and_keeps_what_there_is(host: Host) -> None:
    server = FakeServer(misbehave=lambda number: "hang" if number > 6 else "")
    async with server.server:
        benchmarker = HostBenchmarker(host, target=None)
        subject = Subject(url=server.url, name="m")
        async with aclosing(benchmarker.begin(SMALL, subject)) as found:
            async for moment in found:
                if moment.measured:
                    break
        assert [partial for partial, _ in kept().values()] == [True]
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert "benchmark" not in names


async def test_a_second_one_is_refused_by_the_firsts_name(host: Host) -> None:
    server = FakeServer()
    async with server.server:
        with claimed(claims_folder(), f"localhost {server.url}", "the night run"):
            found = await moments(HostBenchmarker(host, target=None), SMALL, server.url)
    assert found[-1].over
    assert "'the night run'" in found[-1].problem
    assert "Two at once would measure each other." in found[-1].advice
    assert kept() == {}


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(prompts="no-such-set"), "There is no set of prompts 'no-such-set'"),
        (Wish(prompts="/nowhere/prompts.txt"), "/nowhere/prompts.txt cannot be read"),
    ],
)
async def test_what_cannot_be_sent_is_said(host: Host, wish: Wish, said: str) -> None:
    server = FakeServer()
    async with server.server:
        found = await moments(HostBenchmarker(host, target=None), wish, server.url)
    assert [moment.over for moment in found][-1:] == [True]
    assert said in found[-1].problem
    assert server.bodies == []


async def test_a_fault_of_ours_ends_the_benchmark_and_nothing_else(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("eagletui.cli.benching.measure_on", broken)
    [*_, last] = await moments(HostBenchmarker(host, target=None), SMALL, "http://127.0.0.1:9")
    assert (last.over, last.partial) == (True, True)
    assert last.problem == "The benchmark ended by a fault of eagletui: ZeroDivisionError."
    assert "eagletui bench" in last.advice
