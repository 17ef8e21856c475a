"""What the figures of a measurement can be at all: one table for every file that others wrote.

A row says how far a figure goes, and what becomes of one that goes further. What a speed is made of
(seconds, tokens, how many at once) refuses the line: nothing else in it can be trusted then. A
figure that stands beside it (a latency, an accept length) is left out, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict


class Range(NamedTuple):
    """From `least` to `most`; `least` itself is outside where it must be `above` it."""

    least: float
    most: float
    unit: str = ""
    above: bool = False

    def holds(self, number: float) -> bool:
        """Whether it can be; `nan` never can."""
        return (self.least < number if self.above else self.least <= number) and number <= self.most

    @property
    def words(self) -> str:
        """`above 0 and at most 10000000 seconds`."""
        least = f"above {self.least:g} and" if self.above else f"{self.least:g} or more and"
        return f"{least} at most {self.most:.0f} {self.unit}".rstrip()


class Rule(NamedTuple):
    """A figure's range.

    Attributes:
        needed: whether one that is outside refuses all of it; else it alone is left out.
    """

    range: Range
    needed: bool = True


class Fault(NamedTuple):
    """A figure that cannot be.

    Attributes:
        name: where it stands.
        said: what it says and what it must be, behind its name.
        needed: as of `Rule`.
    """

    name: str
    said: str
    needed: bool = True

    @property
    def words(self) -> str:
        """The whole of it, without an end."""
        return f"{self.name} {self.said}"


DURATION = Range(0.0, 1e7, "seconds", above=True)
SPAN = Range(0.0, 1e7, "seconds")
MOMENT = Range(0.0, 1e11, "seconds since 1970")
MILLISECONDS = Range(0.0, 1e10, "milliseconds")
TOKENS = Range(0, 10**13, "tokens")
COUNT = Range(0, 10**12)
SOME = Range(1, 10**12)
AT_ONCE = Range(1, 10**6, "requests at once")
NO_LIMIT = Range(0, 10**6, "requests at once")
"""`--max-concurrency 0` of bench_serving is none."""
SPEED = Range(0.0, 1e9, "tokens a second")
RATE = Range(0.0, 1e9, "requests a second", above=True)
ACCEPT = Range(1.0, 1025.0, "tokens a step")
COUNTED_ACCEPT = Range(0.0, 1025.0, "tokens a step")
"""From two counters that are not read at one moment: it may fall short of 1."""
SHARE = Range(0.0, 1.0)
HEAT = Range(0.0, 1e3)
WATTS = Range(0.0, 1e9, "watts")
BYTES = Range(0, 2**60, "bytes")

_LATENCIES = ("ttft", "tpot", "itl", "e2e_latency")
_FIGURES = ("mean", "median", "std", "p90", "p95", "p99", "max")
SERVING_LATENCIES = tuple(f"{figure}_{latency}_ms" for latency in _LATENCIES for figure in _FIGURES)


def _beside(range_: Range, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, Rule(range_, needed=False))


def _needed(range_: Range, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, Rule(range_))


PLAUSIBLE: Mapping[str, Mapping[str, Rule]] = {
    # What `bench_serving` writes where nothing was served: 0, and `NaN` for a latency's mean.
    "bench_serving": {
        **_needed(DURATION, "duration"),
        **_needed(COUNT, "completed"),
        **_needed(TOKENS, "total_output_tokens"),
        **_needed(SPEED, "output_throughput"),
        # The second stands for the first where there is no limit.
        **_needed(NO_LIMIT, "max_concurrency", "concurrency"),
        **_beside(RATE, "request_rate"),
        **_beside(ACCEPT, "accept_length"),
        **_beside(COUNT, "accept_histogram"),
        **_beside(TOKENS, "random_input_len", "random_output_len", "input_lens", "output_lens"),
        **_beside(SPAN, "ttfts", "itls"),
        **_beside(MILLISECONDS, "verify_ms", "draft_ms", "draft_extend_ms", "step_ms"),
        **_beside(MILLISECONDS, *SERVING_LATENCIES),
    },
    "/generate": {
        **_needed(DURATION, "wall", "e2e_latency"),
        **_needed(TOKENS, "completion_tokens", "prompt_tokens"),
        **_needed(COUNT, "spec_verify_ct", "spec_num_proposed_drafts", "spec_proposed_drafts"),
        **_needed(COUNT, "spec_correct_drafts_histogram", "spec_accept_histogram"),
        **_needed(
            MOMENT, "request_received_ts", "response_sent_to_client_ts", "request_finished_ts"
        ),
    },
    # eagletui's own, by the name of its class: whoever changed one figure changed the file. What it
    # takes from clocks and counters that may go back (`load_seconds`, `server_tokens`) has no row.
    "Run": {**_needed(MOMENT, "began", "ended"), **_needed(MILLISECONDS, "round_trip_ms")},
    "Workload": {
        **_needed(SOME, "repeats"),
        **_needed(TOKENS, "output_tokens", "input_tokens"),
        **_needed(COUNT, "requests", "warmup"),
        **_needed(HEAT, "temperature"),
        **_needed(RATE, "rate"),
    },
    "Surroundings": {
        **_needed(SOME, "tensor_parallel"),
        **_needed(BYTES, "memory_bytes"),
    },
    "Cell": {
        **_needed(AT_ONCE, "concurrency"),
        **_needed(COUNT, "repeat"),
        **_needed(SPAN, "seconds"),
        **_needed(COUNTED_ACCEPT, "accept_length"),
        **_needed(WATTS, "power_watts"),
    },
    "Sent": {
        **_needed(SPAN, "began", "ttft", "latency"),
        **_needed(TOKENS, "prompt_tokens", "output_tokens"),
        **_needed(COUNT, "verify_steps", "accepted"),
        **_needed(SHARE, "distinct_bigrams"),
    },
    "Quantiles": _needed(MILLISECONDS, "mean", "p50", "p90", "p99"),
    "StepTimes": _needed(MILLISECONDS, "step", "verify", "draft", "draft_extend"),
    "Summary": {
        **_needed(COUNT, "completed"),
        **_needed(TOKENS, "output_tokens"),
        **_needed(SPEED, "tok_s"),
        **_needed(COUNTED_ACCEPT, "accept_length"),
        **_needed(MILLISECONDS, "ttft_ms", "tpot_ms", "latency_ms"),
    },
}

ASCENDING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "bench_serving": tuple(
        tuple(f"{figure}_{latency}_ms" for figure in ("median", "p90", "p95", "p99", "max"))
        for latency in _LATENCIES
    ),
    "Sent": (("ttft", "latency"),),
    "Quantiles": (("p50", "p90", "p99"),),
    "": (("p50", "p90", "p99"),),
}
"""Figures of which none is below the one before it; "" is a plain mapping."""

_ROUNDING = 1e-6


def faults(kind: str, values: Mapping[str, object]) -> Iterator[Fault]:
    """What of the figures of one row cannot be.

    Args:
        kind: of `PLAUSIBLE`.
        values: numbers, lists of them to any depth, and whatever else, which is passed over.
    """
    rules = PLAUSIBLE.get(kind, {})
    outside = set()
    for name, rule in rules.items():
        for number in _numbers(values.get(name)):
            if not rule.range.holds(number):
                said = f"is {_shown(number)}; it must be {rule.range.words}"
                yield Fault(name, said, rule.needed)
                outside.add(name)
                break
    for names in ASCENDING.get(kind, ()):
        known = [
            (name, value)
            for name in names
            if isinstance(value := values.get(name), (int, float)) and name not in outside
        ]
        for (name, low), (other, high) in pairwise(known):
            if low > high + _ROUNDING * abs(high):
                said = f"is {_shown(low)}, more than {other}, {_shown(high)}"
                needed = name not in rules or rules[name].needed
                yield Fault(name, said, needed)


def faults_within(value: object, path: str = "") -> Iterator[Fault]:
    """The same of a structure of ours and of all that it holds."""
    if isinstance(value, msgspec.Struct):
        kind, fields = type(value).__name__, asdict(value)
    elif isinstance(value, Mapping):
        kind, fields = "", dict(value)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from faults_within(item, f"{path}[{index}]")
        return
    else:
        return
    before = f"{path}." if path else ""
    for fault in faults(kind, fields):
        yield fault._replace(name=before + fault.name)
    for name, held in fields.items():
        yield from faults_within(held, f"{before}{name}")


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif isinstance(value, Mapping):
        yield from _numbers(list(value.values()))
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from _numbers(item)


def _shown(number: float) -> str:
    """Short, however many digits it has."""
    if isinstance(number, int) and abs(number) < 10**16:
        return str(number)
    try:
        return f"{number:.6g}" if math.isfinite(number) else str(number)
    except OverflowError:
        return "a number of hundreds of digits"
