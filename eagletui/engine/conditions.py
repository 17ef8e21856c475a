"""Conditions of live verdicts: what holds now, with the numbers that say so."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.engine.watch import Finding, Watch
from eagletui.model.diagnosis import SEVERITY_ORDER
from eagletui.model.phases import Rung
from eagletui.model.server import Gpu
from eagletui.model.state import ServerState, State

# Seconds a phase may rest before it is called stalled, where no launch was seen: generous, for
# half an hour of silence after the last shard and 22 minutes of graph capture are on record.
FIRST_STALL: dict[str, float] = {
    "arguments": 600.0,
    "distributed init": 900.0,
    "weights": 2400.0,
    "kv cache": 900.0,
    "prefill graphs": 1800.0,
    "graphs": 1800.0,
    "extend graphs": 1800.0,
    "warm-up": 1800.0,
    "ready": 1800.0,
}
SHORTEST_STALL = 60.0

HANG_UTILIZATION = 95.0
IDLE_POWER_SHARE = 0.4
IDLE_POWER_WATTS = 160.0
"""A GPU that spins in a collective shows 100 % at a fraction of the power that work takes: 140 W
of 600 and 20 W were reported. The watts count where the limit is not known."""

USELESS_LENGTH = 1.05
USEFUL_LENGTH = 1.10
USELESS_STEPS = 300.0
LOG_STEPS = 40.0
"""Decode steps a log line stands for (`--decode-log-interval`), where nothing counts passes."""

ANSWER_PROBLEMS = ("refused", "timeout", "closed", "server error", "truncated")
"""No answer of a server that was ready; of one that loads, `refused` is how it should be."""


class Facts(NamedTuple):
    """What a rule may look at."""

    server: ServerState
    state: State
    now: float
    watch: Watch

    @property
    def running(self) -> float | None:
        """Running requests by the last scrape.

        The last decode line does not count: it never says 0, an idle server writes none.
        """
        reading = self.server.metrics.reading
        return reading.running if reading is not None else None

    @property
    def still_for(self) -> float | None:
        """Seconds in which no token moved although somebody looked; None where nobody did."""
        moved = self.server.progress_at
        return self.now - moved if moved is not None and self.scraped_lately else None

    @property
    def scraped_lately(self) -> bool:
        """Whether the last scrape is recent and good."""
        metrics = self.server.metrics
        return metrics.at is not None and metrics.problem is None and self.now - metrics.at < 60.0

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The server's GPUs, all of the host where that is not known; () when not read lately."""
        at = self.state.gpus_at
        if at is None or self.now - at > 30.0:
            return ()
        own = self.server.process.gpus
        return tuple(gpu for gpu in self.state.gpus if not own or gpu.index in own)


def stall_limit(server: ServerState, rung: Rung) -> float:
    """Seconds a phase may rest: as long as it ever took in all, never less."""
    known = server.experience.get(rung.key)
    if known is None:
        return FIRST_STALL.get(rung.name, 1800.0)
    return max(SHORTEST_STALL, known.longest)


def gone(facts: Facts) -> Finding | None:
    """The process is not there and nothing said that it ends."""
    server = facts.server
    if server.gone_at is None or server.ended:
        return None
    pid = server.process.pid
    who = f"process {pid}" if pid is not None else "its process"
    causes = [d for d in server.diagnoses if d.severity in ("fatal", "error")]
    if causes:
        # The cause is the news, and the end what follows from it.
        worst = min(causes, key=lambda cause: SEVERITY_ORDER[cause.severity])
        words = f"{who} is not there any more; the log says before: {worst.title}"
        return Finding(words, severity="warning")
    return Finding(f"{who} is not there any more, and the log names no end")


