"""Driving the app in tests: a feed that only remembers wishes, a frozen clock, injected events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from textual.pilot import Pilot

from eagletui.model.benchmarking import Benchmarker
from eagletui.model.events import Event
from eagletui.model.keeping import RunShelf
from eagletui.model.switching import Switcher
from eagletui.tui.app import EagleApp
from eagletui.tui.config import Settings
from eagletui.tui.messages import EventsArrived
from tests.tui.scenes import NOW


class QuietFeed:
    """Gives its first events, then nothing; wishes are kept in `wishes`."""

    def __init__(self, first: Sequence[Event] = ()) -> None:
        self.first = list(first)
        self.wishes: list[tuple[str, object]] = []

    async def events(self) -> AsyncIterator[Sequence[Event]]:
        """The first events in one batch."""
        if self.first:
            yield self.first
        await asyncio.Event().wait()

    def select(self, server: str) -> None:
        """Remember."""
        self.wishes.append(("select", server))

    def set_interval(self, seconds: float) -> None:
        """Remember."""
        self.wishes.append(("interval", seconds))

    def follow_log(self, path: str) -> None:
        """Remember."""
        self.wishes.append(("log", path))

    def follow_metrics(self, url: str) -> None:
        """Remember."""
        self.wishes.append(("metrics", url))

    def reconnect(self) -> None:
        """Remember."""
        self.wishes.append(("reconnect", None))


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Hurry:
    """A monotonic clock on which every look is a second later: nothing is put off."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def make_app(
    first: Sequence[Event] = (),
    settings: Settings | None = None,
    *,
    feed: QuietFeed | None = None,
    clock: Clock | None = None,
    monotonic: Clock | Hurry | None = None,
    read_only: bool = False,
    switcher: Switcher | None = None,
    benchmarker: Benchmarker | None = None,
    shelf: RunShelf | None = None,
) -> EagleApp:
    """An app on a quiet feed at the scenes' moment, where the clock stands still."""
    return EagleApp(
        feed or QuietFeed(first),
        settings,
        switcher=switcher,
        benchmarker=benchmarker,
        shelf=None if shelf is None else lambda: shelf,
        target="gpu1",
        read_only=read_only,
        clock=clock or Clock(),
        monotonic=monotonic or Hurry(),
    )


async def inject(app: EagleApp, pilot: Pilot[None], *events: Event) -> None:
    """Post events as the feed's worker would, and draw what they changed."""
    app.post_message(EventsArrived(events))
    await pilot.pause()
    app.draw_now()
    await settle(pilot)


async def settle(pilot: Pilot[None]) -> None:
    """Let layouts and what they call come to rest."""
    for _ in range(4):
        await pilot.pause()
