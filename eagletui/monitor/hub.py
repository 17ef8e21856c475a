"""Where readers put events and the one consumer takes them, in batches and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from eagletui.model.events import Event, LogText

BATCH_GAP = 0.02
HELD_BYTES = 8 << 20


class Hub:
    """A queue of events that collapses floods into batches and holds back fast producers.

    What arrives within `BATCH_GAP` after a batch was taken is delivered together, so that one quiet
    line is on its way at once and twenty thousand lines cost one wake-up.
    """

    def __init__(self) -> None:
        self._pending: list[Event] = []
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._taken.set()
        self._closed = False

    def put(self, *events: Event) -> None:
        """Add events; never waits. Who brings much text awaits `room` first."""
        self._pending.extend(events)
        self._bytes += sum(len(event.data) for event in events if isinstance(event, LogText))
        self._arrived.set()

    async def room(self) -> None:
        """Wait while the consumer is more than 8 MB of log text behind."""
        while self._bytes > HELD_BYTES and not self._closed:
            self._taken.clear()
            await self._taken.wait()

    def close(self) -> None:
        """End the iteration once everything is delivered."""
        self._closed = True
        self._arrived.set()
        self._taken.set()

    async def batches(self) -> AsyncIterator[Sequence[Event]]:
        """Batches until `close`."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            batch, self._pending, self._bytes = self._pending, [], 0
            self._taken.set()
            if batch:
                yield batch
            if self._closed and not self._pending:
                return
            await asyncio.sleep(BATCH_GAP)
