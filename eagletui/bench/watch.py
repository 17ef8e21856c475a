"""What makes a cell not worth trusting, judged while it runs: pure, what is seen goes in.

A rule that is certain ends the cell and says with which figures; what only clouds it is a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eagletui.bench.load import Reply
from eagletui.engine.rates import busy_span, over, went_back
from eagletui.model.loops import SO, Loops
from eagletui.model.readings import Rates, Reading
from eagletui.model.run import StepTimes, StopReason
from eagletui.model.server import Gpu

GONE_AFTER = 3

KV_FULL = 0.99
TWICE = 2
"""Readings in a row that must agree: gauges move with the decode interval, not with every step."""

GAUGE_AGE = 10.0
"""Seconds for which a gauge may still tell what was: releases set it every 40th step."""

MORE_TOKENS = 0.01
MORE_TOKENS_AT_LEAST = 64
"""By how much the server may count more than we: a health check of SGLang makes a token, too."""

THROTTLES = ("thermal", "hardware slowdown", "power brake")
"""Reasons that end a cell. A power cap is how many GPUs run under load: it is only said."""

HOT_READINGS = 3
WARM_CACHE = 0.5
"""Share of prompt tokens from the prefix cache above which TTFT is said to be that of a cache."""

GONE = ("no connection", "the connection ended")


class Verdict(NamedTuple):
    """Why a cell ends."""

    stopped: StopReason
    why: str


class Watch:
    """One cell under watch.

    Args:
        ours: requests that this cell may have under way at once.
        gpus: indices of the server's GPUs; () for all.
    """

    def __init__(self, ours: int, *, gpus: Sequence[int] = ()) -> None:
        self._ours = ours
        self._gpus = frozenset(gpus)
        self._first: Reading | None = None
        self._readings: list[Reading] = []
        self._glance: Reading | None = None
        self._others = 0
        self._full = 0
        self._hot = 0
        self._replies = 0
        self._loops = Loops()
        self._gone = 0
        self._begun = 0
        self._uncounted = False
        self._prompt = self._cached = 0
        self._watts: list[float] = []
        self._capped = 0
        self.tokens = 0
        """What the requests that are over generated, by the server's count in each."""

    def saw(self, reading: Reading) -> Verdict | None:
        """One look at the counters, or at the loads alone between two of those."""
        self._first = self._first or reading
        glance = bool(self._readings) and _counts(self._readings[0]) and not _counts(reading)
        before = self._glance if glance else self._readings[-1] if self._readings else None
        if glance:
            self._glance = reading
        else:
            self._readings.append(reading)
        if before is not None and went_back(before, reading):
            return Verdict("restarted", "The server restarted: its counters began anew.")
        return self._crowded(reading) or self._filled(reading)

    def _crowded(self, reading: Reading) -> Verdict | None:
        there = (reading.running or 0.0) + (reading.queued or 0.0)
        # A gauge that has not moved since the beginning may tell of the cell before.
        first = self._first or reading
        stale = reading.running == first.running and reading.at - first.at < GAUGE_AGE
        self._others = 0 if there <= self._ours or stale else self._others + 1
        if self._others < TWICE:
            return None
        return Verdict(
            "other-traffic",
            f"The server has {there:.0f} requests, and {self._ours} at the most are ours.",
        )

    def _filled(self, reading: Reading) -> Verdict | None:
        retracted = reading.retracted or 0.0
        full = retracted > 0 or (reading.token_usage or 0.0) >= KV_FULL
        self._full = self._full + 1 if full else 0
        if self._full < TWICE:
            return None
        what = f"{reading.token_usage or 0.0:.0%} of it is used"
        if retracted:
            what += f", {retracted:.0f} requests were taken back"
        return Verdict("kv-full", f"The KV cache ran full: {what}.")

    def saw_gpus(self, gpus: Sequence[Gpu]) -> Verdict | None:
        """One reading of the host's GPUs."""
        ours = [gpu for gpu in gpus if not self._gpus or gpu.index in self._gpus]
        power = [gpu.power for gpu in ours if gpu.power is not None]
        if power and len(power) == len(ours):
            self._watts.append(sum(power))
        self._capped += any("power cap" in gpu.throttled for gpu in ours)
        hot = [gpu for gpu in ours if any(word in gpu.throttled for word in THROTTLES)]
        self._hot = self._hot + 1 if hot else 0
        if self._hot < HOT_READINGS:
            return None
        gpu = hot[0]
        heat = f" at {gpu.temperature:.0f} °C" if gpu.temperature is not None else ""
        return Verdict("throttled", f"GPU {gpu.index} slows down: {gpu.throttled}{heat}.")

    def heard(self, reply: Reply) -> Verdict | None:
        """One request is over."""
        sent = reply.sent
        self.tokens += sent.output_tokens
        self._begun += sent.output_tokens > 0
        if sent.error:
            self._gone = self._gone + 1 if sent.error.startswith(GONE) else 0
            if self._gone >= max(GONE_AFTER, self._ours):
                return Verdict(
                    "failed", f"The server is gone: {self._gone} requests in a row: {sent.error}."
                )
            return None
        self._gone = 0
        self._uncounted = self._uncounted or not reply.counted
        if reply.cached_tokens is not None and sent.prompt_tokens:
            self._prompt += sent.prompt_tokens
            self._cached += reply.cached_tokens
        self._loops.add(reply.tail_bigrams)
        if not self._loops.too_many:
            return None
        return Verdict("looped", f"{self._loops.words} {SO}")

    # --- when it is over ----------------------------------------------------------------------

    @property
    def power_watts(self) -> float | None:
        """Mean of the server's GPUs together."""
        return sum(self._watts) / len(self._watts) if self._watts else None

    @property
    def server_tokens(self) -> int | None:
        """How far the server's counter of generated tokens moved; it counts whole requests."""
        moved = self._moved("generation_tokens_total")
        return None if moved is None else round(moved)

    @property
    def accept_length(self) -> float | None:
        """Tokens a verify step over the window, each request's first token left out, which the
        prefill brings; exact from 0.5.13 on, where both are counted when a request ends."""
        calls, tokens = self._moved("verify_calls_total"), self._moved("generation_tokens_total")
        if calls and tokens and tokens > self._begun:
            return (tokens - self._begun) / calls
        rates = self._rates()
        return None if rates is None or rates.stale else rates.accept_length

    @property
    def steps(self) -> StepTimes:
        """Times of a step over the window."""
        rates = self._rates()
        if rates is None or rates.source == "none":
            return StepTimes()
        return StepTimes(
            source=rates.source,
            step=rates.step_ms,
            verify=rates.verify_ms,
            draft=rates.draft_ms,
            draft_extend=rates.draft_extend_ms,
        )

    def warnings(self, *, failed: int = 0, reasons: Sequence[str] = ()) -> tuple[str, ...]:
        """What must be known to judge the cell, in words."""
        found = []
        if failed:
            what = f": {'; '.join(sorted(set(reasons))[:3])}" if reasons else ""
            found.append(f"{failed} request{'s' * (failed != 1)} failed{what}")
        found += self._count_warnings()
        if self._loops.words:
            found.append(self._loops.words)
        if self._uncounted:
            found.append(
                "The server does not count tokens while it streams: ITL is that of chunks."
            )
        if self._prompt and self._cached > WARM_CACHE * self._prompt:
            found.append(
                f"{self._cached} of {self._prompt} prompt tokens came from the prefix cache: TTFT "
                "is that of a warm cache (--flush-cache empties it before each cell)."
            )
        if self._capped:
            found.append(f"A GPU ran at its power cap in {self._capped} readings.")
        return tuple(found)

    def _count_warnings(self) -> list[str]:
        """The server's count of tokens beside ours."""
        counted = self.server_tokens
        if counted is None or not self.tokens:
            return []
        slack = max(MORE_TOKENS_AT_LEAST, MORE_TOKENS * self.tokens)
        said = f"the server counted {counted} generated tokens, our requests hold {self.tokens}"
        if counted > self.tokens + slack:
            return [f"Other traffic: {said}."]
        if counted < self.tokens - slack:
            return [f"Tokens differ: {said}; it counts requests when they end."]
        return []

    def _moved(self, name: str) -> float | None:
        if len(self._readings) < 2:
            return None
        first, last = (getattr(self._readings[at], name) for at in (0, -1))
        if last is None:
            return None
        return float(last - (first or 0.0))

    def _rates(self) -> Rates | None:
        span = busy_span(self._readings) if self._readings else ()
        return over(span) if len(span) > 1 else None


def _counts(reading: Reading) -> bool:
    """Whether it is of `/metrics`, and not of `/v1/loads` alone."""
    return reading.generation_tokens_total is not None
