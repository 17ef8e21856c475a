"""What happened between readings: step, verify and draft times, tok/s, accept length.

Sources of a step's time, best first (facts by release):

* device timer (0.5.11+, SGLANG_ENABLE_METRICS_DEVICE_TIMER=1): GPU seconds of verify, draft and
  draft extend over the passes counted meanwhile;
* decode moments (`/v1/loads`, 0.5.18+): launch-to-launch time of contiguous decode steps;
* pass counter (0.5.7+): wall time over passes, where requests ran all the time.

What is left is the decode lines of the log, which are read elsewhere.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from eagletui.engine.quantiles import between, milliseconds
from eagletui.model.readings import Quantiles, RankCounters, Rates, Reading, StepSource
from eagletui.model.speculative import accept_rate

WINDOW = 0.9
"""Seconds a window should span at least: one interval of a scrape a second, jitter included."""

QUANTILE_WINDOW = 30.0
"""Seconds over which TTFT and ITL are gathered: at one request a second p99 needs company."""

MOMENTS_AGE = 10.0
"""Seconds for which the last step of decode moments counts as now (they move every 15 steps)."""

_COUNTERS = (
    "passes_total",
    "decode_tokens_total",
    "prefill_tokens_total",
    "generation_tokens_total",
    "prompt_tokens_total",
    "requests_total",
    "verify_calls_total",
    "verify_seconds_total",
    "draft_seconds_total",
    "draft_extend_seconds_total",
    "decode_seconds_total",
)
_PROGRESS = (
    "passes_total",
    "decode_tokens_total",
    "prefill_tokens_total",
    "generation_tokens_total",
)


def rates(before: Reading | None, after: Reading) -> Rates:
    """What happened between two readings; without a usable first one only what gauges say."""
    if before is None or not _usable(before) or not _usable(after) or after.at <= before.at:
        return over((after,))
    if went_back(before, after):
        return over((after,), reset=True)
    return over((before, after))


class RateMeter:
    """`rates` for a reading after the other, over windows long enough to be more than noise.

    Counters are compared over at least `WINDOW` seconds, decode moments between moments they
    moved, histograms over `QUANTILE_WINDOW`. A server that restarted or a clock that went back
    begins everything anew.
    """

    def __init__(self, window: float = WINDOW) -> None:
        self._counters = _Window(window)
        self._moments = _Window(window)
        self._histograms = _Window(QUANTILE_WINDOW)

    def add(self, reading: Reading) -> Rates:
        """Take the newest reading; what the last window says."""
        if not _usable(reading):
            return over((reading,))
        last = self._counters.last
        reset = last is not None and went_back(last, reading)
        if reset or (last is not None and reading.at <= last.at):
            for window in (self._counters, self._moments, self._histograms):
                window.clear()
        self._counters.add(reading)
        self._histograms.add(reading)
        known = self._moments.last
        if reading.decode_moments is not None and (
            known is None or known.decode_moments != reading.decode_moments
        ):
            self._moments.add(reading)
        return over(
            self._counters.readings,
            moments=self._moments.readings,
            histograms=self._histograms.readings,
            reset=reset,
        )


def went_back(before: Reading, after: Reading) -> bool:
    """Whether a counter fell or vanished, so that these are two launches of a server."""
    for name in _COUNTERS:
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and (new is None or new < old):
            return True
    old_moments, new_moments = before.decode_moments, after.decode_moments
    return bool(old_moments and new_moments and new_moments[0] < old_moments[0])


def last_launch(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The whole readings since the server last restarted (or the clock went back)."""
    usable = [reading for reading in readings if _usable(reading)]
    start = 0
    for index, (before, after) in enumerate(pairwise(usable), 1):
        if went_back(before, after) or after.at <= before.at:
            start = index
    return usable[start:]


def busy_span(readings: Sequence[Reading]) -> Sequence[Reading]:
    """From the first to the last reading between which requests ran all the time.

    Readings at which the server began or ended to be busy are left out where enough remain,
    so that idle time at the edges does not slow the rates. Only the last launch counts.
    """
    usable = last_launch(readings)
    moved = [index for index, pair in enumerate(pairwise(usable)) if _moved(*pair)]
    if not moved:
        return usable[-1:]
    first, last = moved[0], moved[-1] + 1
    inner = [i for i in range(first, last + 1) if usable[i].running != 0.0]
    if len(inner) >= 2:
        first, last = inner[0], inner[-1]
    return usable[first : last + 1]


