"""SGLang's `/metrics` page as one `Reading`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from eagletui.engine.exposition import Labels, Layout, PageReader, TooManySeries
from eagletui.engine.metrics_table import (
    ENGINES,
    HISTOGRAMS,
    METRICS,
    SGLANG_PREFIXES,
    How,
    Metric,
)
from eagletui.engine.nolog import looks_binary
from eagletui.model.errors import EagletuiError
from eagletui.model.readings import Histogram, RankCounters, Reading
from eagletui.model.safe import excerpt
from eagletui.model.text import visible

MAX_BODY = 8 << 20
"""Bytes of a page, for parsing holds up whoever waits: real pages have below 2 MB."""

MAX_SERIES = 20_000
"""Wanted samples of a page."""

MAX_LINES = 100_000
"""Lines of a page, comments included."""

NEW_AT_ONCE = 64 << 10
KNOWN_AT_ONCE = 1 << 20
"""Bytes of a page that are read within some 20 ms: of one not seen before, and of one whose layout
is known (measured: 0.3 µs and 0.015 µs a byte)."""

# Of what is shown, this share may be no UTF-8: the end of a reply that was cut, a name or two.
_UNREADABLE = 0.05
_NUMBER = re.compile(rb"[ \t][-+]?(?:[0-9.]|NaN|Inf)")
_RANK_FIELDS = frozenset(RankCounters.__struct_fields__)
# No server counts so far: such a value, as infinity and NaN, is none.
_UNREAL = 1e18
_WHOLE = frozenset({"num_steps", "num_draft_tokens"})
# A gauge of these that says 0 says nothing: no step was taken yet, or there is no speculation.
_ZERO_IS_NOTHING = frozenset({"accept_length", "num_draft_tokens"})


class NotMetrics(EagletuiError):
    """What came is not a page of metrics."""


class TooLarge(NotMetrics):
    """The page is larger than any server's."""


class _Source(NamedTuple):
    """Where one number comes from: places of the values, by DP rank."""

    field: str
    how: How
    ranks: tuple[tuple[int, ...], ...]


class _Buckets(NamedTuple):
    field: str
    bounds: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    sums: tuple[int, ...]


class _Plan(NamedTuple):
    """What is computed from one layout, and is good as long as the layout is."""

    layout: Layout
    engine: str
    constants: dict[str, Any]
    sources: tuple[_Source, ...]
    histograms: tuple[_Buckets, ...]


def wanted_names() -> frozenset[str]:
    """Every sample name that the table reads."""
    names = {metric.name for metric in METRICS}
    for histogram in HISTOGRAMS.values():
        names |= {f"{histogram}_bucket", f"{histogram}_sum"}
    return frozenset(prefix + name for prefix in SGLANG_PREFIXES for name in names)


class MetricsReader:
    """Reads one server's page again and again; labels are parsed once and kept."""

    def __init__(self) -> None:
        self._pages = PageReader(wanted_names(), most=MAX_SERIES)
        self._plan: _Plan | None = None

    def takes_long(self, body: bytes) -> bool:
        """Whether reading this page would hold up an event loop: then call `read` in a thread."""
        if len(body) <= NEW_AT_ONCE:
            return False
        return len(body) > KNOWN_AT_ONCE or not self._pages.looks_known(body)

    def read(self, body: bytes, *, at: float) -> Reading:
        """The page as numbers.

        A page of another engine gives a `Reading` that says only `engine` and `samples`.
        A page that ends in the middle of a line is `truncated`.

        Raises:
            NotMetrics: it is empty, HTML, JSON or something else.
            TooLarge: it has more than `MAX_BODY` bytes, `MAX_LINES` lines or `MAX_SERIES` samples
                of those read here.
        """
        if len(body) > MAX_BODY:
            raise too_large(len(body))
        if body.count(b"\n") > MAX_LINES:
            raise _too_many(f"lines than the {MAX_LINES:,}")
        try:
            page = self._pages.read(body)
        except TooManySeries:
            raise _too_many(f"series than the {MAX_SERIES:,}") from None
        if not page.layout.samples or page.layout.malformed > page.layout.samples:
            raise not_metrics(body)
        plan = self._plan
        if plan is None or plan.layout is not page.layout:
            plan = _plan(page.layout)
            if not plan.engine and not _NUMBER.search(body):
                raise not_metrics(body)
            self._plan = plan
        return _evaluate(plan, page.values, at, page.truncated)


