"""One look at a host, for scripts: the readers of the screen, until every server has spoken."""

from __future__ import annotations

import asyncio
import contextlib
import time

from eagletui.model import events as ev
from eagletui.model.errors import HostError
from eagletui.model.state import State, fold
from eagletui.monitor.monitor import Monitor

WINDOW = 1.5
"""Seconds between the first and the last scrape of a server: rates need two."""

JUDGED = 5.0
"""Seconds after which a verdict about a refusal was said: it must hold for three before."""

_REFUSALS = ("not found", "unauthorised")


async def look(monitor: Monitor, *, limit: float = 60.0, stay: float = 0.0) -> State:
    """Connect, find every server, read each one's log and metrics, and give the state.

    Args:
        limit: seconds for the whole look; what did not answer by then stays unknown.
        stay: seconds to watch each server at least, on top of the limit: an alert is said only
            after what it is about has lasted (`engine.verdicts.RULES`).

    Raises:
        EagletuiError: no connection: a `HostError`, or a `ConfigError` where the SSH configuration
            cannot be used.
    """
    visit = _Visit(monitor, stay)
    stream = monitor.events()
    following = asyncio.ensure_future(visit.follow(stream))
    await asyncio.wait({following}, timeout=limit)
    if visit.watched:
        await asyncio.wait({following}, timeout=stay * visit.watched)
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    await stream.aclose()  # type: ignore[attr-defined]
    if visit.failed is not None:
        if monitor.refusal is not None:
            raise monitor.refusal
        failed = visit.failed
        raise HostError(failed.detail, meaning=failed.meaning, advice=failed.advice)
    if not visit.state.connected:
        raise HostError(
            f"The host did not answer within {limit:g} s.",
            advice="Try `ssh HOST true` by hand, or a longer --timeout.",
        )
    return visit.state


class _Visit:
    """Goes from server to server; each is done when its log is read and two scrapes tell a rate."""

    def __init__(self, monitor: Monitor, stay: float) -> None:
        self._stay = max(stay, WINDOW)
        self.state = State()
        self.failed: ev.LinkChanged | None = None
        self._monitor = monitor
        self._to_see: list[str] | None = None
        self._first_reply: dict[str, float] = {}
        self._replied: set[str] = set()
        self._refused: set[str] = set()
        self._judged: set[str] = set()
        self._gpus = False

    @property
    def watched(self) -> int:
        """How many servers are to be seen yet."""
        return len(self._to_see or ())

    async def follow(self, stream: object) -> None:
        async for batch in stream:  # type: ignore[attr-defined]
            for event in batch:
                self.state = fold(self.state, event)
                self._take(event)
            if self.failed is not None or self._done():
                return

    def _take(self, event: ev.Event) -> None:
        if isinstance(event, ev.LinkChanged) and event.link in ("failed", "lost"):
            self.failed = event
        elif isinstance(event, ev.ServersFound) and self._to_see is None:
            self._to_see = [process.key for process in event.servers]
            self._next()
        elif isinstance(event, (ev.GpusRead, ev.GpusUnavailable)):
            self._gpus = True
        elif isinstance(event, (ev.Scraped, ev.ScrapeFailed)):
            self._heard(event)
        elif isinstance(event, ev.Alerted) and event.alerts:
            self._judged.add(event.server)
        if self._to_see and self._seen(self._to_see[0]):
            self._to_see.pop(0)
            self._next()

    def _heard(self, event: ev.Scraped | ev.ScrapeFailed) -> None:
        key = event.server
        waited = time.monotonic() - self._first_reply.setdefault(key, time.monotonic())
        failed = isinstance(event, ev.ScrapeFailed) and self._stay <= WINDOW
        if isinstance(event, ev.ScrapeFailed) and event.problem in _REFUSALS:
            self._refused.add(key)
        if key in self._refused:
            enough = waited >= max(JUDGED, self._stay) or (
                waited >= self._stay and key in self._judged
            )
        else:
            enough = failed or waited >= self._stay
        if enough:
            self._replied.add(key)

    def _seen(self, key: str) -> bool:
        server = self.state.servers.get(key)
        address = server is not None and bool(server.process.url)
        return self._monitor.caught_up(key) and (key in self._replied or not address)

    def _next(self) -> None:
        if self._to_see:
            self._monitor.select(self._to_see[0])

    def _done(self) -> bool:
        return self._gpus and self._to_see == []
