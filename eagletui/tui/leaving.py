"""Leaving when the system says so: the terminal is put right, and a dead one holds nothing up."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def leave_on_signals(leave: Callable[[int], object]) -> None:
    """Call `leave` with the exit status (128 and the signal) in the running loop.

    What the parent had ignored (`nohup`) stays ignored.
    """
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, leave, 128 + number)


class Forgiving:
    """A stream whose terminal may go away: what cannot be written is dropped.

    Textual's writing thread would end at the first error, and the screen would then wait for it
    for ever, with the connection open.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or drop it."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or drop what is kept."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def forgiving_terminal() -> Iterator[None]:
    """The stream that Textual draws on, made forgiving meanwhile."""
    stream = sys.__stderr__
    assert stream is not None
    sys.__stderr__ = Forgiving(stream)  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        sys.__stderr__ = stream  # type: ignore[misc]