def too_large(size: int) -> TooLarge:
    """The error for a page of this many bytes."""
    return TooLarge(
        f"The metrics page has at least {size:,} bytes, more than the {MAX_BODY:,} read here.",
        meaning="A server's page has below 2 MB; this is something else, or labels ran wild.",
        advice="Check the address, and `--tokenizer-metrics-allowed-custom-labels`.",
    )


def _too_many(what: str) -> TooLarge:
    return TooLarge(
        f"The metrics page has more {what} read here.",
        meaning="No server has so many of its own; labels ran wild.",
        advice="Check the address, and `--tokenizer-metrics-allowed-custom-labels`.",
    )


def not_metrics(body: bytes) -> NotMetrics:
    """The error for a body that is no page of metrics, saying what it looks like."""
    head = body[:512].lstrip()
    if not head:
        return NotMetrics(
            "The metrics page is empty.",
            meaning="The server answered but publishes nothing there.",
            advice="A node with --node-rank above 0 answers like this: ask node 0.",
        )
    if _is_no_text(head):
        return NotMetrics(
            "This is binary data, not a page of metrics.", advice="Check the address or the file."
        )
    if head[:1] == b"<":
        kind, advice = "HTML", "Check the address: it should end in /metrics on SGLang's own port."
    elif head[:1] in b"{[":
        kind = "JSON"
        advice = (
            "Check the address: it should end in /metrics; start the server with --enable-metrics."
        )
    else:
        kind, advice = "other text", "Check the address or the file."
    return NotMetrics(
        f"This is {kind}, not a page of metrics.",
        meaning=f"It begins: {excerpt(head, 120)}",
        advice=advice,
    )


def _is_no_text(head: bytes) -> bool:
    """Whether an excerpt would show nothing that a person can read."""
    unreadable = head.decode("utf-8", "replace").count("\ufffd")
    return looks_binary(head) or unreadable > _UNREADABLE * len(head)


# --- from a layout to a plan ------------------------------------------------------------------


def _plan(layout: Layout) -> _Plan:
    engine = next((name for prefix, name in ENGINES.items() if prefix in layout.prefixes), "")
    by_name: dict[str, list[tuple[int, Labels]]] = {}
    for index, series in enumerate(layout.series):
        by_name.setdefault(series.name[len("sglang:") :], []).append((index, series.labels))
    sources: dict[str, _Source] = {}
    for metric in METRICS:
        if metric.field not in sources:
            ranks = _places(metric, by_name.get(metric.name, ()))
            if ranks:
                sources[metric.field] = _Source(metric.field, metric.how, ranks)
    histograms = (
        _buckets(field, by_name.get(f"{name}_bucket", ()), by_name.get(f"{name}_sum", ()))
        for field, name in HISTOGRAMS.items()
    )
    first: Labels = next((series.labels for series in layout.series), {})
    constants = {
        "engine": engine,
        "model_name": visible(first.get("model_name", "")),
        "engine_type": visible(first.get("engine_type", "")),
        "dp_ranks": max((len(s.ranks) for s in sources.values() if s.how != "total"), default=1),
        "samples": layout.samples,
    }
    return _Plan(
        layout, engine, constants, tuple(sources.values()), tuple(h for h in histograms if h)
    )


def _places(metric: Metric, series: Iterable[tuple[int, Labels]]) -> tuple[tuple[int, ...], ...]:
    """Places of a metric's values, one tuple a DP rank (one in all for the tokenizer's)."""
    if metric.where is not None:
        label, pattern = metric.where
        value = re.compile(pattern)
        series = [(i, labels) for i, labels in series if value.fullmatch(labels.get(label, ""))]
    series = _without_doubles(_whole_queue(list(series)))
    if not series:
        return ()
    if metric.how == "total":
        return (tuple(index for index, _ in series),)
    ranks: dict[int, dict[tuple[int, int], list[int]]] = {}
    for index, labels in series:
        tensor = (_int(labels.get("pp_rank")), _int(labels.get("tp_rank")))
        ranks.setdefault(_int(labels.get("dp_rank")), {}).setdefault(tensor, []).append(index)
    chosen = (min(tensors.items())[1] for _, tensors in sorted(ranks.items()))
    if metric.how == "counted":
        return tuple(tuple(places) for places in chosen)
    return tuple((places[-1],) for places in chosen)


