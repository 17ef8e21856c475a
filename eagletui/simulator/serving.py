"""The scheduler of a simulated server: requests in, steps, counters and log lines out.

Time is a number given from outside, so that nothing here waits: `advance(until)` runs every step
that begins before `until`.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from eagletui.simulator.counters import Counters
from eagletui.simulator.flags import Flags
from eagletui.simulator.model import Machine, StepCost, draw_accepted, noisy, step_cost
from eagletui.simulator.releases import Release, decode_line, prefill_line
from eagletui.simulator.traffic import Traffic

Say = Callable[[float, str], None]

# --speculative-adaptive: the largest batch that still drafts this deep.
ADAPTIVE_STEPS: tuple[tuple[int, int], ...] = ((1, 5), (4, 3), (1 << 30, 1))
ADAPTIVE_PATIENCE = 24
_IDLE_AFTER = 30.0
_AWAY = 10.0
"""Seconds that users stay away after the last request of a guest."""


class Request:
    """One request on its way."""

    def __init__(self, arrived: float, prompt: int, output: int, cached: int) -> None:
        self.rid = uuid.uuid4().hex
        self.arrived = arrived
        self.prompt = prompt
        self.output = output
        self.cached = cached
        self.generated = 0
        self.first_token: float | None = None
        self.last_token = arrived
        self.finished: float | None = None
        self.verifies = 0
        self.histogram: list[int] = []

    @property
    def tokens(self) -> int:
        """What it holds in the KV cache."""
        return self.prompt + self.generated


class Serving:
    """A ready server's inside.

    Args:
        say: takes each log message of rank 0 with its time.
        began: the time at which it is ready.
    """

    def __init__(
        self,
        machine: Machine,
        flags: Flags,
        release: Release,
        traffic: Traffic,
        environment: Mapping[str, str],
        say: Say,
        *,
        began: float,
        capacity: int,
        seed: int = 1,
    ) -> None:
        self.machine = machine
        self.flags = flags
        self.release = release
        self.traffic = traffic
        self.environment = environment
        self.say = say
        self.began = began
        self.clock = began
        self.capacity = capacity
        self.chance = random.Random(seed)
        self.counters = Counters(timer=self._timer())
        self.waiting: list[Request] = []
        self.running: list[Request] = []
        self.steps = flags.steps
        self.draft_tokens = flags.draft_tokens
        self.draining = False
        self.frozen = False
        self._guests: list[Request] = []
        self._alone_until = began
        self.active = 0.0
        """GPU seconds so far, for utilisation."""
        self._impatient = 0
        self._told: tuple[float, int] = (began, 0)
        self._last_log = began
        self._last_prefill = began
        self._contiguous = False

    def _timer(self) -> bool:
        wanted = self.environment.get("SGLANG_ENABLE_METRICS_DEVICE_TIMER", "").lower()
        return wanted in ("1", "true") and self.flags.metrics and self.release.since(0, 5, 7)

    @property
    def held(self) -> int:
        """Tokens in the KV cache that requests use."""
        return sum(request.tokens for request in self.running)

    @property
    def usage(self) -> float:
        """Part of the KV cache in use."""
        return self.held / self.capacity

    def submit(self, prompt: int, output: int, *, at: float | None = None) -> Request:
        """Queue a request; it is done once `finished` is set."""
        cached = int(prompt * self.traffic.cached * self.chance.random())
        request = Request(at if at is not None else self.clock, prompt, max(1, output), cached)
        self.waiting.append(request)
        return request

    @contextmanager
    def guest(self, request: Request) -> Iterator[None]:
        """Serve somebody who is no simulated user; those leave, and come back a while after."""
        self._guests.append(request)
        for other in self.running:
            if other not in self._guests:
                other.output = other.generated + 1
        self.waiting = [other for other in self.waiting if other in self._guests]
        try:
            yield
        finally:
            request.output = request.generated + 1  # whoever hangs up wants no more
            self._guests.remove(request)
            self._alone_until = self.clock + _AWAY

    def abort_all(self) -> int:
        """Drop every request, as `/abort_request` with `abort_all` does."""
        dropped = len(self.running) + len(self.waiting)
        for request in (*self.running, *self.waiting):
            request.finished = self.clock
        self.running.clear()
        self.waiting.clear()
        self.counters.aborted += dropped
        return dropped

    def advance(self, until: float) -> None:
        """Run what begins before `until`."""
        while self.clock < until and not self.frozen:
            self._let_users_in()
            if self.waiting and len(self.running) < self.flags.running_limit:
                self._prefill()
            elif self.running:
                self._decode()
            else:
                self._idle(until)

    def reset_windows(self) -> None:
        """Count the first window from now on."""
        self._told = (self.clock, self.counters.decode_tokens)
        self._last_log = self._last_prefill = self.clock

    # --- requests ------------------------------------------------------------------------------

    def _let_users_in(self) -> None:
        if self.draining or self._guests or self.clock < self._alone_until:
            return
        missing = self.traffic.users(self.clock - self.began) - (
            len(self.running) + len(self.waiting)
        )
        for _ in range(missing):
            self.submit(
                self.chance.randint(*self.traffic.prompt), self.chance.randint(*self.traffic.output)
            )

    def _idle(self, until: float) -> None:
        self._contiguous = False
        gauges = self.counters.gauges
        due = self.release.since(0, 5, 16) or self.clock - self._last_log >= _IDLE_AFTER
        if due and (gauges.running or gauges.gen_throughput):
            gauges.running = gauges.queued = 0
            gauges.gen_throughput = gauges.token_usage = 0.0
            gauges.used_tokens = 0
            self._last_log = self.clock
        change = self.began + self.traffic.next_change(self.clock - self.began)
        self.clock = min(until, change, self.clock + 1.0)

    # --- steps ---------------------------------------------------------------------------------

    def _prefill(self) -> None:
        room = self.flags.running_limit - len(self.running)
        batch = [self.waiting.pop(0) for _ in range(min(room, len(self.waiting), 8))]
        new = sum(request.prompt - request.cached for request in batch)
        cached = sum(request.cached for request in batch)
        seconds = (self.machine.prefill + self.machine.prefill_per_token * new) / 1000
        counters, began = self.counters, self.clock
        self.clock += seconds
        self.active += seconds
        self.say(
            self.clock,
            prefill_line(
                self.release,
                new_seq=len(batch),
                new_token=new,
                cached=cached,
                usage=self.usage,
                running=len(self.running),
                queued=len(self.waiting),
                pending=0,
                device=self._device,
                graph=False,
                throughput=new / max(self.clock - self._last_prefill, 1e-3),
                occupancy=self._occupancy(None),
            ),
        )
        self._last_prefill = self.clock
        for request in batch:
            request.first_token = request.last_token = self.clock
            request.generated = 1
            request.histogram = [0] * (self.flags.steps + 1)
            counters.ttft.observe(self.clock - request.arrived)
            counters.queue_time.observe(began - request.arrived)
        self.running.extend(batch)
        counters.prefills += 1
        counters.prefill_tokens += new
        counters.prefill_cached += cached
        counters.prefill_seconds += seconds
        gauges = counters.gauges
        gauges.running, gauges.queued = len(self.running), len(self.waiting)
        gauges.cache_hit_rate = cached / max(1, new + cached)
        self._contiguous = False
        self._finish()

    def _decode(self) -> None:
        self._adapt()
        counters, batch = self.counters, list(self.running)
        cost = self._cost(len(batch))
        self.clock += cost.total / 1000
        self.active += cost.gpu / 1000
        produced = 0
        for request in batch:
            accepted = draw_accepted(self.machine, self.steps, self.chance)
            accepted = min(accepted, request.output - request.generated - 1)
            tokens = accepted + 1
            request.generated += tokens
            produced += tokens
            counters.accepted_histogram[accepted] = counters.accepted_histogram.get(accepted, 0) + 1
            if self.flags.speculates:
                request.verifies += 1
                request.histogram[accepted] += 1
            counters.itl.observe((self.clock - request.last_token) / tokens, tokens)
            request.last_token = self.clock
        counters.count_step(cost, len(batch), produced, contiguous=self._contiguous)
        self._contiguous = True
        if counters.steps % self.flags.decode_log_interval == 0:
            self._log_decode()
        self._finish()

    def _cost(self, batch: int) -> StepCost:
        expected = step_cost(
            self.machine,
            self.steps,
            self.draft_tokens,
            batch,
            environment=self.environment,
            graph=self.graph,
        )
        return noisy(expected, self.machine, self.chance)

    @property
    def graph(self) -> bool:
        """Whether steps run as captured graphs."""
        return not self.flags.disable_cuda_graph and self.flags.device == "cuda"

    @property
    def _device(self) -> str:
        return "cpu" if self.flags.device == "cpu" else "cuda"

    def _finish(self) -> None:
        for request in [r for r in self.running if r.generated >= r.output]:
            self.running.remove(request)
            request.finished = self.clock
            self.counters.count_finished(
                prompt=request.prompt,
                cached=request.cached,
                generated=request.generated,
                verifies=request.verifies,
                seconds=self.clock - request.arrived,
            )

    def _log_decode(self) -> None:
        counters = self.counters
        began, generated = self._told
        window = counters.close_window()
        throughput = (counters.decode_tokens - generated) / max(self.clock - began, 1e-6)
        self._told = (self.clock, counters.decode_tokens)
        self._last_log = self.clock
        gauges = counters.gauges
        gauges.running, gauges.queued = len(self.running), len(self.waiting)
        gauges.gen_throughput = throughput
        gauges.used_tokens, gauges.token_usage = self.held, self.usage
        if self.release.number < (0, 5, 20):
            gauges.cache_hit_rate = 0.0
        values: dict[str, Any] = {}
        if self.flags.speculates:
            length = window.tokens / max(1, window.verifies)
            values["accept_length"] = gauges.accept_length = length
            values["accept_rate"] = gauges.accept_rate = self._accept_rate(length)
            gauges.lifetime_accept_length = counters.decode_tokens / max(1, counters.verifies)
        gauges.occupancy = 100 * window.gpu_seconds / max(self.clock - began, 1e-6)
        self.say(
            self.clock,
            decode_line(
                self.release,
                spec=self.flags.speculates,
                running=len(self.running),
                tokens=self.held,
                usage=self.usage,
                device=self._device,
                graph=self.graph,
                throughput=throughput,
                queued=len(self.waiting),
                occupancy=self._occupancy(gauges.occupancy),
                **values,
            ),
        )

    def _accept_rate(self, length: float) -> float:
        """The release's own definition: accepted of proposed since 0.5.11."""
        width = self.flags.draft_tokens
        if self.release.since(0, 5, 11):
            return (length - 1) / max(1, width - 1)
        return length / width

    def _occupancy(self, value: float | None) -> float | None:
        """NaN where there is no figure yet, None without the device timer."""
        if not (self.counters.timer and self.release.occupancy):
            return None
        known = value if value is not None else self.counters.gauges.occupancy
        return min(known, 100.0) if known is not None else float("nan")

    def _adapt(self) -> None:
        if not self.flags.adaptive:
            return
        batch = len(self.running)
        wanted = next(k for largest, k in ADAPTIVE_STEPS if batch <= largest)
        self._impatient = self._impatient + 1 if wanted != self.steps else 0
        if self._impatient < ADAPTIVE_PATIENCE:
            return
        self._impatient = 0
        gauges = self.counters.gauges
        values = {
            "old": self.steps,
            "new": wanted,
            "old_tokens": self.draft_tokens,
            "new_tokens": wanted + 1,
            "accepted": max(0.0, gauges.accept_length - 1),
        }
        self.steps, self.draft_tokens = wanted, wanted + 1
        for line in self.release.steps_changed:
            self.say(self.clock, line.format(**values))
