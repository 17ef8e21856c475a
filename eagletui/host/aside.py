"""Work that may hang for good, such as a read of a dead disk: leaving does not wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

_T = TypeVar("_T")


def aside(work: Callable[[], _T]) -> asyncio.Future[_T]:
    """What the work gives, done on a daemon thread of its own.

    `asyncio.to_thread` has a few threads for everything, and the loop and the program wait for each
    of them at their end. Here a cancelled future, or the end of the program, leaves the work alone;
    what must be finished does not belong here.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def told(answer: Callable[[], None]) -> None:
        if not future.done():
            answer()

    def run() -> None:
        try:
            answer = partial(future.set_result, work())
        except Exception as error:
            answer = partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(told, answer)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return future