def _whole_queue(series: list[tuple[int, Labels]]) -> list[tuple[int, Labels]]:
    """With priority scheduling (0.5.11+) the series with an empty priority counts every request."""
    whole = [item for item in series if not item[1].get("priority")]
    return whole or series


def _without_doubles(series: list[tuple[int, Labels]]) -> list[tuple[int, Labels]]:
    """The last of equal series. `pid` is no identity: it is that of whoever wrote the gauge."""
    unique = {
        frozenset((name, value) for name, value in labels.items() if name != "pid"): (index, labels)
        for index, labels in series
    }
    return list(unique.values())


def _buckets(
    field: str, buckets: Iterable[tuple[int, Labels]], sums: Iterable[tuple[int, Labels]]
) -> _Buckets | None:
    places: dict[float, list[int]] = {}
    for index, labels in _without_doubles(list(buckets)):
        try:
            bound = float(labels.get("le", ""))
        except ValueError:
            continue
        if not math.isnan(bound):
            places.setdefault(bound, []).append(index)
    if not places:
        return None
    bounds = tuple(sorted(places))
    return _Buckets(
        field,
        bounds,
        tuple(tuple(places[bound]) for bound in bounds),
        tuple(index for index, _ in _without_doubles(list(sums))),
    )


def _int(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


# --- from a plan and values to a reading ------------------------------------------------------


def _evaluate(plan: _Plan, values: Sequence[float], at: float, truncated: bool) -> Reading:
    if plan.engine != "sglang":
        return Reading(at=at, engine=plan.engine, samples=plan.layout.samples, truncated=truncated)
    ranks = {source.field: _by_rank(source, values) for source in plan.sources}
    running = ranks.get("running", [])
    fields: dict[str, Any] = {
        source.field: _one(source.field, source.how, ranks[source.field], running)
        for source in plan.sources
    }
    for buckets in plan.histograms:
        fields[buckets.field] = _histogram(buckets, values)
    if fields.get("accept_length") is None:
        fields["accept_rate"] = None
    if fields.get("num_draft_tokens") is None:
        fields["num_steps"] = None
    return Reading(
        at=at, truncated=truncated, ranks=_rank_counters(ranks), **plan.constants, **fields
    )


def _by_rank(source: _Source, values: Sequence[float]) -> list[float | None]:
    return [_finite(sum(values[place] for place in places)) for places in source.ranks]


def _one(
    field: str, how: How, ranks: Sequence[float | None], running: Sequence[float | None]
) -> float | int | None:
    known = [(value, index) for index, value in enumerate(ranks) if value is not None]
    if field in _ZERO_IS_NOTHING:
        known = [(value, index) for value, index in known if value]
    if not known or (how in ("counted", "total") and len(known) < len(ranks)):
        return None
    numbers = [value for value, _ in known]
    if how == "most":
        most = max(numbers)
        return round(most) if field in _WHOLE else most
    if how != "mean":
        return _finite(sum(numbers))
    weights = [(running[index] if index < len(running) else None) or 0.0 for _, index in known]
    weight = sum(weights)
    if weight <= 0.0:
        return _finite(sum(numbers) / len(numbers))
    return _finite(sum(n * w for n, w in zip(numbers, weights, strict=True)) / weight)


def _rank_counters(ranks: dict[str, list[float | None]]) -> tuple[RankCounters, ...]:
    kept = {field: numbers for field, numbers in ranks.items() if field in _RANK_FIELDS}
    count = max((len(numbers) for numbers in kept.values()), default=0)
    if count < 2:
        return ()
    return tuple(
        RankCounters(**{f: n[rank] for f, n in kept.items() if len(n) == count})
        for rank in range(count)
    )


def _histogram(buckets: _Buckets, values: Sequence[float]) -> Histogram | None:
    counts = tuple(sum(values[place] for place in places) for places in buckets.counts)
    total = _finite(sum(values[place] for place in buckets.sums))
    if not all(map(math.isfinite, counts)):
        return None
    return Histogram(
        bounds=buckets.bounds,
        counts=counts,
        total=counts[-1],
        sum=total if total is not None else 0.0,
    )


def _finite(value: float) -> float | None:
    """A measurement, or None: nothing that is read here can be below zero."""
    return value if 0.0 <= value < _UNREAL else None
