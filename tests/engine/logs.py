"""Recorded logs, and what our own bookkeeping says of them."""

from __future__ import annotations

import lzma
from pathlib import Path

from eagletui.engine.reader import LogReader
from eagletui.engine.summary import LogSummary, summarise
from eagletui.model.events import Event
from eagletui.model.state import ServerState, State, fold_all

FOLDER = Path(__file__).parent.parent / "recordings" / "logs"
NAMES = sorted(path.name.removesuffix(".log.xz") for path in FOLDER.glob("*.log.xz"))


def recorded(name: str) -> bytes:
    """The whole log as it was written, carriage returns and all."""
    return lzma.decompress((FOLDER / f"{name}.log.xz").read_bytes())


def read(data: bytes, *, size: int | None = None, live: bool = False) -> list[Event]:
    """Its events, fed in chunks of this size."""
    reader = LogReader("s")
    size = size or max(1, len(data))
    events: list[Event] = []
    for start in range(0, len(data), size):
        events += reader.feed(data[start : start + size], at=0.0, live=live)
    return events + reader.finish(0.0)


def in_bulk(chunks: list[bytes]) -> LogSummary:
    """The summary without reading line by line; read by shape and by column it is the same."""
    summary = summarise(chunks)
    assert summarise(chunks, columns_after=0) == summary
    return summary


def folded(events: list[Event]) -> ServerState:
    """The server after these events."""
    return fold_all(State(), events).servers["s"]
