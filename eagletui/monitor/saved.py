"""A saved log and saved scrapes as the events they would have been, at the times they name."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from msgspec.structs import replace

from eagletui.engine.metrics import MetricsReader, NotMetrics
from eagletui.engine.rates import RateMeter
from eagletui.engine.reader import LogReader
from eagletui.engine.scrapes import Scrape
from eagletui.engine.verdicts import Watch, live_verdicts
from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.events import Event
from eagletui.model.literals import Literals
from eagletui.model.secret_names import is_harmless
from eagletui.model.secrets import is_secret_flag, is_secret_name, may_hold_secret
from eagletui.model.server import LogPlace, ServerProcess
from eagletui.model.state import State, fold
from eagletui.model.text import visible

_STAMP = re.compile(rb"^\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)", re.MULTILINE)
# A name and its value: `api_key='X'`, `"hf_token": "X"`, `--api-key X`, `--api-key=X`.
_NAMED = re.compile(
    r"""(--[a-z][\w-]*|\b[A-Za-z_]\w*)['"]?(?:\s*[=:]\s*|\s+)['"]?([^\s'",;(){}\[\]]{6,200})"""
)
_LONGEST = 64 << 10
_MOST_SECRETS = 64
_QUARTER = 900.0
PIECE = 32 << 10
"""Bytes of a log that are one moment at most, however many lines have one stamp."""
JUDGE_EVERY = 1.0


class Batch(NamedTuple):
    """What came together, and when: seconds since the epoch."""

    at: float
    events: Sequence[Event]


class Piece(NamedTuple):
    """Some of a log, and the log time of its lines; None before the first stamp."""

    stamp: float | None
    data: bytes


def pieces(blocks: Iterable[bytes]) -> Iterator[Piece]:
    """A log cut where its stamps change, and where a piece grows too large."""
    held, stamp = b"", None
    for block in blocks:
        text = held + block
        end = text.rfind(b"\n") + 1
        if not end and len(text) < PIECE:
            held = text
            continue
        text, held = (text[:end], text[end:]) if end else (text, b"")
        at = 0
        for mark in _STAMP.finditer(text):
            now = _seconds(mark[1])
            if now is None or now == stamp:
                continue
            yield from _sized(stamp, text[at : mark.start()])
            at, stamp = mark.start(), now
        yield from _sized(stamp, text[at:])
    last = _STAMP.match(held)
    yield from _sized((_seconds(last[1]) if last else None) or stamp, held)


def _sized(stamp: float | None, data: bytes) -> Iterator[Piece]:
    for begin in range(0, len(data), PIECE):
        yield Piece(stamp, data[begin : begin + PIECE])


def _seconds(stamp: bytes) -> float | None:
    try:
        moment = datetime.fromisoformat(stamp.decode().replace("T", " "))
    except ValueError:
        return None
    return moment.replace(tzinfo=timezone.utc).timestamp()


class Found(NamedTuple):
    """First and last log time of a log; None where it has no stamp."""

    first: float | None
    last: float | None


def first_look(blocks: Iterable[bytes]) -> tuple[Found, Literals]:
    """When a log begins and ends, and what it keeps secret where it says so.

    A key that stands in the arguments is hidden wherever else the log has it.
    """
    first = last = None
    secrets: set[str] = set()
    for piece in pieces(blocks):
        if piece.stamp is not None:
            first = piece.stamp if first is None else first
            last = piece.stamp
        if len(secrets) < _MOST_SECRETS and may_hold_secret(piece.data):
            for line in piece.data.decode("utf-8", "replace").splitlines():
                secrets |= _secrets_in(line)
    return Found(first, last), Literals(secrets)


def _secrets_in(line: str) -> set[str]:
    found = _NAMED.findall(visible(line)[:_LONGEST])
    return {
        value
        for name, value in found
        if (is_secret_flag(name) if name.startswith("-") else is_secret_name(name))
        and not is_harmless(name, value)
    }


def zone_of(log: Found, scrapes: Sequence[Scrape]) -> float:
    """Seconds that the log's clock is ahead of UTC: what brings scrapes and lines together best.

    Whole quarters of an hour; 0 where the scrapes fit as they are, or there is nothing to compare.
    """
    times = [scrape.at for scrape in scrapes if scrape.at is not None]
    if not times or log.first is None or log.last is None:
        return 0.0
    if log.first <= times[0] and times[-1] <= log.last + _QUARTER:
        return 0.0
    # Whoever saves both does so at one moment: the last of each.
    return round((log.last - times[-1]) / _QUARTER) * _QUARTER


def session(
    blocks: Iterable[bytes],
    scrapes: Sequence[Scrape],
    *,
    name: str,
    utc_offset: float,
    began: float,
) -> Iterator[Batch]:
    """The session that a log and scrapes of it tell of, in order of time.

    Args:
        blocks: the log, cut anywhere; nothing where there are only scrapes.
        scrapes: pages of metrics with their times; one without a time came last.
        name: of the log or of the scrapes, for the header and the key.
        utc_offset: how far the log's clock is ahead of UTC, seconds.
        began: seconds since the epoch for what has no time.
    """
    key = f"log:{visible(name)}"
    place = LogPlace(kind="given", target=visible(name), detail="a saved log")
    process = ServerProcess(key=key, log=place)
    clock = -utc_offset
    log = _log(blocks, LogReader(key, clock=clock), process, clock, began)
    pages = _pages(scrapes, key, began)
    batches = heapq.merge(log, pages, key=lambda batch: batch.at)
    state, judge, latest = State(), _Judge(key), began
    first = True
    for batch in batches:
        latest = max(latest, batch.at) if not first else batch.at
        opening: list[Event] = []
        if first:
            first = False
            opening = [
                ev.LinkChanged(at=latest, link="connected"),
                ev.HostSeen(at=latest, name=visible(name), utc_offset=utc_offset),
                ev.ServersFound(at=latest, servers=(process,)),
                ev.ServerSelected(at=latest, server=key),
                ev.LogOpened(at=latest, server=key, place=place),
            ]
        events = [*opening, *batch.events]
        for event in events:
            state = fold(state, event)
        events += judge.about(state, latest)
        yield Batch(latest, events)


def _log(
    blocks: Iterable[bytes],
    reader: LogReader,
    process: ServerProcess,
    clock: float,
    began: float,
) -> Iterator[Batch]:
    start, at = 0, began
    early: list[bytes] = []
    told = False
    for piece in pieces(blocks):
        if piece.stamp is None:
            # What stands before the first stamp was written right before it.
            early.append(piece.data)
            if sum(map(len, early)) < PIECE:
                continue
            data = b"".join(early)
            early = []
        else:
            at = piece.stamp + clock if not told else max(at, piece.stamp + clock)
            told = True
            data = b"".join([*early, piece.data])
            early = []
        yield Batch(at, _read(reader, process, start, data, at))
        start += len(data)
    data = b"".join(early)
    last: list[Event] = _read(reader, process, start, data, at) if data else []
    yield Batch(at, [*last, *_named(reader.finish(at), process, at)])


def _read(
    reader: LogReader, process: ServerProcess, start: int, data: bytes, at: float
) -> list[Event]:
    text = ev.LogText(at=at, server=process.key, start=start, data=data)
    return [text, *_named(reader.feed(data, at=at), process, at)]


def _named(events: Sequence[Event], process: ServerProcess, at: float) -> list[Event]:
    """What the command line of a process would say, from what the log says of its arguments."""
    named: list[Event] = []
    for event in events:
        if isinstance(event, ev.LaunchBegan) and event.args:
            named.append(ev.ServersFound(at=at, servers=(_described(process, event),)))
        named.append(event)
    return named


def _described(process: ServerProcess, event: ev.LaunchBegan) -> ServerProcess:
    args = event.args

    def whole(name: str) -> int | None:
        value = args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    return replace(
        process,
        model=str(args.get("served_model_name") or args.get("model_path") or ""),
        version=event.version,
        port=whole("port"),
        tp_size=whole("tp_size") or 1,
        dp_size=whole("dp_size") or 1,
        speculative=event.speculative,
    )


def _pages(scrapes: Sequence[Scrape], key: str, began: float) -> Iterator[Batch]:
    reader, meter = MetricsReader(), RateMeter()
    at = began
    for scrape in scrapes:
        at = max(at, scrape.at) if scrape.at is not None else max(at, began)
        try:
            reading = reader.read(scrape.body, at=at)
        except NotMetrics as error:
            failed = ev.ScrapeFailed(
                at=at, server=key, problem="not metrics", detail=error.what, advice=error.advice
            )
            yield Batch(at, [failed])
            continue
        scraped = ev.Scraped(at=at, server=key, reading=reading, rates=meter.add(reading))
        yield Batch(at, [scraped])


class _Judge:
    """Live verdicts as the monitor gives them, at the times of what came."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._watch = Watch()
        self._at = float("-inf")
        self._said: tuple[Diagnosis, ...] = ()

    def about(self, state: State, now: float) -> list[Event]:
        server = state.servers.get(self._key)
        if server is None or now - self._at < JUDGE_EVERY:
            return []
        self._at = now
        alerts = live_verdicts(server, state, now, self._watch)
        if [(a.code, a.title) for a in alerts] == [(a.code, a.title) for a in self._said]:
            return []
        self._said = alerts
        return [ev.Alerted(at=now, server=self._key, alerts=alerts)]