def stalled(facts: Facts) -> Finding | None:
    """A loading phase rests longer than it ever took."""
    server = facts.server
    rung = server.phase
    if server.ready or not server.alive or not server.log.live:
        return None
    if rung is None or rung.status == "failed" or rung.moved_at is None:
        return None
    limit, rule = stall_limit(server, rung), "allowed where no launch was seen yet"
    subject = rung.title
    if rung.status != "running":
        # Between two phases nothing is learned: imports and hand-overs take what they take.
        limit, subject = FIRST_STALL[rung.name], f"what follows {rung.title}"
    elif rung.key in server.experience:
        rule = "the longest launch so far took"
    # What a bar did before we came has no time of its own: only what was watched counts.
    still = facts.now - max(rung.moved_at, server.log.read_at or rung.moved_at)
    if still <= limit:
        return None
    count = f" at {rung.done}/{rung.total}" if rung.total and rung.done is not None else ""
    words = f"nothing moved for {still:.0f} s{count}; {rule} {limit:.0f} s"
    late = [rank for rank, done in rung.ranks.items() if not done and rank]
    if late and len(late) < len(rung.ranks):
        words += f"; waiting for {', '.join(sorted(r.strip() for r in late)[:8])}"
    if facts.gpus:
        words += f"; {_gpu_words(facts.gpus)}"
    return Finding(words, subject)


def _requests_rest(facts: Facts, seconds: float) -> float | None:
    """How long requests run without a token, where that is longer than `seconds`."""
    server = facts.server
    still = facts.still_for
    if not server.ready or not server.alive or still is None or still < seconds:
        return None
    return still if (facts.running or 0.0) > 0.0 else None


def deadlocked(facts: Facts) -> Finding | None:
    """Requests run, no token moves, and the GPUs spin at the power of idle ones."""
    still = _requests_rest(facts, 5.0)
    if still is None or not _spinning(facts.gpus):
        return None
    return Finding(
        f"{facts.running:.0f} running, no token for {still:.0f} s; {_gpu_words(facts.gpus)}"
    )


def hung(facts: Facts) -> Finding | None:
    """Requests run and no token moves, whatever the GPUs do."""
    still = _requests_rest(facts, 60.0)
    if still is None or _spinning(facts.gpus):
        return None
    gpus = f"; {_gpu_words(facts.gpus)}" if facts.gpus else ""
    return Finding(f"{facts.running:.0f} running, no token for {still:.0f} s{gpus}")


def _spinning(gpus: tuple[Gpu, ...]) -> bool:
    """Whether every GPU is fully used at the power of an idle one."""

    def one(gpu: Gpu) -> bool:
        if gpu.utilization is None or gpu.power is None:
            return False
        bound = gpu.power_limit * IDLE_POWER_SHARE if gpu.power_limit else IDLE_POWER_WATTS
        return gpu.utilization >= HANG_UTILIZATION and gpu.power <= bound

    return bool(gpus) and all(one(gpu) for gpu in gpus)


def _gpu_words(gpus: tuple[Gpu, ...]) -> str:
    used = [gpu.utilization for gpu in gpus if gpu.utilization is not None]
    watts = [gpu.power for gpu in gpus if gpu.power is not None]
    limits = [gpu.power_limit for gpu in gpus if gpu.power_limit is not None]
    words = f"GPUs at {sum(used) / len(used):.0f} %" if used else "GPU use not known"
    if watts:
        words += f" and {sum(watts) / len(watts):.0f} W"
        words += f" of {sum(limits) / len(limits):.0f} W" if limits else ""
    return words


def useless(facts: Facts) -> Finding | None:
    """Hardly a draft was accepted over many verify steps."""
    server = facts.server
    low = facts.watch.low_steps(server.process.key)
    if not server.speculative.on or server.speculative.num_steps == 0:
        low.steps = 0.0
        return None
    length = _count_low(facts)
    if low.steps < USELESS_STEPS or length is None:
        return None
    return Finding(f"accept length {length:.2f} over {low.steps:.0f} verify steps in a row")


