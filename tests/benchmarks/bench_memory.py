"""Memory of a day: 24 hours of 1 Hz samples and 5 million log lines, run faster than life.

Everything goes the way it goes in the program: text through the log reader, every event through
the screen's session (state, series, stored log), with the libraries of a connection loaded. What
grows is the stored log up to its limit, and the thinned series up to two days.
"""

from __future__ import annotations

import importlib
import itertools
import math
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from eagletui.engine.reader import LogReader
from eagletui.model import events as ev
from eagletui.model.readings import Quantiles, Rates, Reading
from eagletui.model.server import Gpu, ServerProcess
from eagletui.tui.session import Session

SERVER = ":30000"
DAY = 24 * 3600
LINES = 5_000_000
GPUS = 8
BEGIN = 1_795_955_000.0
LINE = (
    "[2026-11-29 12:{minute:02}:{second:02} TP0] Decode batch, #running-req: {running},"
    " #token: {tokens}, token usage: 0.{usage:02}, accept len: {length:.2f}, accept rate: 0.37,"
    " cuda graph: True, gen throughput (token/s): {rate:.2f}, #queue-req: 0\n"
)
LOADED = ("asyncssh", "aiohttp", "plotext", "eagletui.tui.app")


def resident() -> float:
    """Megabytes of this process in memory now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return highest()


def highest() -> float:
    """Megabytes at the highest."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def text_of(second: int, lines: int) -> bytes:
    """What a busy server logs in one second."""
    return "".join(
        LINE.format(
            minute=second // 60 % 60,
            second=second % 60,
            running=1 + (second + index) % 32,
            tokens=800 + (second * 7 + index) % 9000,
            usage=(second + index) % 100,
            length=2.0 + math.sin(second / 600) / 2,
            rate=300.0 + second % 97 + index / 10,
        )
        for index in range(lines)
    ).encode()


def scraped(second: int, at: float) -> ev.Scraped:
    """A scrape whose every number moves."""
    length = 2.0 + math.sin(second / 600) / 2
    return ev.Scraped(
        at=at,
        server=SERVER,
        reading=Reading(
            at=at,
            accept_length=length,
            num_steps=3,
            num_draft_tokens=4,
            running=float(second % 32),
            queued=float(second % 5),
            token_usage=second % 100 / 100,
            cache_hit_rate=0.2,
        ),
        rates=Rates(
            seconds=1.0,
            tok_s=300.0 + second % 97,
            step_ms=6.0 + second % 11 / 10,
            verify_ms=5.3 + second % 13 / 100,
            draft_ms=0.37,
            draft_extend_ms=0.24,
            accept_length=length,
            accept_rate=(length - 1) / 3,
            source="device timer",
            progress=True,
            ttft_ms=Quantiles(p50=40.0 + second % 9, p99=90.0 + second % 70),
            itl_ms=Quantiles(p50=3.0, p99=9.0 + second % 7),
        ),
    )


def gpus(second: int, at: float) -> ev.GpusRead:
    """Eight busy GPUs."""
    return ev.GpusRead(
        at=at,
        gpus=tuple(
            Gpu(
                index=index,
                name="NVIDIA H200",
                utilization=float((second + index) % 100),
                power=500.0 + (second + index) % 150,
                power_limit=700.0,
                memory_used=120_000.0 + second % 500,
                memory_total=143_771.0,
            )
            for index in range(GPUS)
        ),
    )


def day() -> Iterator[list[ev.Event]]:
    """A day's events, a second at a time."""
    reader = LogReader(SERVER, clock=0.0)
    offset = written = 0
    for second in range(DAY):
        at = BEGIN + second
        lines = LINES * (second + 1) // DAY - written
        written += lines
        data = text_of(second, lines)
        events: list[ev.Event] = [ev.LogText(at=at, server=SERVER, start=offset, data=data)]
        offset += len(data)
        events += reader.feed(data, at=at, live=True)
        events += [scraped(second, at), gpus(second, at)]
        yield events


def rows() -> list[dict[str, object]]:
    """Memory at the end, and how much the second half of the day added."""
    for name in LOADED:
        importlib.import_module(name)
    before = resident()
    session = Session()
    session.take(
        [
            ev.ServersFound(at=BEGIN, servers=(ServerProcess(key=SERVER, pid=1),)),
            ev.ServerSelected(at=BEGIN, server=SERVER),
        ]
    )
    began = time.perf_counter()
    seconds = day()
    for events in itertools.islice(seconds, DAY // 2):
        session.take(events)
    noon = resident()
    for events in seconds:
        session.take(events)
    evening = resident()
    took = time.perf_counter() - began
    return [
        {
            "what": "memory after 24 h of 1 Hz samples and 5 million log lines",
            "measured": f"{evening:.0f} MB ({highest():.0f} MB at the highest)",
            "reference": f"{before:.0f} MB before the first event",
            "reach": "under 200 MB",
        },
        {
            "what": "what the second half of that day added",
            "measured": f"{evening - noon:+.1f} MB",
            "reference": f"the first half {noon - before:+.1f} MB; a day in {took:.0f} s",
            "reach": "flat: the stored log (32 MiB, compressed) is full at noon",
        },
    ]
