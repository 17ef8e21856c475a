"""A recording as a feed: its pace, and every way through it, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from eagletui.model import events as ev
from eagletui.model.events import Event
from eagletui.model.state import State, fold
from eagletui.monitor.replay import Replay
from eagletui.store.recording.codec import Reason
from eagletui.store.recording.reader import Recording
from eagletui.store.recording.writer import Limits
from tests.store.recording.made import write

BEGIN = 1000.0


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def moved(number: int) -> ev.PhaseMoved:
    return ev.PhaseMoved(at=BEGIN + number, server="a", name="weights", done=number, total=99)


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are read at once: a turn of the loop is all there is to wait for."""

    async def here(call: Callable[[int], object], number: int) -> object:
        return call(number)

    monkeypatch.setattr(asyncio, "to_thread", here)


class Watching:
    """Takes what a replay gives, until it has nothing more to give."""

    def __init__(self, replay: Replay, clock: Clock) -> None:
        self.replay, self.clock = replay, clock
        self.state = State()
        self.quiet: list[Event] = []
        self.loud: list[Event] = []
        self._stream = replay.events()
        self._next: asyncio.Task[Sequence[Event]] | None = None

    async def settle(self) -> list[int]:
        """The numbers that came, in order; -1 is a beginning anew."""
        seen: list[int] = []
        while True:
            self._next = self._next or asyncio.ensure_future(anext(self._stream))
            for _ in range(20):
                await asyncio.sleep(0)
            if not self._next.done():
                return seen
            batch = self._next.result()
            (self.quiet if self.replay.hurrying else self.loud).extend(batch)
            self._next = None
            for event in batch:
                self.state = fold(self.state, event)
                if isinstance(event, ev.PhaseMoved):
                    seen.append(event.done)
                elif isinstance(event, ev.StartedOver):
                    seen.append(-1)

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)


def recording(tmp_path: Path, count: int = 100, limits: Limits | None = None) -> Recording:
    path = tmp_path / "a.rec"
    write(path, [(BEGIN + n, [moved(n)]) for n in range(count)], each=True, limits=limits)
    return Recording(path)


async def test_its_own_pace(tmp_path: Path) -> None:
    clock = Clock()
    with recording(tmp_path) as file:
        replay = Replay(file, monotonic=clock)
        seen = Watching(replay, clock)
        assert await seen.settle() == [0]
        clock.now += 2.5
        replay.set_interval(1.0)
        replay.change_speed(2.0)
        assert (await seen.settle(), replay.now()) == ([1, 2], 1002.5)
        clock.now += 2.0
        replay.change_speed(0.5)
        assert (await seen.settle(), replay.now()) == ([3, 4, 5, 6], 1006.5)
        assert replay.standing.speed == 1.0
        assert seen.quiet == [moved(0)]
        await seen.close()


async def test_pause_and_step(tmp_path: Path) -> None:
    clock = Clock()
    with recording(tmp_path) as file:
        replay = Replay(file, monotonic=clock)
        seen = Watching(replay, clock)
        await seen.settle()
        replay.pause()
        clock.now += 60
        assert (await seen.settle(), replay.now(), replay.standing.paused) == ([], BEGIN, True)
        replay.step()
        assert (await seen.settle(), replay.now()) == ([1], 1001.0)
        replay.step()
        assert (await seen.settle(), replay.now()) == ([2], 1002.0)
        replay.pause()
        clock.now += 1
        replay.change_speed(1.0)
        assert (await seen.settle(), replay.now()) == ([3], 1003.0)
        assert replay.standing.paused is False
        await seen.close()


