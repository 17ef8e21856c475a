"""A time limit that a cancellation always gets through."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from typing import TypeVar

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:
    from async_timeout import timeout

_T = TypeVar("_T")


async def within(work: Awaitable[_T], seconds: float | None) -> _T:
    """What the work gives, if that comes in time; None is as long as it takes.

    `asyncio.wait_for` of Python 3.10 and 3.11 drops a cancellation that comes in the moment in
    which the work ends: a task that goes round and round then never does.

    Raises:
        asyncio.TimeoutError: it did not come in time; the work was cancelled.
    """
    async with timeout(seconds):
        return await work
