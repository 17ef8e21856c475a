"""Values of now, each from whoever knows it: the last scrape, else a fresh decode line.

Screens and `status` both ask here, so that they never say different things.
"""

from __future__ import annotations

from typing import NamedTuple

from eagletui.model import events as ev
from eagletui.model.readings import StepSource
from eagletui.model.speculative import accept_rate as rate_of
from eagletui.model.state import ServerState

LINE_FRESH = 10.0
"""Seconds a decode line stands for now, at the least."""

LINE_STEPS = 40
"""Steps from one decode line to the next (the default of `--decode-log-interval`)."""


class Latest(NamedTuple):
    """A value and where it comes from."""

    value: float | None
    source: StepSource = "none"


def line_age(server: ServerState, now: float) -> float | None:
    """Seconds since the last decode line, where it is too old to stand for now."""
    decode = server.decode
    if decode is None:
        return None
    step = decode.step_ms if decode.step_ms is not None and not decode.first else 0.0
    age = now - decode.at
    # A slow server is not quiet: three of its own lines may be due.
    return age if age > max(LINE_FRESH, 3 * LINE_STEPS * step / 1000) else None


def decode_line(server: ServerState, now: float) -> ev.DecodeSample | None:
    """The decode line that may fill what the scrape lacks; any, where nothing is scraped."""
    decode, metrics = server.decode, server.metrics
    if decode is None or metrics.rates is None:
        return decode
    idle = metrics.reading is not None and (metrics.reading.running or 0.0) < 1
    return None if idle or line_age(server, now) is not None else decode


def accept_length(server: ServerState, now: float) -> Latest:
    """Tokens a step; None where the gauge is only a leftover."""
    rates, decode = server.metrics.rates, decode_line(server, now)
    if rates is not None and rates.accept_length is not None and not rates.stale:
        return Latest(rates.accept_length, rates.source)
    return _of_line(decode.accept_length if decode else None)


def accept_rate(server: ServerState, now: float) -> float | None:
    """(accept length − 1) / k, 0 to 1, of the same accept length."""
    rates = server.metrics.rates
    if rates is not None and rates.accept_rate is not None and not rates.stale:
        return rates.accept_rate
    length, source = accept_length(server, now)
    if source == "decode log" and server.decode is not None and server.decode.accept_rate:
        return server.decode.accept_rate
    return None if length is None else rate_of(length, server.speculative.num_steps)


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
    return _of_line(decode.gen_throughput if decode and not decode.first else None)


def running(server: ServerState, now: float) -> float | None:
    """Running requests."""
    reading, decode = server.metrics.reading, decode_line(server, now)
    return _either(reading.running if reading else None, decode.running if decode else None)


def queued(server: ServerState, now: float) -> float | None:
    """Requests that wait."""
    reading, decode = server.metrics.reading, decode_line(server, now)
    return _either(reading.queued if reading else None, decode.queued if decode else None)


def token_usage(server: ServerState, now: float) -> float | None:
    """The part of the KV cache in use, 0 to 1."""
    reading, decode = server.metrics.reading, decode_line(server, now)
    return _either(reading.token_usage if reading else None, decode.token_usage if decode else None)


def is_leftover(server: ServerState, now: float) -> bool:
    """Whether the accept length, if any, is only what the server had when it last worked."""
    rates = server.metrics.rates
    if rates is None:
        return line_age(server, now) is not None
    return rates.stale and accept_length(server, now).value is None


def word_of_stale(server: ServerState) -> str:
    """`idle` where nothing runs, `stale` where requests run and the gauge does not move."""
    reading = server.metrics.reading
    return "idle" if reading is not None and reading.running == 0 else "stale"


def _of_line(value: float | None) -> Latest:
    return Latest(value, "decode log" if value is not None else "none")


def _either(scraped: float | None, told: float | None) -> float | None:
    value = scraped if scraped is not None else told
    return None if value is None else float(value)
