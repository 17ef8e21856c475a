"""One server's log followed and understood, resumable at the byte where it stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import cast

from eagletui.engine import nolog
from eagletui.engine.catchup import CatchUp
from eagletui.engine.reader import LogReader
from eagletui.host.base import FileChunk, FilePosition, Host
from eagletui.host.logs import follow_log
from eagletui.model.errors import ConnectionLost, EagletuiError, HostError
from eagletui.model.events import Event, GapReason, LogGap, LogOpened, LogText, LogUnavailable
from eagletui.model.literals import Literals, LiteralStream, Shown
from eagletui.model.server import LogPlace
from eagletui.monitor.backoff import delay
from eagletui.monitor.hub import Hub

QUIET = 0.5
"""Seconds without a byte after which the end of an old log is taken as reached."""
JUDGED_BYTES = 512
"""Bytes that must come at once to be judged: a stray control character makes no binary file."""
_FILES = ("file", "tee", "given")
EMPTY = 5.0
"""The same where no byte came at all: the follower may only be starting, or the log be empty."""


class Tail:
    """Follows one log over any number of connections.

    Args:
        server: key that events carry.
        place: where the log is.
        clock: user's clock minus log time, seconds.
        history: bytes of an old log that are read.
        wall: the user's clock.
        started_at: when the server's process started, user's clock: a container's zone shows by it.
    """

    def __init__(
        self,
        *,
        server: str,
        place: LogPlace,
        clock: float,
        history: int,
        wall: Callable[[], float],
        started_at: float | None = None,
    ) -> None:
        self.place = place
        self.whole = asyncio.Event()
        self._server = server
        self._history = history
        self._wall = wall
        self._reader = LogReader(server, clock=clock, started_at=started_at)
        self._catch_up = CatchUp(self._reader)
        self._shown = LiteralStream(Literals())
        self._position: FilePosition | None = None
        self._opened = False
        self._heard_at: float | None = None
        self._received = False
        self._text: bool | None = None

    @property
    def caught_up(self) -> bool:
        """Whether the end of what was there was reached once."""
        return self.whole.is_set()

    def hide(self, secrets: Literals) -> None:
        """Cover these too from now on, before anybody sees them."""
        self._shown.literals |= secrets

    def finish(self) -> list[Event]:
        """The process is gone: what the log's last lines meant, with nothing to come after them."""
        return [*self._read(self._shown.cut(), live=True), *self._reader.finish(self._wall())]

    def begin_anew(self, started_at: float | None) -> None:
        """The process that writes here from now on is another one."""
        self._reader.begin_anew(started_at)

    async def run(self, host: Host, hub: Hub, note: Callable[[Event], None]) -> None:
        """Follow until cancelled or the connection goes; call again to resume.

        Every event goes to `note` first and to the hub then.
        """
        if not self.place.readable:
            self.whole.set()
            self._say(hub, note, [self._opening(), self._unreadable()])
            return
        if not self._opened:
            self._opened = True
            self._say(hub, note, [self._opening()])
        settling = asyncio.ensure_future(self._settle(hub, note))
        try:
            await self._follow(host, hub, note)
        except ConnectionLost:
            return  # said by whoever holds the connection; reading goes on after the next one
        finally:
            settling.cancel()

    async def _follow(self, host: Host, hub: Hub, note: Callable[[Event], None]) -> None:
        """Follow for ever; what can't be followed now may be a moment later."""
        attempt, said = 0, ""
        while True:
            try:
                async for chunk in follow_log(
                    host, self.place, position=self._position, history=self._history
                ):
                    attempt, said = 0, ""
                    await hub.room()
                    self._take(chunk, hub, note)
                problem = HostError("The log ended.", advice="It is looked for again.")
            except ConnectionLost:
                raise
            except HostError as error:
                problem = error
            attempt += 1
            self.whole.set()
            if problem.what != said:
                said = problem.what
                self._say(hub, note, [self._unavailable(problem)])
            await asyncio.sleep(delay(attempt))

    def _take(self, chunk: FileChunk, hub: Hub, note: Callable[[Event], None]) -> None:
        """One chunk, wholly or not at all: nothing is awaited between reading and remembering."""
        at = self._wall()
        self._heard_at = time.monotonic()
        events: list[Event] = []
        if chunk.gap:
            events += self._read(self._shown.cut(), live=chunk.live)
            self._reader.gap()
            self._text = None
            events.append(
                LogGap(
                    at=at,
                    server=self._server,
                    reason=cast(GapReason, chunk.gap),
                    skipped=chunk.skipped,
                )
            )
        if chunk.data:
            events += self._read(self._shown.feed(chunk.start, chunk.data), live=chunk.live)
            self._received = True
            if self._is_binary(chunk.data):
                advice = "Give the file that the server's output goes to, unpacked, with --log."
                events.append(self._unavailable(nolog.binary(self.place.target, advice)))
        self._position = chunk.position
        self._say(hub, note, events)
        if chunk.live:
            self.whole.set()

    def _read(self, shown: Shown, *, live: bool) -> list[Event]:
        """Bytes fit to be shown, as text and as what they mean."""
        if not shown.data:
            return []
        at = self._wall()
        text = LogText(at=at, server=self._server, start=shown.start, data=shown.data, live=live)
        return [text, *self._catch_up.feed(shown.data, at=at, live=live)]

    def _is_binary(self, data: bytes) -> bool:
        """Whether what began here is no text; a hole at the beginning of a log tells nothing."""
        begun = data.lstrip(b"\0")
        if self.place.kind not in _FILES:
            return False
        if self._text is None and len(begun) >= JUDGED_BYTES:
            self._text = not nolog.looks_binary(begun)
        return self._text is False

    def _nothing(self) -> EagletuiError:
        """No byte came, although the file is there."""
        error = nolog.empty(self.place.target)
        if self._heard_at is None:
            error.what = f"{self.place.target} is empty: nothing came of it within {EMPTY:g} s."
        return error

    async def _settle(self, hub: Hub, note: Callable[[Event], None]) -> None:
        """An old log's last bytes may be the last for hours: silence says that it was read."""
        began = time.monotonic()
        while not self.whole.is_set():
            await asyncio.sleep(QUIET / 2)
            now = time.monotonic()
            if self._heard_at is None:
                quiet = now - began >= EMPTY
            else:
                quiet = now - self._heard_at >= QUIET
            if quiet:
                if not self._received and self.place.kind in _FILES:
                    self._say(hub, note, [self._unavailable(self._nothing())])
                elif self._received and self._text is not False:
                    self._say(hub, note, [self._end_reached()])
                self.whole.set()

    def _say(self, hub: Hub, note: Callable[[Event], None], events: list[Event]) -> None:
        for event in events:
            note(event)
        hub.put(*events)

    def _end_reached(self) -> LogText:
        start = self._position.offset if self._position is not None else 0
        return LogText(at=self._wall(), server=self._server, start=start, data=b"")

    def _unavailable(self, problem: EagletuiError) -> LogUnavailable:
        return LogUnavailable(
            at=self._wall(), server=self._server, detail=problem.what, advice=problem.advice
        )

    def _opening(self) -> LogOpened:
        return LogOpened(at=self._wall(), server=self._server, place=self.place)

    def _unreadable(self) -> LogUnavailable:
        return LogUnavailable(
            at=self._wall(),
            server=self._server,
            detail=self.place.detail or "The log of this server goes nowhere that can be read.",
            advice="Start the server with `> FILE 2>&1`, or say --log PATH.",
        )