def _count_low(facts: Facts) -> float | None:
    """Bring the count of low steps up to date; the accept length it rests on."""
    low = facts.watch.low_steps(facts.server.process.key)
    metrics, decode = facts.server.metrics, facts.server.decode
    rates, reading = metrics.rates, metrics.reading
    if rates is not None and reading is not None and rates.accept_length is not None:
        length, at = rates.accept_length, reading.at
        fresh = not rates.stale and low.at != at
        passes = reading.passes_total
        moved = 0.0
        if passes is not None and low.passes is not None and passes > low.passes:
            moved = passes - low.passes
        elif passes is None and rates.step_ms:
            moved = 1000.0 * rates.seconds / rates.step_ms
        low.passes = passes
    elif decode is not None and decode.accept_length is not None:
        length, at, moved = decode.accept_length, decode.at, LOG_STEPS
        fresh = low.at != at
    else:
        return None
    low.at = at
    if fresh and length > USEFUL_LENGTH:
        low.steps = 0.0
    elif fresh and (length < USELESS_LENGTH or low.steps >= USELESS_STEPS):
        low.steps += moved
    return length


def metrics_off(facts: Facts) -> Finding | None:
    """The server is ready and has no page of metrics."""
    server, metrics = facts.server, facts.server.metrics
    if not server.ready or not server.alive:
        return None
    missing = metrics.problem is not None and metrics.problem.problem == "not found"
    if missing and metrics.problem is not None:
        return Finding(metrics.problem.detail or "404 for /metrics")
    if metrics.reading is not None and metrics.reading.samples:
        return None
    if server.process.metrics_enabled is False:
        return Finding("--enable-metrics is not on its command line")
    return Finding("only /v1/loads answers") if metrics.reading is not None else None


def key_refused(facts: Facts) -> Finding | None:
    """The server wants an API key it did not get."""
    problem = facts.server.metrics.problem
    if problem is None or problem.problem != "unauthorised":
        return None
    return Finding(problem.detail or "401")


def silent_http(facts: Facts) -> Finding | None:
    """A ready server gives no answer."""
    server, problem = facts.server, facts.server.metrics.problem
    if not server.ready or not server.alive or problem is None:
        return None
    if problem.problem not in ANSWER_PROBLEMS:
        return None
    return Finding(f"{server.metrics.failures} scrapes failed; the last: {problem.detail}")


def slow_scrape(facts: Facts) -> Finding | None:
    """A scrape takes over a second."""
    took = facts.server.metrics.took
    return Finding(f"the last scrape took {took:.1f} s") if took > 1.0 else None


def kv_full(facts: Facts) -> Finding | None:
    """The KV cache is full while requests wait."""
    reading = facts.server.metrics.reading
    if reading is None or not facts.scraped_lately or not reading.queued:
        return None
    if reading.token_usage is None or reading.token_usage <= 0.98:
        return None
    return Finding(
        f"KV cache {100 * reading.token_usage:.0f} % used, {reading.queued:.0f} requests wait"
    )


def retracting(facts: Facts) -> Finding | None:
    """Requests lose their place in the KV cache."""
    reading = facts.server.metrics.reading
    if reading is None or not facts.scraped_lately or not reading.retracted:
        return None
    return Finding(f"{reading.retracted:.0f} requests retracted")


def log_silent(facts: Facts) -> Finding | None:
    """The server works and its log says nothing."""
    server, log = facts.server, facts.server.log
    if not server.alive or log.place is None or not log.place.readable or not log.live:
        return None
    begun = server.process.started_at
    if log.received == 0 and begun is not None and facts.now - begun > 60.0:
        return Finding(f"nothing in {log.place.target}, {facts.now - begun:.0f} s after the start")
    rates = server.metrics.rates
    if rates is None or not rates.progress or not facts.scraped_lately or log.last_at is None:
        return None
    if facts.now - log.last_at <= 180.0 or not rates.tok_s:
        return None
    return Finding(
        f"{rates.tok_s:.0f} tok/s, yet no line for {facts.now - log.last_at:.0f} s"
        f" in {log.place.target}"
    )


def idle(facts: Facts) -> Finding | None:
    """Nothing runs, waits or moves."""
    reading, rates = facts.server.metrics.reading, facts.server.metrics.rates
    if not facts.server.ready or reading is None or not facts.scraped_lately:
        return None
    if reading.running or reading.queued or (rates is not None and rates.progress):
        return None
    return Finding("no request runs or waits, no token moves")
