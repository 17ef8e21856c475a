"""One server's log followed and understood, resumable at the byte where it stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import cast

from eagletui.engine.reader import LogReader
from eagletui.host.base import FilePosition, Host
from eagletui.host.logs import follow_log
from eagletui.model.errors import ConnectionLost, EagletuiError
from eagletui.model.events import Event, GapReason, LogGap, LogOpened, LogText, LogUnavailable
from eagletui.model.server import LogPlace
from eagletui.monitor.hub import Hub

QUIET = 0.5
"""Seconds without a byte after which the end of an old log is taken as reached."""


class Tail:
    """Follows one log over any number of connections.

    Args:
        server: key that events carry.
        place: where the log is.
        clock: user's clock minus log time, seconds.
        history: bytes of an old log that are read.
        wall: the user's clock.
    """

    def __init__(
        self,
        *,
        server: str,
        place: LogPlace,
        clock: float,
        history: int,
        wall: Callable[[], float],
    ) -> None:
        self.place = place
        self.whole = asyncio.Event()
        self._server = server
        self._history = history
        self._wall = wall
        self._reader = LogReader(server, clock=clock)
        self._position: FilePosition | None = None
        self._opened = False
        self._heard_at = 0.0

    @property
    def caught_up(self) -> bool:
        """Whether the end of what was there was reached once."""
        return self.whole.is_set()

    def finish(self) -> list[Event]:
        """The process is gone: what the log's last lines meant, with nothing to come after them."""
        return self._reader.finish(self._wall())

    async def run(self, host: Host, hub: Hub, note: Callable[[Event], None]) -> None:
        """Follow until cancelled or the connection goes; call again to resume.

        Every event goes to `note` first and to the hub then.
        """
        if not self.place.readable:
            self.whole.set()
            await self._say(hub, note, [self._opening(), self._unreadable()])
            return
        if not self._opened:
            self._opened = True
            await self._say(hub, note, [self._opening()])
        settling = asyncio.ensure_future(self._settle())
        try:
            async for chunk in follow_log(
                host, self.place, position=self._position, history=self._history
            ):
                at = self._wall()
                self._heard_at = time.monotonic()
                events: list[Event] = []
                if chunk.gap:
                    self._reader.gap()
                    events.append(
                        LogGap(
                            at=at,
                            server=self._server,
                            reason=cast(GapReason, chunk.gap),
                            skipped=chunk.skipped,
                        )
                    )
                if chunk.data:
                    events.append(
                        LogText(
                            at=at,
                            server=self._server,
                            start=chunk.start,
                            data=chunk.data,
                            live=chunk.live,
                        )
                    )
                    events += self._reader.feed(chunk.data, at=at, live=chunk.live)
                await self._say(hub, note, events)
                self._position = chunk.position
                if chunk.live:
                    self.whole.set()
        except ConnectionLost:
            return  # said by whoever holds the connection; reading goes on after the next one
        except EagletuiError as error:
            self.whole.set()
            unavailable = LogUnavailable(
                at=self._wall(), server=self._server, detail=error.what, advice=error.advice
            )
            await self._say(hub, note, [unavailable])
        finally:
            settling.cancel()

    async def _settle(self) -> None:
        """An old log's last bytes may be the last for hours: silence says that it was read."""
        self._heard_at = time.monotonic()
        while not self.whole.is_set():
            await asyncio.sleep(QUIET / 2)
            if time.monotonic() - self._heard_at >= QUIET:
                self.whole.set()

    async def _say(self, hub: Hub, note: Callable[[Event], None], events: list[Event]) -> None:
        for event in events:
            note(event)
        await hub.put_text(events)

    def _opening(self) -> LogOpened:
        return LogOpened(at=self._wall(), server=self._server, place=self.place)

    def _unreadable(self) -> LogUnavailable:
        return LogUnavailable(
            at=self._wall(),
            server=self._server,
            detail=self.place.detail or "The log of this server goes nowhere that can be read.",
            advice="Start the server with `> FILE 2>&1`, or say --log PATH.",
        )
