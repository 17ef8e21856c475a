"""Live verdicts: what is wrong (or worth saying) now, judged by rules that are rows of a table.

What the log itself says is diagnosed elsewhere; here speak numbers and silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eagletui.engine import conditions
from eagletui.engine.conditions import Facts
from eagletui.engine.watch import Finding, Watch
from eagletui.model.diagnosis import Diagnosis, Severity
from eagletui.model.state import ServerState, State

__all__ = ["RULES", "Watch", "live_verdicts"]


class Rule(NamedTuple):
    """One verdict.

    Attributes:
        title: `{}` is the finding's subject.
        holds: the finding while the condition holds, else None.
        after: seconds it must hold before it is said.
        rest: seconds it must not hold before it is no longer said.
    """

    code: str
    severity: Severity
    title: str
    advice: str
    holds: Callable[[Facts], Finding | None]
    after: float
    rest: float


def live_verdicts(
    server: ServerState, state: State, now: float, watch: Watch
) -> tuple[Diagnosis, ...]:
    """Everything worth saying now, in the order of the table.

    Without a connection nothing is judged, for silence then means nothing.

    Args:
        now: the user's clock.
        watch: memory between two calls; the same object every time.
    """
    blind = state.link is not None and state.link.link != "connected"
    facts = Facts(server, state, now, watch)
    key = server.process.key
    said: list[Diagnosis] = []
    known = {diagnosis.code for diagnosis in server.diagnoses}
    for rule in RULES:
        finding = None if blind or rule.code in known else rule.holds(facts)
        shown = watch.held(key, rule.code, finding, now, rule.after, rule.rest)
        if shown is None or blind:
            continue
        said.append(
            Diagnosis(
                code=rule.code,
                severity=shown.finding.severity or rule.severity,
                title=rule.title.format(shown.finding.subject),
                evidence=shown.finding.evidence,
                advice=rule.advice,
                at=shown.since,
            )
        )
    return tuple(said)


RULES: tuple[Rule, ...] = (
    Rule(
        "gone",
        "fatal",
        "The server's process is gone.",
        "Look at the end of its log and at the kernel's: killed for memory, or by someone.",
        conditions.gone,
        after=0.0,
        rest=0.0,
    ),
    Rule(
        "deadlocked",
        "error",
        "Deadlocked: the GPUs spin and no token moves.",
        "Most often a collective that not every rank joined. Take a stack of each rank (py-spy"
        " dump), then restart; try NCCL_P2P_DISABLE=1 or --disable-custom-all-reduce.",
        conditions.deadlocked,
        after=30.0,
        rest=10.0,
    ),
    Rule(
        "hung",
        "error",
        "Requests run but no token moves.",
        "See the log for the detokenizer or a health check that failed; the watchdog ends the"
        " server after --watchdog-timeout (300 s).",
        conditions.hung,
        after=5.0,
        rest=10.0,
    ),
    Rule(
        "stalled",
        "warning",
        "Stalled in {}: nothing moves for longer than it may.",
        "See the last lines of the log and which ranks are missing; power and memory of the GPUs"
        " tell loading from hanging.",
        conditions.stalled,
        after=5.0,
        rest=0.0,
    ),
    Rule(
        "not-answering",
        "error",
        "The server does not answer over HTTP.",
        "Its log tells whether it still decodes. Scrape less often where it is only busy.",
        conditions.silent_http,
        after=15.0,
        rest=3.0,
    ),
    Rule(
        "accept-length-one",
        "warning",
        "The draft is useless: accept length about 1.",
        "Check that the draft was trained for this model and release; without speculation this"
        " server would be faster.",
        conditions.useless,
        after=0.0,
        rest=10.0,
    ),
    Rule(
        "metrics-off",
        "warning",
        "Metrics are off.",
        "Start the server with --enable-metrics (and SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 for"
        " verify times). Until then the log is the only source.",
        conditions.metrics_off,
        after=3.0,
        rest=3.0,
    ),
    Rule(
        "key-refused",
        "warning",
        "The server wants an API key.",
        "Name the variable that holds it: --api-key-env NAME.",
        conditions.key_refused,
        after=3.0,
        rest=3.0,
    ),
    Rule(
        "kv-full",
        "warning",
        "The KV cache is full and requests wait.",
        "Fewer or shorter requests, a higher --mem-fraction-static, or a smaller KV dtype.",
        conditions.kv_full,
        after=10.0,
        rest=10.0,
    ),
    Rule(
        "retracting",
        "warning",
        "Requests are retracted: their work is thrown away and done again.",
        "The KV cache is too small for this load: lower --max-running-requests.",
        conditions.retracting,
        after=3.0,
        rest=20.0,
    ),
    Rule(
        "log-silent",
        "warning",
        "The log is silent although the server works.",
        "SGLang logs to standard error: start it with `> FILE 2>&1`, in this order, or follow"
        " another file with --log.",
        conditions.log_silent,
        after=10.0,
        rest=5.0,
    ),
    Rule(
        "slow-scrape",
        "info",
        "Scrapes are slow.",
        "Each one costs the server its HTTP loop (31 ms and more a rank): scrape less often.",
        conditions.slow_scrape,
        after=10.0,
        rest=20.0,
    ),
    Rule(
        "idle",
        "info",
        "Idle.",
        "Numbers of speculation are the last ones before it.",
        conditions.idle,
        after=30.0,
        rest=0.0,
    ),
)
