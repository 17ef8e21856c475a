"""What one run measured at one concurrency, all repeats together, with the noise it has.

- *tok/s* is output tokens over seconds, in total: of requests that were served, or cut short when
  the cell was cancelled. Its resamples give each its share of the cell's seconds, by its latency.
- *accept length* is that of the requests' own histograms; where there are none, tokens over verify
  steps; where there are none either (a chat's replies don't tell), the server's counters over the
  cell's window, or what another program wrote. 1 for a run that does not draft.
- *step* is what the server's timers or counters said; where they said nothing, the time from the
  first token to the last over the verify steps (over the tokens, without drafts; times the accept
  length, where requests don't tell their steps). *Wall step* is always the latter where it can be
  had: two runs are compared on the same quantity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import asdict

from eagletui.model.run import STOPPED, Cell, Quantiles, Run, Sent
from eagletui.model.statistics import (
    Interval,
    Stratum,
    accept_length,
    acceptance_by_position,
    distribution,
    hull,
    interval,
    interval_of_repeats,
    pooled,
    ratio_of_sums,
    resampled,
)

LATENCY_FIGURES = ("mean", "p50", "p90", "p99")


class Figures(NamedTuple):
    """One concurrency of one run; None is what nothing said.

    Attributes:
        seconds: of all repeats together.
        tok_s: output tokens a second in total, `speeds` the same of each repeat.
        samples: resamples of `tok_s`, for ratios.
        tok_s_each: tokens a second that one request got, on average.
        source: where `step_ms` is from.
        wall_step_ms: from the requests' own times.
        ttft_ms, tpot_ms, latency_ms: `LATENCY_FIGURES`, None each where unknown.
        joules_per_token: power over the window; None unknown.
        stopped: why cells ended early, in words.
        spoiled: what keeps the figures from saying something of the setting, in words.
    """

    concurrency: int
    repeats: int
    requests: int
    failed: int
    seconds: float
    tok_s: float | None
    tok_s_interval: Interval | None
    speeds: tuple[float, ...]
    samples: tuple[float, ...]
    tok_s_each: float | None
    accept_length: float | None
    acceptance: tuple[float | None, ...]
    source: str | None
    step_ms: float | None
    wall_step_ms: float | None
    verify_ms: float | None
    draft_ms: float | None
    draft_extend_ms: float | None
    ttft_ms: dict[str, float | None]
    tpot_ms: dict[str, float | None]
    latency_ms: dict[str, float | None]
    power_watts: float | None
    joules_per_token: float | None
    stopped: tuple[str, ...]
    spoiled: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def other_ms(self) -> float | None:
        """What is left of a step beside its known parts; None where no part is known."""
        parts = [part for part in (self.verify_ms, self.draft_ms, self.draft_extend_ms) if part]
        if self.step_ms is None or not parts:
            return None
        return max(0.0, self.step_ms - math.fsum(parts))


# A cell that ended so says nothing of the setting; a cancelled one is only short.
_SPOILED = frozenset({"looped", "restarted", "other-traffic", "kv-full", "throttled", "failed"})


def figures_of(run: Run, *, seed: int = 0) -> tuple[Figures, ...]:
    """The figures of every concurrency of a run, the lowest first.

    Args:
        seed: of the resamples; runs that are compared need different ones.
    """
    by_concurrency: dict[int, list[Cell]] = {}
    for cell in run.cells:
        by_concurrency.setdefault(cell.concurrency, []).append(cell)
    return tuple(
        _figures(run, concurrency, cells, seed)
        for concurrency, cells in sorted(by_concurrency.items())
    )


def _figures(run: Run, concurrency: int, cells: list[Cell], seed: int) -> Figures:
    served = [_served(cell) for cell in cells]
    everyone = [request for requests in served for request in requests]
    strata = [_speed(cell) for cell in cells]
    known = [stratum for stratum in strata if stratum is not None]
    samples: tuple[float, ...] = ()
    if known:
        tok_s, samples = ratio_of_sums(known), resampled(known, seed=seed)
        speeds = tuple(speed for one in known if (speed := ratio_of_sums([one])) is not None)
    else:
        tok_s = _weighted(cells, lambda cell: cell.summary.tok_s if cell.summary else None)
        speeds = tuple(cell.summary.tok_s for cell in cells if cell.summary and cell.summary.tok_s)
    accept, acceptance = _acceptance(run, cells, everyone)
    tpot = _latency(everyone, lambda request: request.tpot, cells, "tpot_ms")
    wall = _wall_step(everyone, accept, tpot["mean"], drafts=_drafts(run, cells))
    step = _weighted(cells, lambda cell: cell.steps.step)
    sources = {cell.steps.source for cell in cells if cell.steps.source}
    power = _weighted(cells, lambda cell: cell.power_watts)
    return Figures(
        concurrency=concurrency,
        repeats=len({cell.repeat for cell in cells}),
        requests=sum(
            len(cell.requests) or (cell.summary.completed if cell.summary else 0) for cell in cells
        ),
        failed=sum(
            request.error not in ("", STOPPED) for cell in cells for request in cell.requests
        ),
        seconds=math.fsum(cell.seconds for cell in cells),
        tok_s=tok_s,
        tok_s_interval=hull(interval(samples), interval_of_repeats(speeds)),
        speeds=speeds,
        samples=samples,
        tok_s_each=ratio_of_sums([_each(everyone)]),
        accept_length=accept,
        acceptance=acceptance,
        source=" and ".join(sorted(sources)) or (None if wall is None else "requests"),
        step_ms=wall if step is None else step,
        wall_step_ms=wall,
        verify_ms=_weighted(cells, lambda cell: cell.steps.verify),
        draft_ms=_weighted(cells, lambda cell: cell.steps.draft),
        draft_extend_ms=_weighted(cells, lambda cell: cell.steps.draft_extend),
        ttft_ms=_latency(everyone, lambda request: request.ttft, cells, "ttft_ms"),
        tpot_ms=tpot,
        latency_ms=_latency(everyone, lambda request: request.latency, cells, "latency_ms"),
        power_watts=power,
        joules_per_token=power / tok_s if power is not None and tok_s else None,
        stopped=tuple(dict.fromkeys(cell.why or cell.stopped for cell in cells if cell.stopped)),
        spoiled=tuple(dict.fromkeys(text for cell in cells if (text := _spoiled(cell)))),
        warnings=tuple(dict.fromkeys(text for cell in cells for text in cell.warnings)),
    )


def _spoiled(cell: Cell) -> str:
    if cell.stopped in _SPOILED:
        return f"ended early: {cell.why or cell.stopped}"
    return f"is in doubt: {cell.why or cell.doubt}" if cell.doubt in _SPOILED else ""


# --- speed ----------------------------------------------------------------------------------------


def _served(cell: Cell) -> list[Sent]:
    return [
        request
        for request in cell.requests
        if not request.error and request.latency and request.output_tokens > 0
    ]


def _each(requests: Sequence[Sent]) -> Stratum:
    return Stratum(
        over=tuple(float(request.output_tokens) for request in requests),
        under=tuple(request.latency or 0.0 for request in requests),
    )


def _speed(cell: Cell) -> Stratum | None:
    """Tokens, and each request's share of the cell's seconds.

    What a cancelled cell cut short was generated as well, and took its time.
    """
    shares = [(sent, _lasted(cell, sent)) for sent in cell.requests]
    known = [(sent, seconds) for sent, seconds in shares if seconds > 0.0]
    total = math.fsum(seconds for _, seconds in known)
    if total <= 0.0 or cell.seconds <= 0.0:
        return None
    share = cell.seconds / total
    return Stratum(
        over=tuple(float(sent.output_tokens) for sent, _ in known),
        under=tuple(seconds * share for _, seconds in known),
    )


def _lasted(cell: Cell, sent: Sent) -> float:
    """Seconds that a request took tokens; 0 for one that failed or got none."""
    if not sent.output_tokens:
        return 0.0
    if sent.error == STOPPED:
        return cell.seconds - sent.began
    return sent.latency or 0.0 if not sent.error else 0.0


# --- acceptance -----------------------------------------------------------------------------------


def _acceptance(
    run: Run, cells: Sequence[Cell], requests: Sequence[Sent]
) -> tuple[float | None, tuple[float | None, ...]]:
    histogram = pooled(request.accepted for request in requests)
    if sum(histogram):
        k = run.surroundings.speculative.num_steps
        return accept_length(histogram), acceptance_by_position(histogram, k)
    drafted = [request for request in requests if request.verify_steps]
    if drafted:
        steps = sum(request.verify_steps or 0 for request in drafted)
        return sum(request.output_tokens for request in drafted) / steps, ()
    written = _weighted(cells, _written_length)
    if written is None and not run.surroundings.speculative.on:
        return 1.0, ()
    return written, ()


def _written_length(cell: Cell) -> float | None:
    if cell.accept_length is not None or cell.summary is None:
        return cell.accept_length
    return cell.summary.accept_length


def _drafts(run: Run, cells: Sequence[Cell]) -> bool:
    return run.surroundings.speculative.on or any(
        request.verify_steps for cell in cells for request in cell.requests
    )


# --- times ----------------------------------------------------------------------------------------


def _wall_step(
    requests: Sequence[Sent], accept: float | None, tpot_ms: float | None, *, drafts: bool
) -> float | None:
    """Milliseconds a step, from the first token on where it is known when that came."""
    if drafts:
        step = _span(requests, lambda request, _: request.verify_steps)
        if step is not None:
            return step
    token = _span(requests, lambda request, first: request.output_tokens - first)
    if not drafts:
        return tpot_ms if token is None else token
    token = tpot_ms if token is None else token
    return None if token is None or accept is None else token * accept


def _span(requests: Iterable[Sent], read: Callable[[Sent, int], int | None]) -> float | None:
    """Milliseconds of all requests over what `read` counts; its second word is 1 for streamed."""
    spans: list[float] = []
    counts: list[float] = []
    for request in requests:
        count = read(request, 0 if request.ttft is None else 1)
        if count and count > 0:
            spans.append((request.latency or 0.0) - (request.ttft or 0.0))
            counts.append(float(count))
    seconds = ratio_of_sums([Stratum(tuple(spans), tuple(counts))])
    return None if seconds is None else 1000.0 * seconds


def _latency(
    requests: Iterable[Sent],
    read: Callable[[Sent], float | None],
    cells: Sequence[Cell],
    summary: str,
) -> dict[str, float | None]:
    found: Quantiles | None = distribution(
        1000.0 * value for request in requests if (value := read(request)) is not None
    )
    if found is not None:
        return asdict(found)

    def written(figure: str) -> Callable[[Cell], float | None]:
        return lambda cell: getattr(cell.summary, summary).get(figure) if cell.summary else None

    return {figure: _weighted(cells, written(figure)) for figure in LATENCY_FIGURES}


def _weighted(cells: Iterable[Cell], read: Callable[[Cell], float | None]) -> float | None:
    """The mean over the cells that say it, by their seconds."""
    pairs = [(value, cell.seconds) for cell in cells if (value := read(cell)) is not None]
    total = math.fsum(seconds for _, seconds in pairs)
    if total <= 0.0:
        return None
    return math.fsum(value * seconds for value, seconds in pairs) / total