def over(
    readings: Sequence[Reading],
    *,
    moments: Sequence[Reading] = (),
    histograms: Sequence[Reading] = (),
    reset: bool = False,
) -> Rates:
    """What a window of readings of one launch says, times increasing.

    Args:
        moments: readings whose decode moments differ, where they should not be those of `readings`.
        histograms: a longer window for TTFT and ITL.
        reset: whether a restart came just before.
    """
    after = readings[-1]
    delta = _Delta.of(readings)
    latency = histograms or readings
    step = _step(readings, moments or readings, delta)
    length, fresh = _accept_length(readings, step, delta)
    live = delta.passes is not None or delta.decode_tokens is not None or bool(step.moments)
    decoding = bool(delta.passes or delta.decode_tokens or step.moments)
    progress = any(_moved(*pair) for pair in pairwise(readings))
    return Rates(
        seconds=delta.seconds,
        tok_s=_tok_s(after, step, delta),
        prefill_tok_s=_per(delta.prefill_tokens, delta.seconds),
        steps_s=_per(delta.passes, delta.seconds),
        step_ms=step.wall_ms,
        verify_ms=step.verify_ms,
        draft_ms=step.draft_ms,
        draft_extend_ms=step.extend_ms,
        decode_ms=step.decode_ms,
        accept_length=length,
        accept_rate=None if length is None else accept_rate(length, after.num_steps),
        source=step.source,
        progress=progress,
        stale=not fresh and (after.running == 0.0 or (live and len(readings) > 1 and not decoding)),
        reset=reset,
        ttft_ms=_quantiles(latency, "ttft"),
        itl_ms=_quantiles(latency, "itl"),
    )


class _Window:
    """The readings of the last so many seconds and the one before them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._readings: deque[Reading] = deque()

    @property
    def last(self) -> Reading | None:
        return self._readings[-1] if self._readings else None

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(self._readings)

    def add(self, reading: Reading) -> None:
        self._readings.append(reading)
        while len(self._readings) > 2 and self._readings[1].at <= reading.at - self._seconds:
            self._readings.popleft()

    def clear(self) -> None:
        self._readings.clear()


class _Delta(NamedTuple):
    """Differences over a window; None is what can't be said."""

    seconds: float = 0.0
    passes: float | None = None
    decode_tokens: float | None = None
    prefill_tokens: float | None = None

    @staticmethod
    def of(readings: Sequence[Reading]) -> _Delta:
        if len(readings) < 2:
            return _Delta()
        first, last = readings[0], readings[-1]
        return _Delta(
            last.at - first.at,
            _difference(first.passes_total, last.passes_total),
            _difference(first.decode_tokens_total, last.decode_tokens_total),
            _difference(first.prefill_tokens_total, last.prefill_tokens_total),
        )


class _Step(NamedTuple):
    """One draft–verify cycle, milliseconds."""

    wall_ms: float | None = None
    verify_ms: float | None = None
    draft_ms: float | None = None
    extend_ms: float | None = None
    decode_ms: float | None = None
    moments: tuple[float, ...] = ()
    moments_tok_s: float | None = None
    source: StepSource = "none"


def _step(readings: Sequence[Reading], moments: Sequence[Reading], delta: _Delta) -> _Step:
    rests = readings[-1].running == 0.0 and not any(_moved(*pair) for pair in pairwise(readings))
    moved = () if rests or delta.passes == 0.0 else _moments(moments, readings[-1].at)
    first, last = _busiest(readings)
    passes = _difference(first.passes_total, last.passes_total) if len(readings) > 1 else None

    def gpu(name: str) -> float | None:
        seconds = _difference(getattr(first, name), getattr(last, name))
        return _per(1000.0 * seconds, passes) if passes and seconds else None

    verify = gpu("verify_seconds_total")
    draft, extend = gpu("draft_seconds_total"), gpu("draft_extend_seconds_total")
    # Eager draft steps are booked as `decode` too, so that it means a plain step only alone.
    decode = gpu("decode_seconds_total") if verify is None else None
    wall = _per(moved[2] / 1000.0, moved[0]) if moved else _wall(readings)
    source: StepSource = "none"
    if verify is not None or decode is not None:
        source = "device timer"
    elif moved:
        source = "decode moments"
    elif wall is not None:
        source = "pass counter"
    tok_s = _moments_tok_s(moments, moved) if moved else None
    return _Step(wall, verify, draft, extend, decode, moved, tok_s, source)


def _wall(readings: Sequence[Reading]) -> float | None:
    """Wall time a pass, over those intervals in which requests ran from end to end."""
    seconds = passes = 0.0
    for before, after in pairwise(readings):
        if before.running == 0.0 or after.running == 0.0:
            continue
        first, last = _busiest((before, after))
        moved = _difference(first.passes_total, last.passes_total)
        if moved:
            seconds += after.at - before.at
            passes += moved
    return _per(1000.0 * seconds, passes) if passes else None


