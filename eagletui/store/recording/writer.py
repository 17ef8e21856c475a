"""A recording as it is written: masked, packed in blocks, never larger or longer than agreed."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable
from pathlib import Path

from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError
from eagletui.model.events import Event
from eagletui.model.literals import Literals
from eagletui.model.refused import reason, to_write
from eagletui.store.recording import blocks
from eagletui.store.recording.codec import (
    About,
    Ending,
    Reason,
    encode,
    encode_event,
    encode_frames,
)
from eagletui.store.recording.hiding import Hiding

BLOCK = 128 << 10
"""Bytes of events, not yet packed, that make a block; fewer where `flush` is called before."""
MEGABYTE = 1_000_000
_SYNC_EVERY = 4 << 20
_LAST_WORDS = 256
"""Bytes kept free for the block that says why it ended."""


class Limits(Data, frozen=True):
    """Where a recording stops by itself.

    It keeps its beginning, which the state of a server is folded from, and stops: one that threw
    away its oldest part would show a server whose start nobody saw.

    Attributes:
        size: bytes of the file.
        seconds: from the first event on.
    """

    size: int = 256 * MEGABYTE
    seconds: float = 24 * 3600.0


class Writer:
    """Writes one file; not for two threads at once.

    Args:
        path: where; never a file that is there.
        about: what is recorded.
        limits: where it stops by itself.
        literals: secrets that are known.

    Raises:
        EagletuiError: the file is there already, or cannot be made.
    """

    def __init__(
        self,
        path: Path,
        about: About,
        *,
        limits: Limits | None = None,
        literals: Literals | None = None,
    ) -> None:
        self.path = path
        self.limits = limits or Limits()
        self.size = 0
        self.events = 0
        self.ended: Reason | None = None
        self.problem: OSError | None = None
        self._hiding = Hiding(literals)
        self._frames: list[tuple[float, list[bytes]]] = []
        self._pending = 0
        self._first: float | None = None
        self._at = about.began
        self._synced = 0
        self._file = _made(path)
        self._write(blocks.MAGIC + blocks.pack(blocks.ABOUT, encode(about), first=about.began))
        if self.problem is not None:
            raise _unwritable(path, self.problem)

    @property
    def seconds(self) -> float:
        """From the first event to the last."""
        return 0.0 if self._first is None else self._at - self._first

    def add(self, at: float, events: Iterable[Event]) -> None:
        """Events that came together at this moment; nothing once it ended."""
        if self.ended is not None:
            return
        self._at = max(at, self._at)
        if self._first is None:
            self._first = self._at
        if self._at - self._first > self.limits.seconds:
            self._end("time")
            return
        self._take(self._hiding.take(events))
        if self._pending >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Put on the disk what came so far, but for a line of a log that is not over."""
        if self._frames and self.ended is None:
            block = blocks.pack(
                blocks.EVENTS,
                encode_frames(self._frames),
                first=self._frames[0][0],
                last=self._frames[-1][0],
                events=sum(len(events) for _, events in self._frames),
            )
            self._frames, self._pending = [], 0
            if self.size + len(block) + _LAST_WORDS > self.limits.size:
                self._end("size")
            else:
                self._write(block)

    def close(self, reason: Reason = "closed") -> None:
        """The end, with its last words. A second time does nothing."""
        if self.ended is None:
            self._take(self._hiding.rest())
            self.flush()
        if self.ended is None:
            self._end(reason)

    def _take(self, events: Iterable[Event]) -> None:
        packed = [encode_event(event) for event in events]
        if packed:
            self._frames.append((self._at, packed))
            self._pending += sum(map(len, packed))
            self.events += len(packed)

    def _end(self, reason: Reason) -> None:
        if reason == "time":
            self.flush()
        if self.ended is not None:
            return
        self._write(blocks.pack(blocks.END, encode(Ending(at=self._at, reason=reason))))
        self.ended = self.ended or reason
        if not self._file.closed:
            self._sync()
            self._close_file()

    def _write(self, data: bytes) -> None:
        """Whole or not at all: what a full disk took only a part of is cut off again."""
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:]) or 0
        except OSError as error:
            self.problem, self.ended = error, "disk"
            # Where that fails too, a reader stops before the block that is not whole.
            with contextlib.suppress(OSError):
                self._file.truncate(self.size)
            self._close_file()
            return
        self.size += len(data)
        if self.size - self._synced >= _SYNC_EVERY:
            self._sync()

    def _sync(self) -> None:
        self._synced = self.size
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self.problem = error

    def _close_file(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.problem = error


def _made(path: Path) -> io.FileIO:
    try:
        return io.FileIO(path, "xb", opener=_private)
    except FileExistsError as error:
        raise EagletuiError(
            f"{path} is there already.",
            meaning="A recording never replaces a file.",
            advice="Give another name, or remove the file first.",
        ) from error
    except OSError as error:
        raise _unwritable(path, error) from error
    except ValueError as error:
        raise EagletuiError(f"{path} is no name of a file.", advice="Check the path.") from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _unwritable(path: Path, error: OSError) -> EagletuiError:
    return EagletuiError(f"{path} cannot be written: {reason(error)}.", advice=to_write(error))
