"""A live session's series kept beside everything else, so that "what was it yesterday" has an
answer: whoever has events never waits for the disk."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from eagletui.model import events as ev
from eagletui.model.errors import EagletuiError
from eagletui.model.history import History, ServerHistory
from eagletui.model.secrets import mask
from eagletui.model.state import ServerState, State, fold
from eagletui.model.text import visible
from eagletui.store.runs.database import Database
from eagletui.store.runs.recorder import FLUSH_SECONDS, SessionRecorder
from eagletui.store.runs.series import SeriesStore

EVERY = 5.0
"""Seconds between two looks at what came."""

THIN_EVERY = 3600.0
MOST_WAITING = 50_000
"""Events that wait for the thread; the oldest go first."""

LAST_WAIT = 3.0
"""Seconds that a slow disk is given at the end."""

# What says something of series, or of which server they are; log text is not among it.
_KINDS = (
    ev.Scraped,
    ev.DecodeSample,
    ev.StepsChanged,
    ev.ServersFound,
    ev.ServerSelected,
    ev.ServerGone,
    ev.LaunchBegan,
    ev.InfoRead,
    ev.LinkChanged,
)

_POINTS = (ev.Scraped, ev.DecodeSample, ev.StepsChanged)
LATE = 30.0
"""Seconds that a point may take from the host to here."""


class SessionKeeper:
    """A thread that folds events into sessions and writes them.

    `put` and `close` are for one thread alone.

    Args:
        host: the host as the person named it.
        file: the database.
        clock: the user's, seconds since the epoch.
    """

    def __init__(
        self,
        host: str,
        file: Path,
        *,
        every: float = EVERY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = file
        self._every = every
        self._clock = clock
        self._sessions = Sessions(visible(host))
        self._waiting: deque[ev.Event] = deque(maxlen=MOST_WAITING)
        self._wake = threading.Event()
        self._closing = False
        self._written = float("-inf")
        self._thinned = float("-inf")
        self.words = ""
        """Why nothing is kept for now, for a person; said once, "" while all is well."""
        self._thread = threading.Thread(target=self._run, name="sessions", daemon=True)
        self._thread.start()

    def put(self, at: float, events: Sequence[ev.Event]) -> None:
        """Take what came; costs nothing but a look at each event's kind.

        What an old log tells of the time before was watched by another session, or by nobody.
        """
        if self._closing:
            return
        self._waiting.extend(
            event
            for event in events
            if isinstance(event, _KINDS)
            and not (isinstance(event, _POINTS) and at - event.at > LATE)
        )

    def close(self, timeout: float | None = LAST_WAIT) -> None:
        """Write what there is, and end."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self._keep_on()
        except Exception as error:
            # A thread that dies tells nobody, and what waits for it grows.
            self._closing = True
            self._waiting.clear()
            self.words = (
                f"A fault of eagletui ended it: {visible(f'{type(error).__name__}: {error}')}"
            )

    def _keep_on(self) -> None:
        while not self._closing:
            self._wake.wait(self._every)
            closing = self._closing
            waiting = self._waiting
            self._sessions.take(waiting.popleft() for _ in range(len(waiting)))
            now = self._clock()
            if closing or now - self._written >= FLUSH_SECONDS:
                self._written = now
                self._write(now)

    def _write(self, now: float) -> None:
        if not self._sessions.recorders:
            return
        try:
            with Database(self._file) as database:
                store = SeriesStore(database)
                self._sessions.flush(store, now)
                if now - self._thinned >= THIN_EVERY:
                    self._thinned = now
                    store.thin(now)
        except (EagletuiError, OSError) as error:
            what = error.what if isinstance(error, EagletuiError) else str(error)
            advice = error.advice if isinstance(error, EagletuiError) else ""
            self.words = self.words or visible(
                f"{what} {advice} It is tried again; the last hour is kept until then.".strip()
            )


class Sessions:
    """Events in, points out: a session for each launch of each server that was watched.

    Attributes:
        recorders: what may have something to write; the last one of each server is open.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._state = State()
        self._history = _Histories(self._point)
        self._open: dict[str, SessionRecorder] = {}
        self._of: dict[str, object] = {}
        self.recorders: list[SessionRecorder] = []

    def take(self, events: Iterable[ev.Event]) -> None:
        """Fold them in."""
        for event in events:
            self._state = fold(self._state, event)
            self._history.add(event)

    def flush(self, store: SeriesStore, now: float) -> None:
        """Write everything; what is over and written is forgotten.

        Raises:
            RunsError: not all could be written; it is kept for the next time.
        """
        for key, recorder in self._open.items():
            if recorder.session is None and (server := self._state.servers.get(key)) is not None:
                recorder.about = _about(server)
        for recorder in list(self.recorders):
            recorder.flush(store, now)
            if recorder not in self._open.values():
                self.recorders.remove(recorder)

    def _point(self, server: str, at: float, name: str, value: float | None) -> None:
        state = self._state.servers.get(server)
        if state is None:
            return
        # Not k: an adaptive server changes it while it runs.
        launch = state.process.pid, state.process.started_at, state.restarts
        recorder = self._open.get(server)
        if recorder is None or (value is not None and self._of[server] != launch):
            if value is None:
                return
            if recorder is not None and recorder.session is None:
                recorder.about = recorder.about or _about(state)
            recorder = SessionRecorder(host=self._host, server=server, began=at)
            recorder.about = _about(state)
            self._open[server], self._of[server] = recorder, launch
            self.recorders.append(recorder)
        recorder.add(at, {name: value})


class _Histories(History):
    """The charts' own rules of what is a point and what a gap, without the charts' memory."""

    def __init__(self, point: Callable[[str, float, str, float | None], None]) -> None:
        super().__init__()
        self._point = point

    def server(self, key: str) -> ServerHistory:
        """One that hands every point on."""
        history = self.servers.get(key)
        if history is None:
            history = self.servers[key] = _Points(key, self._point)
        return history


class _Points(ServerHistory):
    def __init__(self, key: str, point: Callable[[str, float, str, float | None], None]) -> None:
        super().__init__()
        self._key, self._point = key, point
        self._names: dict[str, float] = {}

    def put(self, at: float, name: str, value: float | None) -> None:
        self._names[name] = at
        self._point(self._key, at, name, value)

    def gap(self) -> None:
        for name, at in self._names.items():
            self._point(self._key, at, name, None)


def _about(server: ServerState) -> dict[str, str]:
    """What a session is of; masked, as everything that a server's state holds."""
    process = server.process
    said = {
        "model": process.model,
        "speculative": server.speculative.short,
        "version": server.version or process.version,
        "url": process.url,
        "pid": str(process.pid or ""),
    }
    return {name: visible(mask(text)) for name, text in said.items() if text}
