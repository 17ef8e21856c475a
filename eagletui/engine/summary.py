"""A whole log summed up: the contract of `eagletui log FILE --json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Any

from msgspec.structs import replace

from eagletui.engine.amounts import Amounts, Running, amounts
from eagletui.engine.phase_times import added_up
from eagletui.engine.reader import LogReader
from eagletui.engine.steady import Steady, SteadyReader, places, stamps_exist
from eagletui.model import events as ev
from eagletui.model.base import Data
from eagletui.model.diagnosis import SEVERITY_ORDER, Diagnosis
from eagletui.model.phases import Rung
from eagletui.model.speculative import Speculative
from eagletui.model.state import ServerState, State, fold

BLOCK = 3 << 18
"""Bytes to feed at once: what each step along the lines costs by itself matters little in so many,
and more leave the processor's caches (a third as many took half as long again)."""
SMALL = 1 << 16
"""Bytes to read at once in any other way."""
COLUMNS_AFTER = 4 << 20
"""Bytes after which it pays to load what reads columns."""
_KEY = "log"
GENERAL = frozenset({"scheduler-crashed", "detokenizer-crashed", "launch-failed"})


class Column(Data, frozen=True):
    """A column of numbers in four."""

    mean: float
    min: float
    max: float
    last: float


class DecodeSummary(Data, frozen=True):
    """All decode lines of a log, those after idle included."""

    samples: int = 0
    accept_length: Column | None = None
    gen_throughput: Column | None = None
    running_max: int | None = None


class LogSummary(Data, frozen=True):
    """What one log tells. Of several launches in one file, the last.

    Attributes:
        version: the releases the log can come from (`0.5.16–0.5.17`, `0.5.23+`), None for no idea.
        phase: the phase that was reached last.
        ready: whether this launch came to serve.
        ready_after_s: log time from its first line to the ready line.
        phases: each lasts until the next one begins; together they take `ready_after_s`.
    """

    version: str | None = None
    phase: str | None = None
    ready: bool = False
    ready_after_s: float | None = None
    server_args: dict[str, Any] = {}
    speculative: Speculative = Speculative()
    phases: tuple[Rung, ...] = ()
    decode: DecodeSummary = DecodeSummary()
    diagnosis: tuple[Diagnosis, ...] = ()
    launches: int = 0
    lines: int = 0

    @property
    def known(self) -> bool:
        """Whether anything in it was SGLang's."""
        return bool(
            self.launches or self.decode.samples or self.diagnosis or self.version or self.ready
        )

    def document(self) -> dict[str, Any]:
        """The contract of `log --json`; what is unknown is None."""
        speculative = self.speculative
        return {
            "version": self.version,
            "phase": self.phase,
            "ready": self.ready,
            "ready_after_s": self.ready_after_s,
            "server_args": self.server_args,
            "speculative": {
                "algorithm": speculative.algorithm,
                "num_steps": speculative.num_steps,
                "eagle_topk": speculative.eagle_topk,
                "num_draft_tokens": speculative.num_draft_tokens,
            },
            "phases": [
                {
                    "name": rung.name,
                    "role": rung.role,
                    "seconds": rung.seconds,
                    "done": rung.done,
                    "total": rung.total,
                }
                for rung in self.phases
            ],
            "decode": {
                "samples": self.decode.samples,
                "accept_length": _document(self.decode.accept_length),
                "gen_throughput": _document(self.decode.gen_throughput),
                "running_max": self.decode.running_max,
            },
            "diagnosis": [
                {
                    "code": verdict.code,
                    "severity": verdict.severity,
                    "title": verdict.title,
                    "line": verdict.line,
                    "evidence": verdict.evidence,
                    "advice": verdict.advice,
                }
                for verdict in self.diagnosis
            ],
        }


def _column(amounts: Amounts | None) -> Column | None:
    if amounts is None:
        return None
    return Column(amounts.mean, amounts.least, amounts.greatest, amounts.last)


def _document(column: Column | None) -> dict[str, float | None]:
    if column is None:
        return dict.fromkeys(("mean", "min", "max", "last"))
    return {"mean": column.mean, "min": column.min, "max": column.max, "last": column.last}


