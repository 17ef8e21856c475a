"""A whole benchmark on a server that streams, and one that misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from eagletui.bench import observer
from eagletui.bench import plan as plans
from eagletui.bench.client import Client
from eagletui.bench.eye import Eye
from eagletui.bench.measure import Measuring
from eagletui.bench.plan import Plan, Prompt
from eagletui.bench.progress import Eta, Progress
from eagletui.model.errors import EagletuiError
from eagletui.model.figures import Figures, cell_figures
from eagletui.model.literals import Literals
from eagletui.model.run import Cell, Run
from eagletui.model.server import Gpu
from tests.bench.server import FakeServer, serving

PROMPTS = tuple(Prompt(text=f"question {number}") for number in range(4))


def plan(**how: Any) -> Plan:
    return Plan(
        **{
            "prompts": PROMPTS,
            "concurrencies": (1, 2),
            "output_tokens": 9,
            "requests": 4,
            "repeats": 2,
            **how,
        }
    )


def figures(cell: Cell) -> Figures:
    return cell_figures(Run(id="r" * 12), cell)


class Bench:
    """A measuring of a fake server, with its session."""

    def __init__(self, server: FakeServer, what: Plan, **how: Any) -> None:
        self.server = server
        self.what = what
        self.how = how
        self.said: list[Progress] = []
        self.measuring: Measuring | None = None

    async def run(self, started: Callable[[Measuring], None] = lambda _: None) -> Measuring:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            found = Measuring(
                self.what,
                driver=Client(session),
                url=self.server.url,
                eye=Eye(session, self.server.url, {}),
                said=self.said.append,
                **self.how,
            )
            started(found)
            await found.run()
            return found


async def test_cells_are_interleaved_and_the_warm_up_is_thrown_away() -> None:
    async with serving() as server:
        bench = Bench(server, plan())
        found = await bench.run()
        asked = [body["messages"][0]["content"] for body in server.bodies]
    assert [(cell.concurrency, cell.repeat) for cell in found.cells] == [
        (1, 0), (2, 0), (1, 1), (2, 1),
    ]  # fmt: skip
    assert not found.partial
    assert found.notes == []
    for cell in found.cells:
        assert [sent.error for sent in cell.requests] == [""] * 4
        assert (cell.stopped, cell.why, cell.warnings) == ("", "", ())
        assert cell.server_tokens == 36
        assert figures(cell).accept_length == pytest.approx(9 / 5)
        assert figures(cell).accepted == (4, 16)
    # A round of each concurrency first: one request, and two.
    assert len(asked) == 1 + 2 + 4 * 4
    assert asked[1:5] == [prompt.text for prompt in PROMPTS]
    last = bench.said[-1]
    assert (last.cell, last.cells, last.done, last.requests) == (4, 4, 4, 4)
    assert last.remaining == pytest.approx(0.0)


async def test_bodies_ask_for_what_makes_figures_true() -> None:
    async with serving() as server:
        await Bench(server, plan(concurrencies=(1,), repeats=1)).run()
        body = server.bodies[0]
        await Bench(server, plan(endpoint="/generate", concurrencies=(1,), repeats=1)).run()
        native = server.bodies[-1]
    assert (body["temperature"], body["ignore_eos"], body["max_tokens"]) == (0.0, True, 9)
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert body["return_spec_tokens_details"] is True
    assert native == {
        "text": "question 3",
        "sampling_params": {"max_new_tokens": 9, "temperature": 0.0, "ignore_eos": True},
        "stream": True,
    }


async def test_failures_are_kept_beside_what_was_served() -> None:
    async with serving(misbehave=lambda n: "500" if n % 3 == 2 else "") as server:
        found = await Bench(server, plan(concurrencies=(1,), repeats=1, requests=6)).run()
    (cell,) = found.cells
    assert (figures(cell).served, figures(cell).failed) == (4, 2)
    assert cell.warnings[0] == '2 requests failed: HTTP 500: {"message": "out of luck"}'
    assert not found.partial


async def test_a_servers_own_secret_is_covered_in_what_it_answers() -> None:
    async with serving(misbehave=lambda n: "500" if n > 0 else "") as server:
        what = plan(concurrencies=(1,), repeats=1, requests=1)
        found = await Bench(server, what, secrets=Literals(["out of luck"])).run()
    (cell,) = found.cells
    assert cell.requests[0].error == 'HTTP 500: {"message": "***********"}'
    assert "luck" not in repr(cell)


async def test_a_server_that_dies_ends_it_and_what_came_is_kept() -> None:
    async with serving(misbehave=lambda n: "die" if n == 9 else "") as server:
        found = await Bench(server, plan(concurrencies=(1,), requests=6)).run()
    whole, cut = found.cells
    assert (whole.stopped, cut.stopped) == ("", "failed")
    assert "requests in a row" in cut.why
    assert (figures(cut).served, figures(cut).failed) == (2, 3)
    assert found.partial


async def test_when_every_warm_up_fails_nothing_is_measured() -> None:
    async with serving(misbehave=lambda _: "500") as server:
        with pytest.raises(EagletuiError, match="Every request of the warm-up failed: HTTP 500"):
            await Bench(server, plan()).run()


async def test_cancelling_keeps_what_was_measured_and_says_so() -> None:
    """The second cell's second request hangs; then somebody presses Ctrl-C."""
    bench: Bench

    def misbehave(number: int) -> str:
        if number == 6:
            assert bench.measuring is not None
            asyncio.get_running_loop().call_later(0.3, bench.measuring.cancel)
        return "hang" if number == 6 else ""

    async with serving(misbehave=misbehave) as server:
        bench = Bench(server, plan(concurrencies=(1,)))
        found = await bench.run(lambda it: setattr(bench, "measuring", it))
    assert [cell.stopped for cell in found.cells] == ["", "cancelled"]
    assert [sent.error for sent in found.cells[1].requests] == ["", "stopped"]
    assert found.cells[1].requests[1].output_tokens == 4
    assert found.partial