def _busiest(readings: Sequence[Reading]) -> tuple[Reading | RankCounters, Reading | RankCounters]:
    """Counters at both ends, those of the busiest DP rank where there are several.

    With DP attention an idle rank runs the model along but counts no pass.
    """
    first, last = readings[0], readings[-1]
    if not last.ranks or len(first.ranks) != len(last.ranks):
        return first, last
    return max(
        zip(first.ranks, last.ranks, strict=True),
        key=lambda pair: _difference(pair[0].passes_total, pair[1].passes_total) or 0.0,
    )


def _moments(readings: Sequence[Reading], now: float) -> tuple[float, ...]:
    """How far decode moments moved, or () where they did not, lately."""
    known = [reading for reading in readings if reading.decode_moments is not None]
    if len(known) < 2 or now - known[-1].at > MOMENTS_AGE:
        return ()
    return _moments_between(known[0].decode_moments or (), known[-1].decode_moments or ())


def _moments_between(old: Sequence[float], new: Sequence[float]) -> tuple[float, ...]:
    moved = tuple(b - a for a, b in zip(old, new, strict=False))
    return moved if len(moved) == 6 and moved[0] > 0 and moved[1] > 0 and moved[2] > 0 else ()


def _moments_tok_s(readings: Sequence[Reading], moved: tuple[float, ...]) -> float | None:
    """Generated tokens a second of all DP ranks, which decode at the same time.

    Their microseconds add up, so that tokens over their sum is the speed of one rank: ranks count
    one by one, an idle one nothing; where they are not known apart, as many times as there are.
    """
    known = [reading for reading in readings if reading.decode_moments is not None]
    old, new = known[0].rank_moments, known[-1].rank_moments
    if new and len(old) == len(new):
        ranks = [_moments_between(*pair) for pair in zip(old, new, strict=True)]
        return math.fsum(_per(1e6 * rank[5], rank[2]) or 0.0 for rank in ranks if rank)
    one = _per(1e6 * moved[5], moved[2])
    return None if one is None else one * max(1, known[-1].dp_ranks)


def _accept_length(
    readings: Sequence[Reading], step: _Step, delta: _Delta
) -> tuple[float | None, bool]:
    """The accept length, and whether it is of this window rather than the server's gauge.

    Tokens over passes is batch × accept length, so that counters alone give it for one request
    at a time only; with more, decode moments know the batch, and else the gauge speaks.
    """
    after = readings[-1]
    if after.accept_length is None and after.num_steps is None and step.verify_ms is None:
        return None, False
    if step.moments:
        return _per(step.moments[5], step.moments[1]), True
    alone = all(r.running is not None and r.running <= 1.0 and not r.queued for r in readings)
    if alone and delta.passes and delta.decode_tokens and any(r.running for r in readings):
        length = delta.decode_tokens / delta.passes
        if 1.0 <= length <= (after.num_steps or 0) + 1.0:
            return length, True
    return after.accept_length, False


def _tok_s(after: Reading, step: _Step, delta: _Delta) -> float | None:
    """Generated tokens a second; `generation_tokens_total` moves at a request's end: of no use."""
    if delta.decode_tokens is not None:
        return _per(delta.decode_tokens, delta.seconds)
    if step.moments_tok_s is not None:
        return step.moments_tok_s
    if not delta.seconds:
        return None
    return 0.0 if after.running == 0.0 else after.gen_throughput


def _quantiles(readings: Sequence[Reading], name: str) -> Quantiles:
    if len(readings) < 2:
        return Quantiles()
    return milliseconds(between(getattr(readings[0], name), getattr(readings[-1], name)))


def _moved(before: Reading, after: Reading) -> bool:
    """Whether any token moved between two readings."""
    counted = [_difference(getattr(before, n), getattr(after, n)) for n in _PROGRESS]
    moments = before.decode_moments, after.decode_moments
    if any(counted) or (None not in moments and moments[0] != moments[1]):
        return True
    if counted[0] is not None or counted[1] is not None:
        return False
    # Before 0.5.7 only gauges tell: they change with every decode interval.
    return bool(after.running) and before.gen_throughput != after.gen_throughput


def _usable(reading: Reading) -> bool:
    return reading.engine == "sglang" and not reading.truncated


def _difference(before: float | None, after: float | None) -> float | None:
    """Growth of a counter. One that was not there before began at zero."""
    return None if after is None else after - (before or 0.0)


def _per(amount: float | None, by: float) -> float | None:
    """A quotient, or None where it says nothing: no divisor, or one too small to divide by."""
    if amount is None or by <= 0.0:
        return None
    quotient = amount / by
    return quotient if math.isfinite(quotient) else None
