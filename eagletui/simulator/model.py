"""What a step costs and what it brings, on a simulated machine: mathematics only.

A step is draft (k − 1 passes after the first, which draft extend gave), verify of k + 1 tokens,
draft extend, and the host's own time between them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from eagletui.model.base import Data


class NcclEffect(Data, frozen=True):
    """What one NCCL variable does to the time of a forward pass (a factor)."""

    name: str
    value: str
    verify: float
    decode: float


class Machine(Data, frozen=True):
    """A model with its draft on its GPUs. Times are milliseconds at batch 1 unless said.

    Attributes:
        accepted: share of verify steps that accept at least 1, 2, … drafts (marginal).
        decode, decode_per_request: plain decode pass, and what each further request adds.
        verify, verify_per_token: verify pass of no token, and what each verified token adds.
        batch_exponent: how the verified tokens of further requests add: tokens × batch^this.
        draft, extend: one draft pass; one draft extend.
        host, host_plain: the host's gaps in a step with and without speculation.
        eager: factor without graphs.
        prefill, prefill_per_token: one prefill batch and each of its tokens.
        noise: relative deviation of one pass.
    """

    accepted: tuple[float, ...]
    decode: float
    decode_per_request: float
    verify: float
    verify_per_token: float
    batch_exponent: float
    draft: float
    extend: float
    host: float
    host_plain: float
    prefill: float
    prefill_per_token: float
    eager: float = 2.6
    noise: float = 0.02
    nccl: tuple[NcclEffect, ...] = ()


class StepCost(Data, frozen=True):
    """Milliseconds of one step; without speculation `decode` holds the pass."""

    verify: float = 0.0
    draft: float = 0.0
    extend: float = 0.0
    decode: float = 0.0
    host: float = 0.0

    @property
    def gpu(self) -> float:
        """What the GPUs work."""
        return self.verify + self.draft + self.extend + self.decode

    @property
    def total(self) -> float:
        """From one launch to the next."""
        return self.gpu + self.host


def nccl_factors(machine: Machine, environment: Mapping[str, str]) -> tuple[float, float]:
    """What this environment does to verify and to plain decode."""
    verify = decode = 1.0
    for effect in machine.nccl:
        if environment.get(effect.name, "").upper() == effect.value:
            verify *= effect.verify
            decode *= effect.decode
    return verify, decode


def step_cost(
    machine: Machine,
    steps: int,
    width: int,
    batch: int = 1,
    *,
    environment: Mapping[str, str] | None = None,
    graph: bool = True,
) -> StepCost:
    """The expected cost of one step; `steps` 0 is plain decode, `width` the verify width."""
    on_verify, on_decode = nccl_factors(machine, environment or {})
    slow = 1.0 if graph else machine.eager
    if steps == 0:
        more = machine.decode_per_request * (batch**machine.batch_exponent - 1)
        return StepCost(
            decode=(machine.decode + more) * on_decode * slow, host=machine.host_plain * slow
        )
    tokens = width * batch**machine.batch_exponent
    return StepCost(
        verify=(machine.verify + machine.verify_per_token * tokens) * on_verify * slow,
        draft=machine.draft * (steps - 1) * batch**0.2 * slow,
        extend=machine.extend * batch**0.2 * slow,
        host=machine.host * slow,
    )


def expected_accept_length(machine: Machine, steps: int) -> float:
    """1 + Σ marginals up to k."""
    return 1.0 + sum(_marginal(machine, position) for position in range(steps))


def draw_accepted(machine: Machine, steps: int, chance: random.Random) -> int:
    """How many of k drafts one verify accepts."""
    draw = chance.random()
    accepted = 0
    while accepted < steps and draw < _marginal(machine, accepted):
        accepted += 1
    return accepted


def _marginal(machine: Machine, position: int) -> float:
    """Beyond the table the last conditional goes on."""
    known = machine.accepted
    if position < len(known):
        return known[position]
    if len(known) < 2 or known[-2] == 0:
        return known[-1] * 0.5 ** (position - len(known) + 1)
    return known[-1] * (known[-1] / known[-2]) ** (position - len(known) + 1)


def noisy(cost: StepCost, machine: Machine, chance: random.Random) -> StepCost:
    """One step's times around the expected ones; the mean stays."""

    def around(value: float) -> float:
        return value * max(0.5, chance.gauss(1.0, machine.noise)) if value else 0.0

    return StepCost(
        verify=around(cost.verify),
        draft=around(cost.draft),
        extend=around(cost.extend),
        decode=around(cost.decode),
        host=around(cost.host),
    )
