"""A log that can't be followed now, one that is slow to start, and one that is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from eagletui.host.base import FileChunk, FilePosition
from eagletui.host.local import LocalHost
from eagletui.model import events as ev
from eagletui.model.literals import Literals
from eagletui.model.server import LogPlace, ServerProcess
from eagletui.model.state import LogState, ServerState, State, fold_all
from eagletui.monitor import tail as tail_module
from eagletui.monitor.hub import Hub
from eagletui.monitor.tail import Tail

LINE = b"[2026-01-01 00:00:00] The server is fired up and ready to roll!\n"


def make(path: Path) -> Tail:
    return Tail(
        server="s",
        place=LogPlace(kind="given", target=str(path)),
        clock=0.0,
        history=1 << 20,
        wall=lambda: 1.0,
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "delay", lambda attempt: 0.05)


@pytest.fixture
async def host() -> AsyncIterator[LocalHost]:
    host = LocalHost()
    await host.connect()
    yield host
    await host.close()


async def gather_until(
    tail: Tail, host: Any, until: Callable[[list[ev.Event]], bool], then: Callable[[], None]
) -> list[ev.Event]:
    hub, events = Hub(), list[ev.Event]()
    running = asyncio.ensure_future(tail.run(host, hub, lambda _: None))

    async def read() -> None:
        async for batch in hub.batches():
            events.extend(batch)
            then()
            if until(events):
                return

    try:
        await asyncio.wait_for(read(), 20)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return events


def text_of(events: list[ev.Event]) -> bytes:
    return b"".join(e.data for e in events if isinstance(e, ev.LogText))


@pytest.mark.usefixtures("quick")
async def test_a_log_that_comes_later_is_followed_then_and_missed_only_once(
    tmp_path: Path, host: LocalHost
) -> None:
    path = tmp_path / "server.log"

    def write() -> None:
        if not path.exists():
            path.write_bytes(LINE)

    tail = make(path)
    events = await gather_until(tail, host, lambda e: text_of(e) == LINE, write_once(write))
    missing = [e for e in events if isinstance(e, ev.LogUnavailable)]
    assert [str(path) in e.detail for e in missing] == [True]
    assert any(isinstance(e, ev.ServerReady) for e in events)


async def test_the_end_of_a_log_that_does_not_grow_is_told(tmp_path: Path, host: LocalHost) -> None:
    """What is judged by time alone, a stall, waits for it."""
    path = tmp_path / "server.log"
    path.write_bytes(LINE)

    def log(events: list[ev.Event]) -> LogState:
        return fold_all(State(servers={"s": known}), events).servers["s"].log

    known = ServerState(process=ServerProcess(key="s"))
    events = await gather_until(make(path), host, lambda e: log(e).live, lambda: None)
    assert text_of(events) == LINE
    assert (log(events).read_at, log(events).received) == (1.0, len(LINE))


def write_once(write: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()
    state = {"planned": False}

    def then() -> None:
        if not state["planned"]:
            state["planned"] = True
            loop.call_later(0.3, write)

    return then


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is empty"), (bytes(range(256)) * 40, "is a binary file"), (LINE * 40, "")],
)
async def test_what_is_no_log_is_said_as_of_a_saved_one(
    tmp_path: Path, host: LocalHost, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setattr(tail_module, "EMPTY", 0.5)
    monkeypatch.setattr(tail_module, "QUIET", 0.2)
    path = tmp_path / "server.log"
    path.write_bytes(content)
    tail, events = make(path), list[ev.Event]()
    running = asyncio.ensure_future(tail.run(host, Hub(), events.append))
    await asyncio.wait_for(tail.whole.wait(), 20)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    log = fold_all(State(), events).servers["s"].log
    assert (words in log.detail) if words else log.detail == ""
    assert bool(log.advice) == bool(words)


async def test_nothing_is_read_twice_when_a_reader_is_cut_off(
    tmp_path: Path, host: LocalHost
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(LINE)
    tail = make(path)
    first = await gather_until(tail, host, lambda e: text_of(e) == LINE, lambda: None)
    with path.open("ab") as file:
        file.write(LINE)
    second = await gather_until(tail, host, lambda e: bool(text_of(e)), lambda: None)
    assert text_of(first) + text_of(second) == LINE * 2
    assert len([e for e in (*first, *second) if isinstance(e, ev.LogOpened)]) == 1


async def test_silence_before_the_first_byte_is_not_the_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "QUIET", 0.05)

    async def slow(*_: object, **__: object) -> AsyncIterator[object]:
        await asyncio.sleep(60)
        yield None

    monkeypatch.setattr(tail_module, "follow_log", slow)
    tail = make(tmp_path / "x")
    running = asyncio.ensure_future(tail.run(None, Hub(), lambda _: None))  # type: ignore[arg-type]
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(tail.whole.wait(), 0.5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not tail.caught_up


async def test_a_servers_own_secret_is_covered_wherever_a_chunk_ends(
    tmp_path: Path, host: LocalHost
) -> None:
    """Neither the stored text nor an event of it holds one, and no offset moves."""
    path = tmp_path / "server.log"
    path.write_bytes(LINE + b"[2026-01-01 00:00:01] got hunter2Zq, not hunt")
    told: list[ev.Event] = []
    tail = make(path)
    tail.hide(Literals(["hunter2Zq"]))

    def write() -> None:
        with path.open("ab") as file:
            file.write(b"er2Zq\nRuntimeError: wrong key hunter2Zq\n")

    def whole(events: list[ev.Event]) -> bool:
        told[:] = events
        return text_of(events).endswith(b"*\n")

    await gather_until(tail, host, whole, write_once(write))
    written = path.read_bytes()
    assert text_of(told) == written.replace(b"hunter2Zq", b"*********")
    texts = [event for event in told if isinstance(event, ev.LogText)]
    assert len(texts) >= 2
    at = 0
    for text in texts:
        assert text.start == at
        at += len(text.data)
    assert at == len(written)
    told += tail.finish()
    assert "hunter2" not in repr(told)


@pytest.mark.parametrize("gap", ["", "lost"])
async def test_what_was_held_back_is_shown_where_nothing_follows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gap: str
) -> None:
    position = FilePosition(inode=1, offset=9)
    chunks = [FileChunk(start=0, data=b"a bc hunt", position=position)]
    if gap:
        chunks.append(FileChunk(start=50, data=b"er2Zq x\n", position=position, gap=gap))

    async def follow(*_: object, **__: object) -> AsyncIterator[FileChunk]:
        for chunk in chunks:
            yield chunk
        await asyncio.sleep(60)

    monkeypatch.setattr(tail_module, "follow_log", follow)
    tail = make(tmp_path / "x")
    tail.hide(Literals(["hunter2Zq"]))
    events = await gather_until(
        tail, None, lambda e: len(e) > (4 if gap else 1) - 1 and tail.caught_up, lambda: None
    )
    events += tail.finish()
    texts = [(e.start, e.data) for e in events if isinstance(e, ev.LogText)]
    assert texts == [(0, b"a bc "), (5, b"hunt"), *([(50, b"er2Zq x\n")] if gap else [])]
