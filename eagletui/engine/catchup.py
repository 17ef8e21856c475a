"""Catching up with a long log: old steady lines are passed over, what they amount to is kept.

Every line that the reader makes into events costs a hundred microseconds of reading, folding and
drawing; a server that ran for a week has millions of them, and only the last ones matter now. So
from a log's older part come: whatever is no batch or access line (launches, phases, failures), the
verdict on the draft, and of each piece the last batches, which keep the chart's outline.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from eagletui.engine.logline import read_record
from eagletui.engine.reader import LogReader
from eagletui.engine.splitter import logical
from eagletui.engine.steady import (
    DECODE_LITERAL,
    Steady,
    SteadyReader,
    places,
)
from eagletui.model.events import Event

IN_FULL = 4 << 20
"""Bytes of an old log that are read in full in any case."""
RECENT = 3600.0
"""Seconds: what was written so lately is read in full."""
PIECE = 128 << 10
"""Bytes that are taken apart at once."""
SMALLEST = 8 << 10
"""Bytes: of a smaller piece nothing is passed over."""
LAST_DECODES = 16
"""How many decode lines of each piece are read in full: a rank's usual speed settles by them."""

_PREFILL_LITERAL = b"Prefill batch"


class CatchUp:
    """Feeds a reader: line by line what is live, recent, short or unusual; the rest in bulk.

    The state folded from its events is that of the reader alone, once the last line was read. Of
    the older samples only some become events.

    Args:
        reader: at the beginning of its log.
        in_full: bytes of the old log that are read in full in any case.
    """

    def __init__(self, reader: LogReader, *, in_full: int = IN_FULL) -> None:
        self._reader = reader
        self._steady = SteadyReader()
        self._left = in_full

    def feed(self, data: bytes, *, at: float, live: bool = True) -> list[Event]:
        """Events of this chunk; as `LogReader.feed`."""
        self._left -= len(data)
        if live or self._left > 0:
            return self._reader.feed(data, at=at, live=live)
        events: list[Event] = []
        if not self._reader.at_line_start:
            begun = data.find(b"\n") + 1 or len(data)
            events += self._reader.feed(data[:begun], at=at, live=False)
            data = data[begun:]
        while data:
            end = data.rfind(b"\n", 0, PIECE) + 1 or len(data)
            events += self._piece(data[:end], at)
            data = data[end:]
        return events

    def _piece(self, data: bytes, at: float) -> list[Event]:
        events: list[Event] | None = None
        end = _end_of_old(data)
        if end >= SMALLEST and self._reader.steady and self._is_old(data[:end], at):
            events = self._pass_over(data[:end], at)
        if events is None:
            return self._reader.feed(data, at=at, live=False)
        return events + self._reader.feed(data[end:], at=at, live=False)

    def _is_old(self, block: bytes, at: float) -> bool:
        stamp = _last_stamp(block[-SMALLEST:].split(b"\n"))
        return stamp is not None and at - self._reader.time_of(stamp) > RECENT

    def _pass_over(self, block: bytes, at: float) -> list[Event] | None:
        steady = self._steady.read(block)
        if steady is None or b"\r\n" in block:
            return None
        return list(self._events(steady, block, at))

    def _events(self, steady: Steady, block: bytes, at: float) -> Iterator[Event]:
        reader, number = self._reader, self._reader.line_number
        lines = block.split(b"\n")
        useless = self._reader.judged(steady, block)
        also = sorted(useless + _last_prefill(block, lines))
        passed = 0
        for index, line in merge(places(steady, reader.needed(steady)), also):
            if index < passed:
                continue  # a prefill line that was told for being odd
            reader.passed(_last_stamp(lines[passed : index + 1]))
            if (index, line) in useless:
                yield from reader.useless_draft(line, number + index)
            else:
                reader.skip(index - (reader.line_number - number))
                yield from reader.feed(line + b"\n", at=at, live=False)
            passed = index + 1
        reader.passed(_last_stamp(lines[passed:]))
        reader.skip(steady.lines - (reader.line_number - number))


def _last_stamp(lines: list[bytes]) -> float | None:
    """Lines without a stamp go by the nearest one before them."""
    for line in reversed(lines):
        for bar in reversed(line.split(b"\r")):
            for piece in reversed(list(logical(1, bar))):
                stamp = read_record(piece.data.decode("utf-8", "replace")).stamp
                if stamp is not None:
                    return stamp
    return None


def _end_of_old(data: bytes) -> int:
    """Where the last decode lines begin; without any, where the last line does."""
    place = len(data)
    for _ in range(LAST_DECODES):
        before = data.rfind(DECODE_LITERAL, 0, place)
        if before < 0:
            break
        place = before
    return data.rfind(b"\n", 0, place) + 1


def _last_prefill(block: bytes, lines: list[bytes]) -> list[tuple[int, bytes]]:
    """The last prefill line, with its index among the lines."""
    place = block.rfind(_PREFILL_LITERAL)
    index = block.count(b"\n", 0, max(place, 0))
    return [(index, lines[index])] if place >= 0 else []
