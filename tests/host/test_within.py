"""A time limit and a cancellation that meet."""

from __future__ import annotations

import asyncio

import pytest

from eagletui.host.within import within


async def _passes(times: int) -> str:
    for _ in range(times):
        await asyncio.sleep(0)
    return "done"


@pytest.mark.parametrize("turns", range(12))
@pytest.mark.parametrize("lasts", range(8))
async def test_a_cancellation_that_was_taken_is_not_dropped(lasts: int, turns: int) -> None:
    work = _passes(lasts)
    task = asyncio.ensure_future(within(work, 60.0))
    await _passes(turns)
    taken = task.cancel()
    await asyncio.wait({task})
    work.close()  # cancelled before its first turn, the task has not even begun with it
    assert task.cancelled() == taken
    if not taken:
        assert task.result() == "done"


@pytest.mark.parametrize("turns", range(6))
async def test_nor_one_that_comes_as_an_event_is_set(turns: int) -> None:
    event = asyncio.Event()
    task = asyncio.ensure_future(within(event.wait(), 60.0))
    await _passes(4)
    event.set()
    await _passes(turns)
    taken = task.cancel()
    await asyncio.wait({task})
    assert task.cancelled() == taken


async def test_what_takes_too_long_is_cancelled() -> None:
    ended = asyncio.Event()

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(asyncio.TimeoutError):
        await within(long(), 0.01)
    assert ended.is_set()


async def test_without_a_limit_it_takes_as_long_as_it_takes() -> None:
    assert await within(_passes(5), None) == "done"
