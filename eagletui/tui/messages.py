"""Messages between the app and what feeds it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from eagletui.model.events import Event


class EventsArrived(Message):
    """A batch of events, in order. Tests post it themselves."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self.events = events
