"""The figures a server counts, consistent with each other: every token was accepted or a bonus."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from eagletui.simulator.model import StepCost

TTFT_BOUNDS = (
    *(0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0),
    *(10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0),
)
E2E_BOUNDS = (*TTFT_BOUNDS, 600.0, 1200.0, 1800.0, 2400.0)
ITL_BOUNDS = (
    *(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08),
    *(0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0),
)
QUEUE_BOUNDS = (
    *(0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0),
    *(20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 200.0, 300.0, 400.0, 500.0),
    *(600.0, 700.0, 800.0, 900.0, 1000.0, 1200.0, 1400.0, 1600.0, 1800.0, 2000.0, 2500.0, 3000.0),
)


class Histo:
    """A Prometheus histogram."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value so many times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def total(self) -> int:
        """How many were counted."""
        return sum(self.counts)


class Window(NamedTuple):
    """What happened since the last decode line."""

    verifies: int
    tokens: int
    gpu_seconds: float


class Gauges:
    """What the server last said; the accept figures stay when it is idle."""

    def __init__(self) -> None:
        self.running = 0
        self.queued = 0
        self.gen_throughput = 0.0
        self.token_usage = 0.0
        self.used_tokens = 0
        self.cache_hit_rate = 0.0
        self.accept_length = 0.0
        self.accept_rate = 0.0
        self.lifetime_accept_length = 0.0
        self.occupancy: float | None = None


class Counters:
    """Everything cumulative. `timer`: whether the device timer runs."""

    def __init__(self, *, timer: bool) -> None:
        self.timer = timer
        self.gauges = Gauges()
        self.steps = 0
        self.verifies = 0
        """Σ batch size over the steps: request × verify."""
        self.decode_tokens = 0
        self.accepted_histogram: dict[int, int] = {}
        self.verify_seconds = 0.0
        self.draft_seconds = 0.0
        self.extend_seconds = 0.0
        self.decode_seconds = 0.0
        self.step_seconds = 0.0
        self.prefills = 0
        self.prefill_tokens = 0
        self.prefill_cached = 0
        self.prefill_seconds = 0.0
        self.requests = 0
        self.aborted = 0
        self.prompt_tokens = 0
        self.generation_tokens = 0
        self.cached_tokens = 0
        self.finished_verifies = 0
        self.ttft = Histo(TTFT_BOUNDS)
        self.itl = Histo(ITL_BOUNDS)
        self.e2e = Histo(E2E_BOUNDS)
        self.queue_time = Histo(QUEUE_BOUNDS)
        self.moments = [0.0] * 6
        self._mark = Window(0, 0, 0.0)

    @property
    def gpu_seconds(self) -> float:
        """GPU time of all decode steps."""
        return self.verify_seconds + self.draft_seconds + self.extend_seconds + self.decode_seconds

    def count_step(self, cost: StepCost, batch: int, tokens: int, *, contiguous: bool) -> None:
        """One decode step of `batch` requests that gave `tokens`."""
        self.steps += 1
        self.verifies += batch
        self.decode_tokens += tokens
        self.verify_seconds += cost.verify / 1000
        self.draft_seconds += cost.draft / 1000
        self.extend_seconds += cost.extend / 1000
        self.decode_seconds += cost.decode / 1000
        self.step_seconds += cost.total / 1000
        if contiguous:
            micros = round(cost.total * 1000)
            row = (1, batch, micros, batch * batch, batch * micros, tokens)
            self.moments = [total + value for total, value in zip(self.moments, row, strict=True)]

    def count_finished(
        self, *, prompt: int, cached: int, generated: int, verifies: int, seconds: float
    ) -> None:
        """A request that got all its tokens."""
        self.requests += 1
        self.prompt_tokens += prompt
        self.cached_tokens += cached
        self.generation_tokens += generated
        self.finished_verifies += verifies
        self.e2e.observe(seconds)

    def close_window(self) -> Window:
        """What the next decode line tells; begins a new window."""
        before = self._mark
        self._mark = Window(self.verifies, self.decode_tokens, self.gpu_seconds)
        return Window(
            verifies=self._mark.verifies - before.verifies,
            tokens=self._mark.tokens - before.tokens,
            gpu_seconds=self._mark.gpu_seconds - before.gpu_seconds,
        )