class Summariser:
    """Takes in a log block by block.

    Args:
        fast: whether steady lines may be read in bulk; False is the reference for tests.
        columns_after: bytes after which they are read column by column.
    """

    def __init__(self, *, fast: bool = True, columns_after: int = COLUMNS_AFTER) -> None:
        self._fast = fast
        self._reader = LogReader(_KEY)
        self._steady_reader = SteadyReader(columns_after=columns_after)
        self._state = State()
        self._tail = b""
        self._samples = 0
        self._running: int | None = None
        self._accept = Running()
        self._throughput = Running()
        self._ready: ev.ServerReady | None = None
        self._launches = 0

    def feed(self, chunk: bytes) -> None:
        """The next bytes, any number of them."""
        if not self._fast:
            self._read(chunk)
            return
        if not self._reader.at_line_start:
            # A line longer than a block is being read piecemeal.
            end = chunk.find(b"\n") + 1 or len(chunk)
            self._read(chunk[:end])
            chunk = chunk[end:]
        end = chunk.rfind(b"\n") + 1
        if end:
            # Joined from a view: a block is copied once.
            block = b"".join((self._tail, memoryview(chunk)[:end]))
            self._tail = chunk[end:]
            for piece in self._pieces(block):
                self._block(piece)
            return
        self._tail += chunk
        if len(self._tail) >= BLOCK:
            self._read(self._tail)
            self._tail = b""

    def finish(self) -> LogSummary:
        """The summary of everything that was fed."""
        self._read(self._tail)
        lines = self._reader.line_number - 1 + self._reader.unended
        self._take(self._reader.finish(0.0))
        server = self._state.servers.get(_KEY)
        text = self._reader.releases.text
        if server is None:
            return LogSummary(version=text or None, decode=self._decode(), lines=lines)
        phase = server.phase
        return LogSummary(
            version=text or None,
            phase=phase.title if phase is not None else None,
            ready=self._ready is not None,
            ready_after_s=self._ready.seconds if self._ready is not None else None,
            server_args=server.args,
            speculative=server.speculative,
            phases=self._phases(server),
            decode=self._decode(),
            diagnosis=_worst_first(server),
            launches=self._launches,
            lines=lines,
        )

    def _phases(self, server: ServerState) -> tuple[Rung, ...]:
        ladder = added_up(server.ladder, self._ready.stamp if self._ready is not None else None)
        return tuple(replace(rung, moved_at=None) for rung in ladder)

    def _decode(self) -> DecodeSummary:
        return DecodeSummary(
            samples=self._samples,
            accept_length=_column(self._accept.whole),
            gen_throughput=_column(self._throughput.whole),
            running_max=self._running,
        )

    def _pieces(self, block: bytes) -> Iterator[bytes]:
        """Whole lines, small enough for the processor's cache where they are read by shape."""
        if self._steady_reader.reads_columns:
            yield block
        else:
            yield from _small(block)

    def _in_full(self, block: bytes) -> None:
        """As little as can be of a block that has to be read line by line somewhere."""
        first, *others = _small(block)
        if not others:
            self._read(first)
            return
        for piece in (first, *others):
            self._block(piece)

    def _block(self, block: bytes) -> None:
        """Whole lines."""
        end = block.find(b"\n")
        if block[end - 1 : end] == b"\r":
            block = block.replace(b"\r\n", b"\n")
        reader = self._reader
        # Lines with a stamp belong to no traceback, and those that are passed over have one.
        whole = not reader.inside or stamps_exist(block)
        steady = self._steady_reader.read(block) if whole else None
        if steady is None:
            self._in_full(block)
            return
        needed = list(reader.needed(steady))
        if steady.samples and (reader.bars_matter or any(map(reader.may_begin, needed))):
            # It matters on which side of these lines a sample stands.
            self._in_full(block)
            return
        end = reader.line_number + steady.lines
        useless = self._reader.judged(steady, block)
        if needed or useless:
            self._tell(steady, useless)
        reader.skip(end - reader.line_number)
        self._samples += steady.samples
        self._ran(steady.running)
        self._throughput.add(steady.gen_throughput)
        self._accept.add(steady.accept_length)

    def _tell(self, steady: Steady, useless: list[tuple[int, bytes]]) -> None:
        """Have the reader read what it needs of a block."""
        reader = self._reader
        first = reader.line_number
        needed = places(steady, reader.needed(steady))
        for index, line in merge(needed, useless):
            if (index, line) in useless:
                self._take(reader.useless_draft(line, first + index))
                continue
            reader.skip(first + index - reader.line_number)
            self._take(reader.feed(line + b"\n", at=0.0, live=False))

    def _read(self, data: bytes) -> None:
        """The slow way, for any bytes."""
        self._take(self._reader.feed(data, at=0.0, live=False))

    def _take(self, events: list[ev.Event]) -> None:
        accept: list[float] = []
        throughput: list[float] = []
        for event in events:
            if isinstance(event, ev.DecodeSample):
                self._samples += 1
                self._ran(event.running)
                if event.accept_length is not None:
                    accept.append(event.accept_length)
                if event.gen_throughput is not None:
                    throughput.append(event.gen_throughput)
                continue
            if isinstance(event, ev.PrefillSample):
                continue
            if isinstance(event, ev.LaunchBegan):
                self._restart()
                accept, throughput = [], []
            elif isinstance(event, ev.ServerReady):
                self._ready = event
            self._state = fold(self._state, event)
        self._accept.add(amounts(accept))
        self._throughput.add(amounts(throughput))

    def _ran(self, running: int | None) -> None:
        if running is not None:
            self._running = max(running, self._running or 0)

    def _restart(self) -> None:
        """A new launch in the same file: what the one before did is no part of it."""
        self._launches += 1
        self._ready = None
        self._samples, self._running = 0, None
        self._accept, self._throughput = Running(), Running()


def _small(block: bytes) -> Iterator[bytes]:
    """Whole lines in pieces."""
    begin = 0
    while begin < len(block):
        end = block.rfind(b"\n", begin, begin + SMALL) + 1 or block.find(b"\n", begin) + 1
        yield block[begin:end]
        begin = end


def _worst_first(server: ServerState) -> tuple[Diagnosis, ...]:
    """Verdicts of the launch; what is general goes where something specific is known."""
    fatal = {verdict.code for verdict in server.diagnoses if verdict.severity == "fatal"}
    known = [v for v in server.diagnoses if v.code not in GENERAL or not fatal - GENERAL]
    known.sort(key=lambda verdict: SEVERITY_ORDER[verdict.severity])
    return tuple(replace(verdict, at=None) for verdict in known)


def summarise(
    chunks: Iterable[bytes], *, fast: bool = True, columns_after: int = COLUMNS_AFTER
) -> LogSummary:
    """Sum up a log.

    Args:
        chunks: its bytes in order, cut anywhere; `BLOCK` bytes each is fastest.
        fast: False reads every line in full (the same result, many times slower).
        columns_after: as in `Summariser`; the result is the same.
    """
    summariser = Summariser(fast=fast, columns_after=columns_after)
    for chunk in chunks:
        summariser.feed(chunk)
    return summariser.finish()
