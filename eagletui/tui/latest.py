"""Values of now, each from whoever knows it: the last scrape, else a fresh decode line."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from eagletui.model import events as ev
from eagletui.model.readings import StepSource
from eagletui.model.state import ServerState

LINE_FRESH = 10.0
"""Seconds a decode line stands for now beside a scrape: one comes every 40 steps."""


class Latest(NamedTuple):
    """A value and where it comes from."""

    value: float | None
    source: StepSource = "none"


def decode_line(server: ServerState, now: float) -> ev.DecodeSample | None:
    """The decode line that may fill what the scrape lacks; any, where nothing is scraped."""
    decode, metrics = server.decode, server.metrics
    if decode is None or metrics.rates is None:
        return decode
    idle = metrics.reading is not None and (metrics.reading.running or 0.0) < 1
    return None if idle or now - decode.at > LINE_FRESH else decode


def accept_length(server: ServerState, now: float) -> Latest:
    """Tokens a step; None where the gauge is only a leftover."""
    rates, decode = server.metrics.rates, decode_line(server, now)
    if rates is not None and rates.accept_length is not None and not rates.stale:
        return Latest(rates.accept_length, rates.source)
    return _of_line(decode.accept_length if decode else None)


def step_ms(server: ServerState, now: float) -> Latest:
    """One draft–verify cycle, wall time."""
    rates, decode = server.metrics.rates, decode_line(server, now)
    if rates is not None and rates.step_ms is not None:
        return Latest(rates.step_ms, rates.source)
    return _of_line(decode.step_ms if decode and not decode.first else None)


def tok_s(server: ServerState, now: float) -> Latest:
    """Generated tokens per second over all requests."""
    rates, decode = server.metrics.rates, decode_line(server, now)
    if rates is not None and rates.tok_s is not None:
        return Latest(rates.tok_s, rates.source)
    return _of_line(decode.gen_throughput if decode else None)


def running(server: ServerState, now: float) -> float | None:
    """Running requests."""
    reading, decode = server.metrics.reading, decode_line(server, now)
    if reading is not None and reading.running is not None:
        return reading.running
    return float(decode.running) if decode and decode.running is not None else None


def word_of_stale(server: ServerState) -> str:
    """`idle` where nothing runs, `stale` where requests run and the gauge does not move."""
    reading = server.metrics.reading
    return "idle" if reading is not None and reading.running == 0 else "stale"


def charted(event: ev.Scraped, server: ServerState) -> ev.Scraped:
    """The scrape with what it lacks from a fresh decode line, so that the charts go on."""
    rates = event.rates
    changes: dict[str, float] = {}
    if rates.step_ms is None and (step := step_ms(server, event.at).value) is not None:
        changes["step_ms"] = step
    if rates.accept_length is None and (length := accept_length(server, event.at).value):
        changes["accept_length"] = length
    return replace(event, rates=replace(rates, **changes)) if changes else event


def _of_line(value: float | None) -> Latest:
    return Latest(value, "decode log" if value is not None else "none")
