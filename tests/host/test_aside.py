"""Work on a thread that nobody waits for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from eagletui.host.aside import aside


async def test_what_it_gives_and_what_fails_come_back() -> None:
    assert await aside(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 // 0)


@pytest.mark.parametrize("fails", [False, True])
def test_the_loop_ends_without_it_and_what_comes_late_disturbs_nobody(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, begun = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    loud: list[object] = []
    monkeypatch.setattr(threading, "excepthook", loud.append)

    def hang() -> int:
        threads.append(threading.current_thread())
        begun.set()
        answer.wait(60)
        return 1 // (not fails)

    async def leave() -> None:
        aside(hang)
        begun.wait(60)

    asyncio.run(leave())
    (thread,) = threads
    assert thread.daemon
    assert thread.is_alive()
    answer.set()
    thread.join(60)
    assert loud == []


async def test_a_cancelled_one_is_dropped() -> None:
    answer = threading.Event()
    failed: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: failed.append(what))
    future = aside(lambda: answer.wait(60))
    future.cancel()
    answer.set()
    for thread in [thread for thread in threading.enumerate() if thread.name == "aside"]:
        thread.join(60)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert failed == []