async def test_cancelling_is_heard_when_the_cell_has_ended_for_another_reason() -> None:
    """The first cell looped; somebody presses Ctrl-C while it is being kept."""
    bench: Bench

    async def kept(cell: Cell) -> None:
        assert bench.measuring is not None
        assert cell.stopped == "looped"
        bench.measuring.cancel()

    async with serving(chunk=1, misbehave=lambda n: "loop" if n < 20 else "") as server:
        bench = Bench(server, plan(requests=20, warmup=0, output_tokens=40), kept=kept)
        found = await bench.run(lambda it: setattr(bench, "measuring", it))
    assert [cell.stopped for cell in found.cells] == ["looped"]
    assert found.cancelled


async def test_when_a_later_warm_up_fails_what_was_measured_is_kept() -> None:
    async with serving(misbehave=lambda n: "500" if n > 4 else "") as server:
        found = await Bench(server, plan()).run()
    assert [(cell.concurrency, cell.stopped) for cell in found.cells] == [(1, "")]
    assert found.notes == [
        'c=2: Every request of the warm-up failed: HTTP 500: {"message": "out of luck"}'
    ]
    assert found.partial


async def test_a_loop_that_is_seen_too_late_to_end_its_cell_is_kept_with_it() -> None:
    """All requests run at once: when the first loops are told of, none is left to be spared."""
    async with serving(chunk=1, misbehave=lambda _: "loop") as server:
        what = plan(concurrencies=(4,), warmup=0, output_tokens=40, repeats=1)
        found = await Bench(server, what).run()
    (cell,) = found.cells
    assert [sent.error for sent in cell.requests] == [""] * 4
    assert (cell.stopped, cell.doubt) == ("", "looped")
    assert cell.why.startswith("3 of 3 outputs loop")
    assert cell.why in cell.warnings


async def test_loops_end_their_cell_and_its_repeats_alone() -> None:
    async with serving(chunk=1, misbehave=lambda n: "loop" if n < 20 else "") as server:
        what = plan(requests=20, warmup=0, output_tokens=40)
        found = await Bench(server, what).run()
    assert [(cell.concurrency, cell.repeat, cell.stopped) for cell in found.cells] == [
        (1, 0, "looped"), (2, 0, "looped"),
    ]  # fmt: skip
    assert found.cells[0].why.startswith("3 of 3 outputs loop")
    assert found.partial


async def test_keep_going_only_says_it() -> None:
    async with serving(chunk=1, misbehave=lambda _: "loop") as server:
        what = plan(requests=5, output_tokens=40, keep_going=True, repeats=1)
        found = await Bench(server, what).run()
    assert [cell.stopped for cell in found.cells] == ["", ""]
    assert found.cells[0].warnings[0].startswith("5 of 5 outputs loop")
    assert found.notes[0].startswith("3 of 3 outputs loop")


async def test_other_traffic_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "LOOK_EVERY", 0.05)

    def misbehave(number: int) -> str:
        server.others = 3
        return "hang"

    async with serving(misbehave=misbehave) as server:
        found = await Bench(server, plan(warmup=0)).run()
    (cell,) = found.cells
    assert cell.stopped == "other-traffic"
    assert "has 4 requests, and 1 at the most are ours" in cell.why


