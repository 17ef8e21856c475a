"""The one place where figures are made of what was measured: every table, document and file that
shows a figure of a run has it from here, of one cell or of all repeats of a concurrency together.

- *tok/s* is output tokens over seconds, in total: of requests that were served, or cut short when
  the cell ended early. Repeats are pooled: all their tokens over all their seconds. Its resamples
  give each request its share of the cell's seconds, by its latency.
- *tok/s a request* is the tokens of all served requests over their latencies: times the requests
  that were under way on average it is tok/s in total.
- *TTFT, TPOT and latency* are the distribution over all served requests of all repeats. *ITL* is
  kept as quantiles of a cell; of several cells it is their mean, by their tokens.
- *accept length* and the *wall step* are `model.steps`'s. *Step* is what the server's timers or
  counters said; where they said nothing, the wall step. Two runs are compared on the same quantity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import asdict

from eagletui.model.run import STOPPED, Cell, Quantiles, Run, Sent
from eagletui.model.statistics import (
    Interval,
    Stratum,
    distribution,
    hull,
    interval,
    interval_of_repeats,
    pooled,
    ratio_of_sums,
    resampled,
)
from eagletui.model.steps import acceptance, drafts, wall_step, weighted

LATENCY_FIGURES = ("mean", "p50", "p90", "p99")


class Figures(NamedTuple):
    """One concurrency of one run, or one cell of it; None is what nothing said.

    Attributes:
        requests: all that were sent: `served`, `failed`, and those that were stopped.
        prompt_tokens: of served requests, as the server counts them.
        output_tokens: what `tok_s` counts.
        seconds: of all repeats together.
        tok_s: output tokens a second in total, `speeds` the same of each repeat.
        samples: resamples of `tok_s`, for ratios.
        tok_s_each: tokens a second that one request got, on average.
        accepted: steps by how many drafts they accepted, from 0 on; () where unknown.
        acceptance: the share accepted at each position of those that reached it.
        verify_steps: of served requests; None where they do not tell.
        source: where `step_ms` is from.
        wall_step_ms: from the requests' own times.
        ttft_ms, tpot_ms, itl_ms, latency_ms: `LATENCY_FIGURES`, None each where unknown.
        distinct_bigrams: mean over served requests.
        server_tokens: how far the server's own counter moved; None where a cell does not know it.
        joules_per_token: power of all the server's GPUs together over tok/s.
        stopped: why cells ended early, in words.
        spoiled: what keeps the figures from saying something of the setting, in words.
    """

    concurrency: int
    repeats: int
    requests: int
    served: int
    failed: int
    prompt_tokens: int
    output_tokens: int
    seconds: float
    tok_s: float | None
    tok_s_interval: Interval | None
    speeds: tuple[float, ...]
    samples: tuple[float, ...]
    tok_s_each: float | None
    accept_length: float | None
    accepted: tuple[int, ...]
    acceptance: tuple[float | None, ...]
    verify_steps: int | None
    source: str | None
    step_ms: float | None
    wall_step_ms: float | None
    verify_ms: float | None
    draft_ms: float | None
    draft_extend_ms: float | None
    ttft_ms: dict[str, float | None]
    tpot_ms: dict[str, float | None]
    itl_ms: dict[str, float | None]
    latency_ms: dict[str, float | None]
    distinct_bigrams: float | None
    server_tokens: int | None
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

    @property
    def served_share(self) -> float:
        """Served requests over those that were served or failed; 1 where nothing failed."""
        return self.served / (self.served + self.failed) if self.failed else 1.0


class Glance(NamedTuple):
    """What a list shows of one concurrency of a run: two of its `Figures`, without resamples."""

    concurrency: int
    tok_s: float | None
    accept_length: float | None


# A cell that ended so says nothing of the setting; a cancelled one is only short.
_SPOILED = frozenset({"looped", "restarted", "other-traffic", "kv-full", "throttled", "failed"})


def figures_of(run: Run, *, seed: int = 0) -> tuple[Figures, ...]:
    """The figures of every concurrency of a run, the lowest first.

    Args:
        seed: of the resamples; runs that are compared need different ones.
    """
    return tuple(_figures(run, cells, seed) for cells in _by_concurrency(run))


def glances_of(run: Run) -> tuple[Glance, ...]:
    """The same figures of every concurrency of a run for a list, at a small part of the cost."""
    found = []
    for cells in _by_concurrency(run):
        served = [request for cell in cells for request in _served(cell)]
        accept, _ = acceptance(run, cells, served, _histogram(served))
        found.append(Glance(cells[0].concurrency, _tok_s(cells, _strata(cells)), accept))
    return tuple(found)


def cell_figures(run: Run, cell: Cell) -> Figures:
    """The figures of one of a run's cells."""
    return _figures(run, [cell], 0)


