"""A recording that is written beside everything else: whoever has events never waits for a disk."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from eagletui.model.events import Event, LogText
from eagletui.model.text import visible
from eagletui.store.recording.codec import Reason
from eagletui.store.recording.writer import MEGABYTE, Limits, Writer

EVERY = 2.0
"""Seconds after which what came is on the disk: what a crash costs at most."""
MOST_BYTES = 64 << 20
MOST_BATCHES = 20_000
"""What waits for the disk at most, log text and batches; then the recording ends by itself."""


class Recorder:
    """A thread around a `Writer`.

    `put` and `close` are for one thread alone; `size` and `words` for everyone.
    """

    def __init__(self, writer: Writer, *, every: float = EVERY) -> None:
        self._writer = writer
        self._every = every
        self._waiting: deque[tuple[float, Sequence[Event]]] = deque()
        self._bytes = 0
        self._reason: Reason | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """The file, as it may be shown."""
        return visible(str(self._writer.path))

    @property
    def writer(self) -> Writer:
        """What writes; to be asked only once it was closed."""
        return self._writer

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._writer.size

    @property
    def ended(self) -> Reason | None:
        """Why it ended; None while it goes on."""
        return self._writer.ended

    @property
    def words(self) -> str:
        """Why it ended by itself, for a person; "" while it goes on and where it was closed."""
        return ending_words(self._writer)

    def put(self, at: float, events: Sequence[Event]) -> None:
        """Events that came together at this moment. Never waits."""
        if self._reason is not None or self._writer.ended is not None:
            return
        size = sum(len(event.data) for event in events if isinstance(event, LogText))
        with self._lock:
            if self._bytes + size > MOST_BYTES or len(self._waiting) >= MOST_BATCHES:
                self._reason = "slow"
            else:
                self._waiting.append((at, events))
                self._bytes += size
        if self._reason is not None or self._bytes > MOST_BYTES // 8:
            self._wake.set()

    def close(self, timeout: float | None = None) -> None:
        """End it and wait until it is on the disk; a second time does nothing."""
        self._reason = self._reason or "closed"
        self._wake.set()
        self._thread.join(timeout)

    def abandon(self, timeout: float | None = None) -> None:
        """Close it and remove the file: nothing was ever seen, and the name is free again."""
        self.close(timeout)
        self._writer.path.unlink(missing_ok=True)

    def _run(self) -> None:
        while self._writer.ended is None:
            self._wake.wait(self._every)
            self._wake.clear()
            # Before the batches are taken: what was put before the end belongs to it.
            reason = self._reason
            with self._lock:
                batches, self._waiting, self._bytes = self._waiting, deque(), 0
            for at, events in batches:
                self._writer.add(at, events)
            self._writer.flush()
            if reason is not None:
                self._writer.close(reason)


def ending_words(writer: Writer) -> str:
    """Why a recording ended by itself, for a person; "" where it did not."""
    if writer.ended == "disk":
        why = writer.problem.strerror if writer.problem is not None else ""
        return f"It stopped: {why or 'the disk refuses'}. What was written before can be replayed."
    if writer.ended == "slow":
        return "It stopped: the disk does not keep up. What was written before can be replayed."
    return limit_words(writer.ended, writer.limits)


def limit_words(reason: Reason | None, limits: Limits) -> str:
    """What was agreed and is reached."""
    if reason == "size":
        return f"It stopped at {limits.size / MEGABYTE:g} MB, as agreed (--max-mb)."
    if reason == "time":
        return f"It stopped after {limits.seconds:.0f} s, as agreed (--for)."
    return ""
