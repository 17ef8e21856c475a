"""The log of a server that was just started, read until it says what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from eagletui.engine.reader import LogReader
from eagletui.host.base import FilePosition, Host
from eagletui.host.logs import follow_log
from eagletui.model import events as ev
from eagletui.model.diagnosis import SEVERITY_ORDER, Diagnosis
from eagletui.model.literals import Literals, LiteralStream, Shown
from eagletui.model.server import LogPlace

Tell = Callable[[ev.Event], None]


class LaunchLog:
    """Reads on where it stopped, also over a lost connection.

    Args:
        secrets: what is covered before it is read.

    Attributes:
        ready: whether the ready line was read.
        ended: whether a line said that the launch is over.
        moved: monotonic time of the last byte.
        heard: whether any byte was read.
        phases: seconds by phase, as the log tells.
        load_seconds: from its first line to the ready line; None before that.
    """

    def __init__(
        self,
        place: LogPlace,
        *,
        inode: int | None,
        offset: int,
        secrets: Literals,
        tell: Tell,
    ) -> None:
        self._place = place
        self._position = FilePosition(inode=inode, offset=offset) if inode is not None else None
        self._reader = LogReader("launch")
        self._shown = LiteralStream(secrets)
        self._tell = tell
        self._diagnoses: list[Diagnosis] = []
        self.ready = False
        self.ended = False
        self.moved = time.monotonic()
        self.heard = False
        self.phases: dict[str, float] = {}
        self.load_seconds: float | None = None
        self.version = ""

    @property
    def is_file(self) -> bool:
        """Whether the log outlives its server."""
        return self._place.kind in ("file", "given", "tee")

    async def read(self, host: Host) -> None:
        """Read for ever.

        Raises:
            HostError: the connection was lost; a second call goes on at the same byte.
        """
        chunks = follow_log(host, self._place, position=self._position)
        try:
            async for chunk in chunks:
                if chunk.data:
                    self.moved, self.heard = time.monotonic(), True
                if chunk.gap:
                    self._read(self._shown.cut())
                    self._reader.gap()
                self._position = chunk.position
                self._read(self._shown.feed(chunk.start, chunk.data))
        finally:
            await chunks.aclose()

    def finish(self) -> Diagnosis | None:
        """The process is gone: what the log says of it, the worst first."""
        self._read(self._shown.cut())
        self._take(self._reader.finish(time.time()))
        return self.verdict

    @property
    def verdict(self) -> Diagnosis | None:
        """The worst that the log told so far, of what ends a server."""
        bad = [d for d in self._diagnoses if d.severity in ("fatal", "error")]
        return min(bad, key=lambda d: SEVERITY_ORDER[d.severity], default=None)

    def _read(self, shown: Shown) -> None:
        self._take(self._reader.feed(shown.data, at=time.time()))

    def _take(self, events: list[ev.Event]) -> None:
        for event in events:
            if isinstance(event, ev.ServerReady):
                self.ready = True
                self.load_seconds = event.seconds
            elif isinstance(event, ev.Diagnosed):
                self._diagnoses.append(event.diagnosis)
                self.ended = self.ended or event.ended
            elif isinstance(event, ev.LaunchBegan):
                self.version = event.version
            elif isinstance(event, ev.PhaseEnded) and event.seconds is not None:
                key = f"{event.name}/{event.role}" if event.role else event.name
                self.phases[key] = max(self.phases.get(key, 0.0), event.seconds)
            if not isinstance(event, (ev.DecodeSample, ev.PrefillSample)):
                self._tell(event)
