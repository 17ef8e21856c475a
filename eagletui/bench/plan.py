"""What a benchmark is going to do: cells in their order, and every request of each."""

from __future__ import annotations

import hashlib
import math
import random
from typing import Any

import msgspec

from eagletui.bench.load import Endpoint, Load
from eagletui.model.base import Data
from eagletui.model.run import Workload

FEWEST_REQUESTS = 32
ROUNDS = 4
"""Requests of a cell for each of its concurrent places, so that the thin end of a closed loop, at
which places stand empty, stays below a tenth of it."""


class Prompt(Data, frozen=True):
    """One prompt.

    Attributes:
        messages: a conversation, for the chat endpoint; () stands for one message of the user.
        ids: token numbers where an exact length was asked for; () elsewhere.
    """

    text: str
    messages: tuple[dict[str, str], ...] = ()
    ids: tuple[int, ...] = ()


class Plan(Data, frozen=True):
    """A whole benchmark.

    Attributes:
        name: of the set of prompts.
        concurrencies: cells of a repeat, in their order.
        requests: of each cell; None for enough to be worth it.
        rate: requests a second, begun at random moments (Poisson); None for a closed loop, in
            which each place sends its next request when the last one is over.
        warmup: rounds of the concurrency sent and thrown away before its first cell.
        seed: of the moments at which requests begin.
        keep_going: whether what makes figures not worth it ends no cell.
        flush: whether the prefix cache is emptied before each cell.
    """

    prompts: tuple[Prompt, ...]
    name: str = ""
    endpoint: Endpoint = "/v1/chat/completions"
    model: str = "default"
    concurrencies: tuple[int, ...] = (1,)
    output_tokens: int = 256
    input_tokens: int | None = None
    requests: int | None = None
    repeats: int = 3
    rate: float | None = None
    temperature: float = 0.0
    warmup: int = 1
    seed: int = 1
    ignore_eos: bool = True
    keep_going: bool = False
    flush: bool = False
    first_s: float = 600.0
    gap_s: float = 30.0


class CellPlan(Data, frozen=True):
    """One cell: a concurrency in a repeat, counted from 0."""

    concurrency: int
    repeat: int
    requests: int


def cells(plan: Plan) -> tuple[CellPlan, ...]:
    """Every cell in order. Repeats are interleaved: what drifts with time (heat, the cache) then
    falls on each concurrency alike, and does not look like a difference between them."""
    return tuple(
        CellPlan(concurrency=concurrency, repeat=repeat, requests=requests(plan, concurrency))
        for repeat in range(plan.repeats)
        for concurrency in plan.concurrencies
    )


def requests(plan: Plan, concurrency: int) -> int:
    """How many requests a cell has: whole rounds of a small set of prompts, so that cells of
    unlike concurrency answer the same questions."""
    if plan.requests is not None:
        return plan.requests
    wanted = max(FEWEST_REQUESTS, ROUNDS * concurrency)
    size = len(plan.prompts)
    return math.ceil(wanted / size) * size if size <= FEWEST_REQUESTS else wanted


def load(
    plan: Plan, cell: CellPlan, *, url: str, headers: dict[str, str], warm: bool = False
) -> Load:
    """The requests of a cell, or of the warm-up before it."""
    count = plan.warmup * cell.concurrency if warm else cell.requests
    numbers = range(count)
    return Load(
        url=url,
        endpoint=plan.endpoint,
        bodies=tuple(body(plan, plan.prompts[n % len(plan.prompts)]) for n in numbers),
        concurrency=cell.concurrency,
        starts=() if warm or plan.rate is None else starts(plan, cell),
        headers=headers,
        first_s=plan.first_s,
        gap_s=plan.gap_s,
    )


def starts(plan: Plan, cell: CellPlan) -> tuple[float, ...]:
    """Seconds from the beginning at which requests are sent: a Poisson process, the same again
    for the same seed, concurrency and repeat."""
    if plan.rate is None:
        return ()
    chance = random.Random(f"{plan.seed}/{cell.concurrency}/{cell.repeat}")
    moments, moment = [], 0.0
    for _ in range(cell.requests):
        moments.append(moment)
        moment += chance.expovariate(plan.rate)
    return tuple(moments)


def body(plan: Plan, prompt: Prompt) -> bytes:
    """One request's JSON.

    What only newer releases know, older ones pass over: continuous usage and the drafts' details
    (both seen in 0.5.23).
    """
    if plan.endpoint == "/generate":
        native: dict[str, Any] = {
            **({"input_ids": prompt.ids} if prompt.ids else {"text": prompt.text}),
            "sampling_params": {
                "max_new_tokens": plan.output_tokens,
                "temperature": plan.temperature,
                "ignore_eos": plan.ignore_eos,
            },
            "stream": True,
        }
        return msgspec.json.encode(native)
    value: dict[str, Any] = {
        "model": plan.model,
        "max_tokens": plan.output_tokens,
        "temperature": plan.temperature,
        "ignore_eos": plan.ignore_eos,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "return_spec_tokens_details": True,
    }
    if plan.endpoint == "/v1/completions":
        value["prompt"] = list(prompt.ids) or prompt.text
    else:
        value["messages"] = prompt.messages or [{"role": "user", "content": prompt.text}]
    return msgspec.json.encode(value)


def digest(prompts: tuple[Prompt, ...]) -> str:
    """SHA-256 of what is asked, in order."""
    found = hashlib.sha256()
    for prompt in prompts:
        found.update(msgspec.json.encode([prompt.text, prompt.messages, prompt.ids]))
        found.update(b"\n")
    return found.hexdigest()


def workload(plan: Plan) -> Workload:
    """The plan as it is kept with a run."""
    return Workload(
        prompts=plan.name,
        digest=digest(plan.prompts),
        endpoint=plan.endpoint,
        output_tokens=plan.output_tokens,
        input_tokens=plan.input_tokens,
        temperature=plan.temperature,
        rate=plan.rate,
        requests=plan.requests,
        warmup=plan.warmup,
        repeats=plan.repeats,
        seed=plan.seed,
        ignore_eos=plan.ignore_eos,
    )
