"""What one draft–verify cycle brings and how long it takes, from a cell's own requests.

*Accept length* is the tokens a verify step brings, the bonus token included: 1 to k + 1. It is
reckoned from the first of these that is known:

1. the requests' histograms of accepted drafts, Σ(i + 1)·nᵢ / Σnᵢ. It is what SGLang's log lines and
   `avg_spec_accept_length` count, to the last draft;
2. output tokens over verify steps of requests that tell their steps alone, without each request's
   first token, which the prefill brings and no step verified;
3. the server's counters over the cell's window, reckoned in the same way;
4. what another program wrote, and 1 for a server that does not draft.

The second and third leave out drafts that were accepted behind a reply's last token, k a request at
the most: they are lower than the first by some thousandths at 256 output tokens. SGLang's
`spec_accept_length` of one reply counts the prefill's token as well and can be above k + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from eagletui.model.run import Cell, Run, Sent
from eagletui.model.statistics import (
    accept_length,
    acceptance_by_position,
)


def acceptance(
    run: Run, cells: Sequence[Cell], requests: Sequence[Sent], histogram: Sequence[int]
) -> tuple[float | None, tuple[float | None, ...]]:
    """Accept length, and the share accepted at each position; None and () where unknown.

    Args:
        requests: those of the cells that were served.
        histogram: of all of them together.
    """
    if sum(histogram):
        k = run.surroundings.speculative.num_steps
        return accept_length(histogram), acceptance_by_position(histogram, k)
    drafted = [request for request in requests if request.verify_steps]
    if drafted:
        steps = sum(request.verify_steps or 0 for request in drafted)
        return sum(request.output_tokens - 1 for request in drafted) / steps, ()
    written = weighted(cells, _written_length)
    if written is None and not run.surroundings.speculative.on:
        return 1.0, ()
    return written, ()


def _written_length(cell: Cell) -> float | None:
    if cell.accept_length is not None or cell.summary is None:
        return cell.accept_length
    return cell.summary.accept_length


def drafts(run: Run, cells: Sequence[Cell]) -> bool:
    """Whether the server speculated, by its setting or by what its replies tell."""
    return run.surroundings.speculative.on or any(
        request.verify_steps for cell in cells for request in cell.requests
    )


def wall_step(
    requests: Sequence[Sent], accept: float | None, tpot_ms: float | None, *, drafts: bool
) -> float | None:
    """Milliseconds a step, from the first token on where it is known when that came."""
    if drafts:
        step = _over(requests, [request.verify_steps or 0 for request in requests])
        if step is not None:
            return step
    tokens = [r.output_tokens - (0 if r.ttft is None else 1) for r in requests]
    token = _over(requests, tokens)
    token = tpot_ms if token is None else token
    if not drafts:
        return token
    return None if token is None or accept is None else token * accept


def _over(requests: Sequence[Sent], counts: Sequence[int]) -> float | None:
    """Milliseconds of all requests, from their first tokens on, over what was counted of each."""
    total = sum(counts)
    if total <= 0:
        return None
    spans = [
        (request.latency or 0.0) - (request.ttft or 0.0)
        for request, count in zip(requests, counts, strict=True)
        if count > 0
    ]
    return 1000.0 * math.fsum(spans) / total


def weighted(
    cells: Iterable[Cell],
    read: Callable[[Cell], float | None],
    weigh: Callable[[Cell], float] = lambda cell: cell.seconds,
) -> float | None:
    """The mean over the cells that say it, by their seconds or another weight."""
    pairs = [(value, weigh(cell)) for cell in cells if (value := read(cell)) is not None]
    total = math.fsum(weight for _, weight in pairs)
    if total <= 0.0:
        return None
    return math.fsum(value * weight for value, weight in pairs) / total
