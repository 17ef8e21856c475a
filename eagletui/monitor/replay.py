"""A recording as a feed: the same events at their own pace, or as fast as a person wishes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence

from eagletui.host.within import within
from eagletui.model.events import Event, ServerSelected, StartedOver
from eagletui.model.playing import Standing
from eagletui.store.recording.codec import Frame
from eagletui.store.recording.reader import Recording

SLOWEST, FASTEST = 1 / 16, 1024.0
ENDINGS = {
    "closed": "",
    "size": "the recording reached its agreed size",
    "time": "the recording reached its agreed time",
    "disk": "the disk was full",
    "slow": "the disk did not keep up",
}
MOST = 2000
"""Events of one batch: what is caught up with comes in many, so that keys are heard between."""


class Replay:
    """A `model.feed.Feed` of a recording, with what a player has.

    An empty batch says that it caught up with the moment that was jumped to. Jumping back gives
    everything from the beginning again, behind one `StartedOver`.

    Args:
        recording: open; blocks are read on a thread.
        speed: times faster than it was.
        at: where to begin, the recording's time; what was before is caught up with at once.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        speed: float = 1.0,
        at: float | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._recording = recording
        self._monotonic = monotonic
        self._speed = _within(speed, SLOWEST, FASTEST)
        self._paused = False
        self._base = self._clamped(recording.begin if at is None else at)
        self._since: float | None = None
        self._waiting: deque[Frame] = deque()
        self._block = 0
        self._given = float("-inf")
        self._step = False
        self._again = False
        self._asked: list[Event] = []
        self._changed = asyncio.Event()
        self._over = False

    # --- the player ----------------------------------------------------------------------------

    @property
    def standing(self) -> Standing:
        """Where it is now."""
        return Standing(
            now=self.now(),
            begin=self._recording.begin,
            end=self._recording.end,
            utc_offset=self._recording.about.utc_offset,
            speed=self._speed,
            paused=self._paused,
            hurrying=self.hurrying,
            over=self._over,
            note=self._note(),
        )

    @property
    def hurrying(self) -> bool:
        """Whether what is given now lies before the moment that was jumped to."""
        return self._since is None

    def now(self) -> float:
        """The recording's time. It stands while paused, at the end, and while catching up."""
        if self._paused or self._since is None:
            return self._base
        return self._clamped(self._base + (self._monotonic() - self._since) * self._speed)

    def pause(self) -> None:
        """Hold it, or let it go on; at its end: from the beginning."""
        if self._over and not self._paused:
            self.seek(self._recording.begin - self.now())
            return
        self._settle()
        self._paused, self._step = not self._paused, False
        self._wake()

    def step(self) -> None:
        """Give what came next, and hold."""
        self._settle()
        self._paused, self._step = True, True
        self._wake()

    def seek(self, by: float) -> None:
        """So many seconds on, or back."""
        target = self._clamped(self.now() + by)
        self._again = self._again or target < self._given
        self._step = False
        self._base, self._since, self._over = target, None, False
        self._wake()

    def change_speed(self, factor: float) -> None:
        """Faster or slower by this factor."""
        self._settle()
        self._speed = _within(self._speed * factor, SLOWEST, FASTEST)
        self._wake()

    def _settle(self) -> None:
        """Time goes on from here."""
        if self._since is not None:
            self._base, self._since = self.now(), self._monotonic()

    def _clamped(self, at: float) -> float:
        return _within(at, self._recording.begin, self._recording.end)

    def _wake(self) -> None:
        self._changed.set()

    def _note(self) -> str:
        recording = self._recording
        if recording.problem:
            return recording.problem
        if recording.skipped:
            return f"{recording.skipped:,} events of a newer eagletui left out"
        if not self._over:
            return ""
        if recording.ending is None:
            return "ends without its last words: cut short, or still written"
        return ENDINGS[recording.ending.reason]

    # --- the feed ------------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[Sequence[Event]]:
        """Batches until the iteration is closed; at the end it waits to be sent back."""
        while True:
            if self._again:
                self._again = False
                self._waiting.clear()
                self._block, self._given = 0, float("-inf")
                yield [StartedOver(at=self._base)]
            if self._asked:
                asked, self._asked = self._asked, []
                yield asked
            batch = await self._due()
            if batch:
                yield batch
            elif self.hurrying and not self._again:
                self._since = self._monotonic()  # caught up: time goes on
                yield []
            elif not self._again:
                await self._pause()

    async def _due(self) -> list[Event]:
        """What is due by now, as much as goes into a batch."""
        batch: list[Event] = []
        while len(batch) < MOST and not self._again:
            if not self._waiting and not await self._read():
                self._over = self._over or not batch
                break
            frame = self._waiting[0]
            if self._step and not self.hurrying:
                self._step = False
                self._base = max(self._base, frame.at)
            if frame.at > self.now():
                break
            batch += frame.events
            self._given = self._waiting.popleft().at
        return batch

    async def _read(self) -> bool:
        """One block more; whether there is one."""
        while self._block < self._recording.count:
            number, self._block = self._block, self._block + 1
            frames = await asyncio.to_thread(self._recording.frames, number)
            if frames is None:
                self._block = self._recording.count
                return False
            if frames and not self._again:
                self._waiting.extend(frames)
                return True
        return False

    async def _pause(self) -> None:
        """Wait until something is due, or something was wished."""
        wait: float | None = None
        if self._waiting and not self._paused:
            wait = max(0.0, (self._waiting[0].at - self.now()) / self._speed)
        with contextlib.suppress(asyncio.TimeoutError):
            await within(self._changed.wait(), wait)
        self._changed.clear()

    # --- what a screen may wish of a live host -------------------------------------------------

    def select(self, server: str) -> None:
        """Show this server, of those whose events were recorded."""
        self._asked.append(ServerSelected(at=self.now(), server=server))
        self._wake()

    def set_interval(self, seconds: float) -> None:
        """Nothing is scraped."""

    def follow_log(self, path: str) -> None:
        """Nothing is followed."""

    def follow_metrics(self, url: str) -> None:
        """Nothing is read."""

    def reconnect(self) -> None:
        """Nothing is connected."""


def _within(value: float, least: float, most: float) -> float:
    return max(least, min(most, value))