def figures_document(figures: Figures) -> dict[str, Any]:
    """All of it as plain data, as `bench --json` shows it."""
    interval = figures.tok_s_interval
    found = figures._asdict()
    del found["samples"], found["tok_s_interval"], found["source"], found["stopped"]
    return {
        **found,
        "ended_early": figures.stopped,
        "tok_s_low": interval.low if interval else None,
        "tok_s_high": interval.high if interval else None,
        "step_source": figures.source,
        "other_ms": figures.other_ms,
    }


def _figures(run: Run, cells: list[Cell], seed: int) -> Figures:
    served = [request for cell in cells for request in _served(cell)]
    errors = [request.error for cell in cells for request in cell.requests]
    known = _strata(cells)
    tok_s = _tok_s(cells, known)
    samples: tuple[float, ...] = ()
    if known:
        samples = resampled(known, seed=seed)
        speeds = tuple(speed for one in known if (speed := ratio_of_sums([one])) is not None)
    else:
        speeds = tuple(cell.summary.tok_s for cell in cells if cell.summary and cell.summary.tok_s)
    histogram = _histogram(served)
    accept, by_position = acceptance(run, cells, served, histogram)
    ttfts = [request.ttft for request in served if request.ttft is not None]
    tpots = [value for request in served if (value := request.tpot) is not None]
    latencies = [request.latency for request in served if request.latency is not None]
    tpot = _latency(tpots, cells, "tpot_ms")
    wall = wall_step(served, accept, tpot["mean"], drafts=drafts(run, cells))
    step = weighted(cells, lambda cell: cell.steps.step)
    sources = {cell.steps.source for cell in cells if cell.steps.source}
    power = weighted(cells, lambda cell: cell.power_watts)
    bigrams = [one.distinct_bigrams for one in served if one.distinct_bigrams is not None]
    summed = [cell.summary for cell in cells if cell.summary and not cell.requests]
    completed = sum(summary.completed for summary in summed)
    return Figures(
        concurrency=cells[0].concurrency,
        repeats=len({cell.repeat for cell in cells}),
        requests=len(errors) + completed,
        served=errors.count("") + completed,
        failed=len(errors) - errors.count("") - errors.count(STOPPED),
        prompt_tokens=sum([request.prompt_tokens or 0 for request in served]),
        output_tokens=round(math.fsum([tokens for one in known for tokens in one.over]))
        + sum(summary.output_tokens for summary in summed),
        seconds=math.fsum(cell.seconds for cell in cells),
        tok_s=tok_s,
        tok_s_interval=hull(interval(samples), interval_of_repeats(speeds)),
        speeds=speeds,
        samples=samples,
        tok_s_each=_each(served),
        accept_length=accept,
        accepted=histogram,
        acceptance=by_position,
        verify_steps=sum([request.verify_steps or 0 for request in served]) or None,
        source=" and ".join(sorted(sources)) or (None if wall is None else "requests"),
        step_ms=wall if step is None else step,
        wall_step_ms=wall,
        verify_ms=weighted(cells, lambda cell: cell.steps.verify),
        draft_ms=weighted(cells, lambda cell: cell.steps.draft),
        draft_extend_ms=weighted(cells, lambda cell: cell.steps.draft_extend),
        ttft_ms=_latency(ttfts, cells, "ttft_ms"),
        tpot_ms=tpot,
        itl_ms=_itl(cells),
        latency_ms=_latency(latencies, cells, "latency_ms"),
        distinct_bigrams=math.fsum(bigrams) / len(bigrams) if bigrams else None,
        server_tokens=_server_tokens(cells),
        power_watts=power,
        joules_per_token=power / tok_s if power is not None and tok_s else None,
        stopped=tuple(dict.fromkeys(cell.why or cell.stopped for cell in cells if cell.stopped)),
        spoiled=tuple(dict.fromkeys(text for cell in cells if (text := _spoiled(cell)))),
        warnings=tuple(dict.fromkeys(text for cell in cells for text in cell.warnings)),
    )


