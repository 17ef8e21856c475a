"""One server's log followed and understood, resumable at the byte where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from eagletui.engine.reader import LogReader
from eagletui.host.base import FilePosition, Host
from eagletui.host.logs import follow_log
from eagletui.model.errors import EagletuiError
from eagletui.model.events import Event, LogGap, LogOpened, LogText, LogUnavailable
from eagletui.model.server import LogPlace
from eagletui.monitor.hub import Hub


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

    @property
    def caught_up(self) -> bool:
        """Whether the end of what was there was reached once."""
        return self.whole.is_set()

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
        try:
            async for chunk in follow_log(
                host, self.place, position=self._position, history=self._history
            ):
                at = self._wall()
                events: list[Event] = []
                if chunk.gap:
                    events.append(
                        LogGap(
                            at=at,
                            server=self._server,
                            reason=chunk.gap,
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
        except EagletuiError as error:
            self.whole.set()
            unavailable = LogUnavailable(
                at=self._wall(), server=self._server, detail=error.what, advice=error.advice
            )
            await self._say(hub, note, [unavailable])

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
