"""A server's log, chunk by chunk, into events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from eagletui.engine.acceptance import DEFAULT_INTERVAL, AcceptanceWatch
from eagletui.engine.bars import holds_only_bars
from eagletui.engine.failures import Failures
from eagletui.engine.launch import PHASE_STARTS, READY, Launch, Moment
from eagletui.engine.logline import (
    Record,
    graph_used,
    is_access,
    number,
    read_bars,
    read_batch,
    read_record,
    whole,
)
from eagletui.engine.messages import BEGINNINGS, LAUNCHER, STEPS, VERSION, meaning
from eagletui.engine.releases import Range, Version, infer_releases
from eagletui.engine.splitter import Line, Splitter, logical
from eagletui.engine.steady import Steady, accept_line, decode_messages
from eagletui.model import events as ev
from eagletui.model.events import Event
from eagletui.model.speculative import accept_rate

# A pending bar is short; anything longer is a line that is still being written.
MAX_PENDING_BAR = 2048
# A bar glued to more than this is read when its line ends: looking again at every chunk of a line
# that never ends would take longer than reading it.
MAX_HELD = 16 * 1024
# A decode line this much slower than its predecessors, after the batch was empty, counts idle time.
IDLE_SHARE = 0.6
IDLE_GAP = 2.0

QUARTER = 900.0
WIDEST_ZONE = 14 * 3600.0
FIRST_STAMP = (-60.0, 600.0)
"""How long after its process's start a launch writes its first stamps, seconds."""


class _Decoding:
    """What the decode lines of one rank were like, to know one that counts idle time."""

    def __init__(self) -> None:
        self.stamp: float | None = None
        self.usual: float | None = None
        self.emptied = False

    def first(self, stamp: float | None, running: int | None, throughput: float | None) -> bool:
        gap = stamp - self.stamp if stamp is not None and self.stamp is not None else 0.0
        idle = self.stamp is None or self.emptied or gap >= IDLE_GAP
        self.stamp = stamp if stamp is not None else self.stamp
        self.emptied = False
        if throughput is None or not running:
            return idle and self.usual is None
        each = throughput / running
        if idle and (self.usual is None or each < IDLE_SHARE * self.usual):
            return True
        self.usual = each if self.usual is None else 0.8 * self.usual + 0.2 * each
        return False


