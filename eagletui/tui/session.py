"""The one place where events become what screens show. No Textual in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from eagletui.model import events as ev
from eagletui.model.history import History
from eagletui.model.logstore import LogStore
from eagletui.model.state import ServerState, State, fold
from eagletui.tui.verdict import STOPPED

MAX_LOGS = 4
LOG_BYTES = 32 << 20
ALL_LOG_BYTES = 48 << 20
SLICE_BYTES = 128 << 10
SLICE_EVENTS = 200

GAP_TEXT = {
    "rotated": "the log was rotated; what follows is the new file",
    "truncated": "the log was truncated; what follows was written after that",
    "replaced": "another file took the log's place",
    "skipped": "not read",
    "lost": "the connection was lost; lines may be missing here",
}


class Toast(NamedTuple):
    """A change worth a pop-up: nothing else ever pops up."""

    title: str
    text: str
    severity: Literal["information", "warning", "error"]


class Session:
    """State, series and logs of one host, folded from its events.

    Args:
        log_bytes: how much of each log is kept.
        all_log_bytes: how much of all logs together; those of other servers make room.
    """

    def __init__(self, log_bytes: int = LOG_BYTES, all_log_bytes: int = ALL_LOG_BYTES) -> None:
        self.state = State()
        self.history = History()
        self.logs: dict[str, LogStore] = {}
        self._log_bytes = log_bytes
        self._all_log_bytes = max(log_bytes, all_log_bytes)

    def take(self, events: Sequence[ev.Event]) -> list[Toast]:
        """Fold events in; returns what should pop up."""
        toasts: list[Toast] = []
        for event in events:
            before = self.state
            self.state = fold(before, event)
            self.history.add(event)
            if isinstance(event, ev.LogText):
                self._log(event.server).append(event.data)
                self._bound_logs()
            elif isinstance(event, ev.LogGap):
                self._log(event.server).gap(gap_text(event))
            elif isinstance(event, ev.StartedOver):
                self.logs.clear()
            toast = _toast(before, self.state, event)
            if toast is not None:
                toasts.append(toast)
        return toasts

    def _log(self, server: str) -> LogStore:
        store = self.logs.pop(server, None)
        if store is None:
            store = LogStore(limit_bytes=self._log_bytes)
            while len(self.logs) >= MAX_LOGS:
                oldest = next(key for key in self.logs if key != self.state.selected)
                del self.logs[oldest]
        self.logs[server] = store  # last written is last: the first goes first
        return store

    def _bound_logs(self) -> None:
        """Let go of logs of other servers, the one written longest ago first."""
        total = sum(store.memory for store in self.logs.values())
        for key in [key for key in self.logs if key != self.state.selected]:
            if total <= self._all_log_bytes:
                return
            total -= self.logs.pop(key).memory


def slices(
    events: Sequence[ev.Event], *, size: int = SLICE_BYTES, most: int = SLICE_EVENTS
) -> Iterator[list[ev.Event]]:
    """A batch in pieces that each take a few milliseconds, so that a key never waits for long.

    Nothing is lost or reordered; a large piece of log is cut at any byte.
    """
    part: list[ev.Event] = []
    room = size
    for event in events:
        for piece in _cut(event, size):
            weight = len(piece.data) if isinstance(piece, ev.LogText) else 0
            if part and (weight > room or len(part) >= most):
                yield part
                part, room = [], size
            part.append(piece)
            room -= weight
    if part:
        yield part


def _cut(event: ev.Event, size: int) -> Iterator[ev.Event]:
    if not isinstance(event, ev.LogText) or len(event.data) <= size:
        yield event
        return
    for begin in range(0, len(event.data), size):
        yield replace(event, start=event.start + begin, data=event.data[begin : begin + size])


def gap_text(event: ev.LogGap) -> str:
    """What stands in the log where it is not continuous."""
    text = GAP_TEXT[event.reason]
    if event.skipped:
        text = f"{event.skipped:,} bytes {text}"
    return f"{text} ({event.detail})" if event.detail else text


def _toast(before: State, after: State, event: ev.Event) -> Toast | None:
    if isinstance(event, ev.LinkChanged):
        was = before.link.link if before.link else ""
        if event.link == "lost" and was != "lost":
            return Toast("Connection lost", event.detail or "Trying again.", "error")
        if event.link == "connected" and was in ("lost", "failed", "connecting") and before.host:
            return Toast("Connected again", before.host.name, "information")
        return None
    key = after.selected
    old, new = before.servers.get(key), after.servers.get(key)
    if new is None:
        return None
    if new.gone_at is not None and (old is None or old.alive):
        # A look that misses the server says so before `ServerGone` does.
        return Toast("Server gone", _why_gone(new), "error")
    if getattr(event, "server", "") != key:
        return None
    if isinstance(event, ev.Diagnosed) and event.ended and not (old and old.ended) and _live(new):
        if event.diagnosis.severity in ("fatal", "error"):
            return Toast("Server crashed", event.diagnosis.title, "error")
        return Toast("Server stopped", event.diagnosis.title, "warning")
    if isinstance(event, ev.ServerReady) and not (old and old.ready) and _live(new):
        return Toast("Ready", new.process.model or "The server takes requests.", "information")
    return None


def _why_gone(server: ServerState) -> str:
    reasons = (v.title for v in server.verdicts if v.severity == "fatal" or v.code == STOPPED)
    return next(reasons, "Its process is gone.")


def _live(server: ServerState) -> bool:
    return server.log.place is None or server.log.live
