"""`/v1/loads` (0.5.8+): what a server says of itself without any flag."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from eagletui.model.readings import Reading

MOMENTS = 6
"""`[steps, Σ batch, Σ microseconds, Σ batch², Σ batch·µs, Σ generated]`, 0.5.18+."""


def read_loads(body: bytes, *, at: float) -> Reading | None:
    """The reply as a `Reading`: gauges, and decode moments where the release has them.

    None where the reply is something else.

    DP ranks are summed; accept length is left out, for here it is the average since the server
    started. The accept rate is that of the last interval.
    """
    try:
        reply = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    loads = reply.get("loads") if isinstance(reply, dict) else None
    ranks = [load for load in loads if isinstance(load, dict)] if isinstance(loads, list) else []
    if not ranks:
        return None
    known = [m for rank in ranks if (m := _moments(rank)) is not None]
    usages = [usage for rank in ranks if (usage := _number(rank, "token_usage")) is not None]
    return Reading(
        at=at,
        dp_ranks=len(ranks),
        running=_sum(ranks, "num_running_reqs"),
        queued=_sum(ranks, "num_waiting_reqs"),
        gen_throughput=_sum(ranks, "gen_throughput"),
        token_usage=max(usages, default=None),
        cache_hit_rate=_mean(ranks, "cache_hit_rate"),
        decode_moments=tuple(map(sum, zip(*known, strict=True))) if known else None,
        rank_moments=tuple(known) if len(known) > 1 else (),
    )


def with_moments(reading: Reading, loads: Reading | None) -> Reading:
    """A scrape of `/metrics` with the decode moments that `/v1/loads` told about then."""
    if loads is None or loads.decode_moments is None:
        return reading
    return replace(
        reading,
        decode_moments=loads.decode_moments,
        rank_moments=loads.rank_moments,
        dp_ranks=max(reading.dp_ranks, loads.dp_ranks),
    )


def _number(load: Mapping[str, Any], name: str) -> float | None:
    value = load.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    # Counts, shares and times: none can be below zero.
    return number if math.isfinite(number) and number >= 0.0 else None


def _numbers(ranks: list[dict[str, Any]], name: str) -> list[float]:
    return [value for rank in ranks if (value := _number(rank, name)) is not None]


def _sum(ranks: list[dict[str, Any]], name: str) -> float | None:
    values = _numbers(ranks, name)
    return sum(values) if values else None


def _mean(ranks: list[dict[str, Any]], name: str) -> float | None:
    values = _numbers(ranks, name)
    return sum(values) / len(values) if values else None


def _moments(load: Mapping[str, Any]) -> tuple[float, ...] | None:
    moments = load.get("decode_moments")
    if not isinstance(moments, list) or len(moments) != MOMENTS:
        return None
    numbers = [_number({"": moment}, "") for moment in moments]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == MOMENTS else None