async def test_seek_on_and_back(tmp_path: Path) -> None:
    clock = Clock()
    with recording(tmp_path) as file:
        replay = Replay(file, monotonic=clock)
        seen = Watching(replay, clock)
        await seen.settle()
        replay.seek(10.0)
        assert replay.now() == 1010.0
        assert (await seen.settle(), replay.now()) == (list(range(1, 11)), 1010.0)
        assert seen.loud == []
        replay.seek(-4.0)
        assert await seen.settle() == [-1, *range(7)]
        server = seen.state.servers["a"]
        assert server.ladder[0].done == 6
        assert (seen.loud, replay.now(), replay.hurrying) == ([], 1006.0, False)
        replay.seek(-1000.0)
        assert (await seen.settle(), replay.now()) == ([-1, 0], BEGIN)
        replay.seek(1e9)
        assert (await seen.settle(), replay.now()) == (list(range(1, 100)), 1099.0)
        assert replay.standing.over
        await seen.close()


async def test_a_seek_that_passes_nothing_gives_nothing_again(tmp_path: Path) -> None:
    clock = Clock()
    with recording(tmp_path) as file:
        replay = Replay(file, monotonic=clock)
        seen = Watching(replay, clock)
        await seen.settle()
        clock.now += 0.75
        replay.seek(-0.5)
        assert (await seen.settle(), replay.now()) == ([], 1000.25)
        await seen.close()


@pytest.mark.parametrize("paused", [False, True])
async def test_many_seeks_at_once_end_where_the_last_led(tmp_path: Path, paused: bool) -> None:
    clock = Clock()
    with recording(tmp_path) as file:
        replay = Replay(file, monotonic=clock, at=1050.0)
        seen = Watching(replay, clock)
        assert await seen.settle() == list(range(51))
        if paused:
            replay.pause()
        for by in (-20.0, 60.0, -80.0, 15.0):
            replay.seek(by)
        numbers = await seen.settle()
        assert numbers == [-1, *range(26)]
        assert replay.now() == 1025.0
        await seen.close()


async def test_at_its_end_it_says_so_and_begins_again(tmp_path: Path) -> None:
    clock = Clock()
    with recording(tmp_path, 3) as file:
        replay = Replay(file, monotonic=clock, speed=1e9)
        assert replay.standing.speed == 1024.0
        seen = Watching(replay, clock)
        await seen.settle()
        clock.now += 1
        replay.change_speed(1.0)
        assert await seen.settle() == [1, 2]
        assert (replay.standing.over, replay.now(), replay.standing.note) == (True, 1002.0, "")
        replay.pause()
        assert (await seen.settle(), replay.standing.over) == ([-1, 0], False)
        await seen.close()


@pytest.mark.parametrize(
    ("limits", "note"),
    [
        (Limits(seconds=1.0), "the recording reached its agreed time"),
        (Limits(size=600), "the recording reached its agreed size"),
    ],
)
async def test_why_it_ended(tmp_path: Path, limits: Limits, note: str) -> None:
    with recording(tmp_path, 9, limits) as file:
        replay = Replay(file, at=2e9)
        seen = Watching(replay, Clock())
        await seen.settle()
        assert replay.standing.note == note
        await seen.close()


async def test_a_damaged_file_is_shown_up_to_there(tmp_path: Path) -> None:
    recording(tmp_path, 9).close()
    path = tmp_path / "a.rec"
    data = bytearray(path.read_bytes())
    with Recording(path) as file:
        data[file._places[5].offset] ^= 1
    path.write_bytes(data)
    with Recording(path) as file:
        replay = Replay(file, at=2e9)
        seen = Watching(replay, Clock())
        assert await seen.settle() == [0, 1, 2, 3, 4]
        assert replay.standing.over
        assert replay.standing.note.startswith("damaged at byte")
        await seen.close()


async def test_another_server_is_selected_in_order(tmp_path: Path) -> None:
    with recording(tmp_path, 3) as file:
        replay = Replay(file, monotonic=Clock())
        seen = Watching(replay, Clock())
        await seen.settle()
        replay.select("b")
        await seen.settle()
        assert seen.state.selected == "b"
        await seen.close()


def test_every_reason_has_words() -> None:
    from typing import get_args

    from eagletui.monitor.replay import ENDINGS

    assert set(ENDINGS) == set(get_args(Reason))