def _by_concurrency(run: Run) -> list[list[Cell]]:
    """The lowest first."""
    found: dict[int, list[Cell]] = {}
    for cell in run.cells:
        found.setdefault(cell.concurrency, []).append(cell)
    return [cells for _, cells in sorted(found.items())]


def _histogram(served: Sequence[Sent]) -> tuple[int, ...]:
    return pooled([request.accepted for request in served if request.accepted])


def _spoiled(cell: Cell) -> str:
    if cell.stopped in _SPOILED:
        return f"ended early: {cell.why or cell.stopped}"
    return f"is in doubt: {cell.why or cell.doubt}" if cell.doubt in _SPOILED else ""


def _server_tokens(cells: Sequence[Cell]) -> int | None:
    counted = [cell.server_tokens for cell in cells if cell.server_tokens is not None]
    return sum(counted) if len(counted) == len(cells) else None


# --- speed ----------------------------------------------------------------------------------------


def _served(cell: Cell) -> list[Sent]:
    return [
        request
        for request in cell.requests
        if not request.error and request.latency and request.output_tokens > 0
    ]


def _strata(cells: Sequence[Cell]) -> list[Stratum]:
    return [stratum for cell in cells if (stratum := _speed(cell)) is not None]


def _tok_s(cells: Sequence[Cell], known: Sequence[Stratum]) -> float | None:
    """Of the requests; of cells that kept none, what another program wrote."""
    if known:
        return ratio_of_sums(known)
    return weighted(cells, lambda cell: cell.summary.tok_s if cell.summary else None)


def _each(requests: Sequence[Sent]) -> float | None:
    tokens = [request.output_tokens for request in requests]
    seconds = math.fsum([request.latency or 0.0 for request in requests])
    return sum(tokens) / seconds if seconds else None


def _speed(cell: Cell) -> Stratum | None:
    """Tokens, and each request's share of the cell's seconds.

    What a cell that ended early cut short was generated as well, and took its time.
    """
    tokens: list[float] = []
    lasted: list[float] = []
    for sent in cell.requests:
        if not sent.output_tokens:
            continue
        if not sent.error:
            seconds = sent.latency or 0.0
        else:
            seconds = cell.seconds - sent.began if sent.error == STOPPED else 0.0
        if seconds > 0.0:
            tokens.append(float(sent.output_tokens))
            lasted.append(seconds)
    total = math.fsum(lasted)
    if total <= 0.0 or cell.seconds <= 0.0:
        return None
    share = cell.seconds / total
    return Stratum(over=tuple(tokens), under=tuple([seconds * share for seconds in lasted]))


# --- times ----------------------------------------------------------------------------------------


def _latency(
    seconds: Sequence[float], cells: Sequence[Cell], summary: str
) -> dict[str, float | None]:
    found: Quantiles | None = distribution([1000.0 * value for value in seconds])
    if found is not None:
        return asdict(found)

    def written(figure: str) -> Callable[[Cell], float | None]:
        return lambda cell: getattr(cell.summary, summary).get(figure) if cell.summary else None

    return {figure: weighted(cells, written(figure)) for figure in LATENCY_FIGURES}


def _itl(cells: Sequence[Cell]) -> dict[str, float | None]:
    def read(figure: str) -> Callable[[Cell], float | None]:
        return lambda cell: getattr(cell.itl_ms, figure) if cell.itl_ms else None

    def tokens(cell: Cell) -> float:
        return float(sum(request.output_tokens for request in cell.requests)) or cell.seconds

    return {figure: weighted(cells, read(figure), tokens) for figure in LATENCY_FIGURES}
