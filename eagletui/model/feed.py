"""What a screen needs of whatever produces events: live host, recording or simulation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from eagletui.model.events import Event


class Feed(Protocol):
    """A source of events with the few wishes a screen may have."""

    def events(self) -> AsyncIterator[Sequence[Event]]:
        """Batches of events in order; a batch is what arrived together, at most every 50 ms."""
        ...

    def select(self, server: str) -> None:
        """Follow this server's log and metrics."""
        ...

    def set_interval(self, seconds: float) -> None:
        """Scrape this often, 0.2 to 30 s."""
        ...

    def follow_log(self, path: str) -> None:
        """Follow this file (a glob: the newest match) for the selected server, or alone."""
        ...

    def follow_metrics(self, url: str) -> None:
        """Read metrics from this address of the host, for the selected server or alone."""
        ...

    def reconnect(self) -> None:
        """Try again now."""
        ...
