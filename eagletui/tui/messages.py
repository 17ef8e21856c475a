"""Messages between the app and what feeds it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from eagletui.model.benchmarking import Moment as BenchMoment
from eagletui.model.errors import EagletuiError
from eagletui.model.events import Event
from eagletui.model.switching import Lock, Moment, Unfinished


class EventsArrived(Message):
    """A batch of events, in order. Tests post it themselves.

    `quiet`: they are caught up with, and nothing of them pops up.
    """

    def __init__(self, events: Sequence[Event], quiet: bool = False) -> None:
        super().__init__()
        self.events = events
        self.quiet = quiet


class RestartMoved(Message):
    """Where a restart stands now."""

    def __init__(self, moment: Moment) -> None:
        super().__init__()
        self.moment = moment


class RestartRefused(Message):
    """A restart that was not begun, or cannot be gone on with."""

    def __init__(self, error: EagletuiError) -> None:
        super().__init__()
        self.error = error


class BenchMoved(Message):
    """Where a benchmark stands now."""

    def __init__(self, moment: BenchMoment) -> None:
        super().__init__()
        self.moment = moment


class UnfinishedFound(Message):
    """Launches that somebody left on the host."""

    def __init__(self, left: tuple[Unfinished, ...]) -> None:
        super().__init__()
        self.left = left


class LockRead(Message):
    """Who held the host's lock when a restart was refused; None where it is free by now."""

    def __init__(self, lock: Lock | None) -> None:
        super().__init__()
        self.lock = lock