class LogReader:
    """Reads one server's log.

    Feeding the same bytes in other chunks gives the same events (but for `at`).

    Args:
        server: `ServerProcess.key`, for the events.
        clock: user's clock minus log time, seconds, as the host's own zone says.
        started_at: user's clock when the server's process started, where that is known. A
            container often logs in another zone (UTC) than its host: where a launch's first stamp
            only fits this start after whole quarters of an hour, `clock` is off by those.
    """

    def __init__(self, server: str, *, clock: float = 0.0, started_at: float | None = None) -> None:
        self._server = server
        self._clock = self._host_clock = clock
        self._started_at = started_at
        self._launcher_seen = False
        self._splitter = Splitter()
        self._stamp: float | None = None
        self._at = 0.0
        self._live = True
        self._version = ""
        self._seen = Range()
        self._fresh = True
        self._first: float | None = None
        self._begin(None)

    def _begin(self, first: float | None) -> None:
        self._launch = Launch(first)
        self._failures = Failures(self._launch)
        self._watch = AcceptanceWatch()
        self._steps: int | None = None
        self._decoding: dict[str, _Decoding] = {}

    # --- what is known ---------------------------------------------------------------------

    @property
    def releases(self) -> Range:
        """The releases that this log can come from."""
        if self._version:
            return Range(self._version, self._version)
        return self._launch.releases.narrowed(self._seen)

    @property
    def unended(self) -> bool:
        """Whether a last line without its end is held back."""
        return not self._splitter.at_start

    @property
    def line_number(self) -> int:
        """The number of the line being read, 1-based."""
        return self._splitter.number

    @property
    def at_line_start(self) -> bool:
        """Whether everything fed so far ended in a line end."""
        return self._splitter.at_start

    @property
    def bars_matter(self) -> bool:
        """Whether a progress bar can still become an event."""
        return self._launch.wants_bars

    @property
    def inside(self) -> bool:
        """Whether the next line belongs to a traceback or usage text."""
        return self._failures.open

    @property
    def steady(self) -> bool:
        """Whether lines of a serving log may be read elsewhere: no line is open, nothing starts."""
        return self.at_line_start and not (self.inside or self.bars_matter or self._launcher_seen)

    def needed(self, steady: Steady) -> Iterator[bytes]:
        """Those of its other lines that become an event, or change what others become.

        Where in doubt, a line is needed. It is to be fed before the next is asked for. What time
        it is may have to be told by `passed`.
        """
        settled = self._settled
        if settled and all(map(self._knows, steady.notable)):
            return
        notable = set(steady.notable)
        for line in steady.others:
            if not (settled and (line not in notable or self._knows(line))):
                yield line
                settled = self._settled

    @property
    def _settled(self) -> bool:
        """Whether a line that means nothing by itself changes nothing."""
        waits = self._failures.waits or (self._fresh and self._first is None)
        return self.steady and not waits

    def _knows(self, line: bytes) -> bool:
        if holds_only_bars(line):
            return True
        means = meaning(line)
        return not means.more and self._failures.knows(means.signatures)

    def may_begin(self, line: bytes) -> bool:
        """Whether a launch may be announced by this line, which is needed."""
        return not self._launch.announced and meaning(line).begins

    def time_of(self, stamp: float) -> float:
        """User's clock at this log time, as far as the zone of the log is known."""
        return stamp + self._clock

    # --- feeding ---------------------------------------------------------------------------

    def feed(self, data: bytes, *, at: float, live: bool = True) -> list[Event]:
        """Events of the lines that this chunk completes.

        Args:
            data: the next bytes, cut anywhere.
            at: user's clock when they came.
            live: False while catching up: events then carry the time their stamp names.
        """
        self._at, self._live = at, live
        events: list[Event] = []
        for line in self._splitter.feed(data):
            events += self._line(line)
        if self._launch.wants_bars and 0 < self._splitter.held <= MAX_HELD:
            for line in self._splitter.pending():
                if len(line.data) <= MAX_PENDING_BAR and line.data[:1] != b"[":
                    text = line.data.decode("utf-8", "replace")
                    events += self._bars(text, self._moment(None))
        return events

    def begin_anew(self, started_at: float | None) -> None:
        """Another process writes from here on: what comes belongs to a launch of its own.

        Args:
            started_at: user's clock when it started, where that is known.
        """
        self._started_at = started_at
        if self._launch.announced or self._launch.ended:
            self._fresh, self._first = True, None
            self._begin(None)

    def skip(self, newlines: int) -> None:
        """Count lines that were understood elsewhere."""
        self._splitter.skip(newlines)

    def gap(self) -> None:
        """What comes next does not follow what came: forget the line that was being read."""
        for _ in self._splitter.finish():
            pass

    def finish(self, at: float) -> list[Event]:
        """The log is over: judge what was left open."""
        self._at = at
        events: list[Event] = []
        for line in self._splitter.finish():
            events += self._line(line)
        for event in self._failures.finish():
            events += [*self._announce(event), event]
        return events

    # --- what was read elsewhere -----------------------------------------------------------

    def judged(self, steady: Steady, block: bytes) -> list[tuple[int, bytes]]:
        """The line of the block that proves the draft useless, with its index; where there is one.

        Args:
            block: what was taken apart.
        """
        if not steady.samples:
            return []
        self.observe(decode_messages(block))
        useless = self._watch.add_column(steady.low)
        return [] if useless is None else [accept_line(block, useless)]

    def passed(self, stamp: float | None) -> None:
        """Lines were understood elsewhere; the last stamp among them, None for none."""
        if stamp is not None:
            self._stamp = stamp

    def useless_draft(self, line: bytes, number: int) -> list[Event]:
        """The verdict for what `judged` found; `passed` has told the stamp of its line."""
        (decode,) = logical(number, line)
        verdict = self._watch.verdict(decode.data.decode("utf-8", "replace"), number)
        return list(self._failures.degraded(verdict, self._moment(self._stamp)))

    def observe(self, messages: Iterable[str]) -> None:
        """Releases differ in how they write batches; the first message with a hint tells."""
        if self._seen == Range():
            ranges = (infer_releases([message]) for message in messages)
            self._seen = next(filter(Range().__ne__, ranges), Range())

    # --- one line --------------------------------------------------------------------------

    def _moment(self, stamp: float | None) -> Moment:
        if stamp is not None:
            self._stamp = stamp
        if self._live or self._stamp is None:
            return Moment(self._server, self._at, stamp)
        return Moment(self._server, self._stamp + self._clock, stamp)

    def _align(self, stamp: float) -> None:
        """A launch begins here: if it is that of the process, its zone is known.

        Zones differ by quarters of an hour, at most `WIDEST_ZONE` from another. An older launch
        that fits by chance is put right when the process's own comes.
        """
        if self._started_at is None:
            return
        late = stamp + self._host_clock - self._started_at
        shift = 0.0
        if abs(late) >= QUARTER / 2:
            shift = (late - FIRST_STAMP[0]) // QUARTER * QUARTER
        if abs(shift) <= WIDEST_ZONE and FIRST_STAMP[0] <= late - shift <= FIRST_STAMP[1]:
            self._clock = self._host_clock - shift

    def _line(self, line: Line) -> Iterator[Event]:
        record = read_record(line.data.decode("utf-8", "replace"))
        if record.stamp is not None:
            if self._launcher_seen or record.text.startswith("server_args="):
                self._align(record.stamp)
            self._launcher_seen = False
        now = self._moment(record.stamp)
        message = record.text
        if record.stamp is not None or self._failures.open is False:
            batch = read_batch(message)
            if batch is not None:
                kind, pairs = batch
                read = self._decode if kind == "Decode" else self._prefill
                yield from read(record, pairs, line, now)
                return
            if is_access(message):
                return
        if self._fresh and record.stamp is not None and self._first is None:
            self._first = record.stamp
        if self._launch.wants_bars and "%" in message and record.stamp is None:
            yield from self._bars(message, now)
        if LAUNCHER in message[:400]:
            self._fresh, self._first = True, None
            self._launcher_seen = record.stamp is None
            if self._launch.announced or self._launch.ended:
                self._begin(None)
        if message.startswith("server_args="):
            yield from self._arguments(record, now)
            return
        if message.startswith(PHASE_STARTS):
            yield from self._phase(record, now)
        elif match := STEPS.match(message):
            yield from self._steps_changed(match, now)
        elif (stated := VERSION.search(message)) and record.stamp is not None:
            self._state_version(stated[1])
        for event in self._failures.line(record, line.number, now):
            yield from self._announce(event)
            yield event

    def _announce(self, event: Event) -> Iterator[Event]:
        """A launch that fails before its arguments still has to begin."""
        if isinstance(event, ev.Diagnosed) and event.ended and not self._launch.announced:
            if self._launch.first is None:
                self._launch.first = self._first
            now = Moment(self._server, event.at, self._first)
            yield from self._launch.announce(now)

    def _arguments(self, record: Record, now: Moment) -> Iterator[Event]:
        if self._launch.args or self._launch.announced:
            self._begin(None)
        self._launch.first = self._first if self._fresh else None
        self._fresh, self._first = False, None
        self._launch.releases = self._launch.releases.narrowed(infer_releases([record.text[:40]]))
        yield from self._launch.arguments(record.text.partition("=")[2], now)
        self._steps = self._launch.speculative.num_steps
        interval = self._launch.args.get("decode_log_interval")
        self._watch = AcceptanceWatch(interval if isinstance(interval, int) else DEFAULT_INTERVAL)

    def _phase(self, record: Record, now: Moment) -> Iterator[Event]:
        releases = infer_releases([record.text], self._launch.releases)
        yield from self._launch.learn(releases, now)
        begins = record.text.startswith(BEGINNINGS)
        if not self._launch.announced and begins:
            self._launch.first = self._first if self._fresh else now.stamp
            self._fresh = False
        if self._launch.announced or begins or record.text == READY:
            yield from self._launch.message(record, now)

    def _bars(self, text: str, now: Moment) -> Iterator[Event]:
        for bar in read_bars(text):
            yield from self._launch.bar(bar, now)

    def _steps_changed(self, match: re.Match[str], now: Moment) -> Iterator[Event]:
        self._steps = int(match[1])
        yield ev.StepsChanged(
            at=now.at,
            server=self._server,
            stamp=now.stamp,
            num_steps=self._steps,
            num_draft_tokens=int(match[2]) if match[2] else None,
        )

    def _state_version(self, text: str) -> None:
        try:
            self._version = Version(text).text
        except ValueError:
            return

    # --- batches ---------------------------------------------------------------------------

    def _decode(
        self, record: Record, pairs: dict[str, str], line: Line, now: Moment
    ) -> Iterator[Event]:
        self.observe([record.text])
        self._launch.serving = True
        running = whole(pairs, "#running-req")
        accept = number(pairs, "accept len")
        throughput = number(pairs, "gen throughput (token/s)")
        decoding = self._decoding.setdefault(record.rank, _Decoding())
        step_ms = None
        if running and throughput:
            step_ms = 1000.0 * running * (accept if accept is not None else 1.0) / throughput
        yield ev.DecodeSample(
            at=now.at,
            server=self._server,
            stamp=now.stamp,
            rank=record.rank,
            running=running,
            queued=whole(pairs, "#queue-req"),
            accept_length=accept,
            accept_rate=accept_rate(accept, self._steps) if accept is not None else None,
            gen_throughput=throughput,
            token_usage=number(pairs, "token usage", "full token usage", "swa token usage"),
            graph=graph_used(pairs),
            step_ms=step_ms,
            first=decoding.first(now.stamp, running, throughput),
        )
        if accept is not None and self._watch.add(accept):
            verdict = self._watch.verdict(line.data.decode("utf-8", "replace"), line.number)
            yield from self._failures.degraded(verdict, now)

    def _prefill(
        self,
        record: Record,
        pairs: dict[str, str],
        line: Line,  # noqa: ARG002
        now: Moment,
    ) -> Iterator[Event]:
        running = whole(pairs, "#running-req")
        if running == 0 and record.rank in self._decoding:
            self._decoding[record.rank].emptied = True
        yield ev.PrefillSample(
            at=now.at,
            server=self._server,
            stamp=now.stamp,
            rank=record.rank,
            new_tokens=whole(pairs, "#new-token"),
            cached_tokens=whole(pairs, "#cached-token"),
            running=running,
            queued=whole(pairs, "#queue-req"),
            token_usage=number(pairs, "token usage", "full token usage", "swa token usage"),
        )