@pytest.mark.parametrize("loads", ["moments", "gauges", None])
async def test_the_page_of_metrics_is_not_read_while_it_measures_where_loads_tell_enough(
    loads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page holds up the process that streams every reply."""
    monkeypatch.setattr(observer, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(observer, "SHARE", 1.0)
    during: list[str] = []

    def misbehave(number: int) -> str:
        if number == 2:
            server.asked.clear()
            asyncio.get_running_loop().call_later(0.4, lambda: during.extend(server.asked))
        return "hang" if number == 2 else ""

    # A request lasts for several looks: steps are seen to be made while one runs.
    async with serving(misbehave=misbehave, pace=0.03) as server:
        server.loads = loads
        what = plan(concurrencies=(1,), repeats=1, gap_s=0.5)
        found = await Bench(server, what).run()
    (cell,) = found.cells
    assert len(during) > 5
    assert ("metrics" in during) == (loads != "moments")
    running = found.curves.windows()["running"]
    assert 1.0 in running.values
    assert set(running.values) <= {0.0, 1.0}
    assert list(running.times) == sorted(running.times)
    assert (running.joined[0], set(running.joined[1:])) == (0, {1})
    # The counters are those of the whole cell all the same.
    assert cell.server_tokens == 3 * 9 + 4
    assert cell.steps.source == ("decode moments" if loads == "moments" else "pass counter")


@pytest.mark.parametrize(("took", "rest"), [(0.0, 1.0), (0.02, 1.0), (0.2, 10.0)])
def test_looks_take_a_fiftieth_of_the_time(took: float, rest: float) -> None:
    assert observer.rest_after(took) == pytest.approx(rest)


async def test_a_full_cache_ends_its_concurrency_and_larger_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observer, "LOOK_EVERY", 0.05)

    def misbehave(number: int) -> str:
        # The two of the second cell hang, so that somebody looks.
        full = number in (4, 5)
        server.usage = 1.0 if full else 0.5
        return "hang" if full else ""

    async with serving(misbehave=misbehave) as server:
        what = plan(concurrencies=(1, 2, 3), warmup=0)
        found = await Bench(server, what).run()
    assert [(cell.concurrency, cell.stopped) for cell in found.cells] == [
        (1, ""), (2, "kv-full"), (1, ""),
    ]  # fmt: skip


async def test_a_restart_seen_by_its_process_is_said() -> None:
    launches = iter(["pid 1", "pid 1", "pid 2"])

    async def launch() -> str:
        return next(launches)

    async with serving() as server:
        found = await Bench(server, plan(), launch=launch).run()
    assert len(found.cells) == 2
    assert "The server restarted: it was pid 1 and is pid 2." in found.cells[1].warnings
    assert found.partial


async def test_power_and_heat_come_from_the_gpus() -> None:
    async def gpus() -> AsyncIterator[tuple[Gpu, ...]]:
        for _ in range(3):
            yield (Gpu(index=0, power=500.0),)

    async with serving() as server:
        found = await Bench(server, plan(repeats=1), gpus=gpus).run()
    assert [cell.power_watts for cell in found.cells] == [500.0, 500.0]
    assert figures(found.cells[0]).joules_per_token is not None


async def test_without_metrics_it_measures_and_says_what_is_missing() -> None:
    async with serving() as server:
        server.metrics = False
        found = await Bench(server, plan(repeats=1)).run()
    assert found.cells[0].server_tokens is None
    assert found.notes[0].startswith("The server's counters are not read: HTTP 404")


async def test_the_cache_is_emptied_before_each_cell() -> None:
    async with serving() as server:
        await Bench(server, plan(flush=True)).run()
        assert server.flushed == 4


def test_enough_requests_and_whole_rounds_of_a_small_set() -> None:
    small = plan(requests=None, prompts=PROMPTS[:3])
    assert [plans.requests(small, c) for c in (1, 8, 32)] == [33, 33, 129]
    large = plan(requests=None, prompts=PROMPTS * 20)
    assert [plans.requests(large, c) for c in (1, 32)] == [32, 128]


def test_starts_are_poisson_and_the_same_again() -> None:
    what = plan(rate=10.0, requests=4000)
    first, second = plans.cells(what)[0], plans.cells(what)[2]
    moments = plans.starts(what, first)
    assert moments == plans.starts(what, first)
    assert moments != plans.starts(what, second)
    assert moments[0] == 0.0
    assert moments[-1] / 3999 == pytest.approx(0.1, rel=0.05)
    assert plans.load(what, first, url="", headers={}, warm=True).starts == ()
    assert len(plans.load(what, first, url="", headers={}).starts) == 4000


def test_what_is_left_is_reckoned_from_rounds_of_the_nearest_known() -> None:
    """A round of one at once took 2 s, of two 3 s; a cell has four and two rounds."""
    eta = Eta(plans.cells(plan()))
    eta.begin(0)
    assert eta.remaining(0.0, 1.0) is None
    # Half of it took 4 s: 4 s are left of it, then 2 rounds, 4 rounds and 2 rounds of 2 s.
    assert eta.remaining(0.5, 4.0) == pytest.approx(4.0 + 4.0 + 8.0 + 4.0)
    eta.end(8.0)
    eta.begin(1)
    assert eta.remaining(0.0, 1.0) == pytest.approx(3.0 + 8.0 + 4.0)
    eta.end(6.0)
    eta.skip(2)
    eta.begin(3)
    assert eta.remaining(0.5, 3.0) == pytest.approx(3.0)
