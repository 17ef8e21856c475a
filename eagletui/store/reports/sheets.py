"""The tables of a comparison, before they become text: one sheet a concurrency, runs as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from eagletui.model.compare import Comparison, Side, Verdict
from eagletui.model.figures import Figures
from eagletui.model.gone import gone_words

UNKNOWN = "–"


class Sheet(NamedTuple):
    """One table: `rows` are a label and a text for each run."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class _Cell(NamedTuple):
    figures: Figures
    verdict: Verdict | None
    """None of the baseline."""


def _number(read: Callable[[Figures], float | None], digits: int) -> Callable[[_Cell], str]:
    def text(cell: _Cell) -> str:
        value = read(cell.figures)
        return UNKNOWN if value is None else f"{value:.{digits}f}"

    return text


def _latency(read: Callable[[Figures], dict[str, float | None]]) -> Callable[[_Cell], str]:
    def text(cell: _Cell) -> str:
        p50, p99 = (read(cell.figures)[figure] for figure in ("p50", "p99"))
        if p50 is None and p99 is None:
            return UNKNOWN
        return " / ".join(UNKNOWN if value is None else f"{value:.1f}" for value in (p50, p99))

    return text


def _interval(cell: _Cell) -> str:
    found = cell.figures.tok_s_interval
    return UNKNOWN if found is None else f"{found.low:.1f} to {found.high:.1f}"


def change(verdict: Verdict | None) -> str:
    """`1.60× (1.55 to 1.65)`."""
    if verdict is None:
        return "baseline"
    if verdict.ratio is None:
        return UNKNOWN
    bounds = [bound for bound in (verdict.low, verdict.high) if bound is not None]
    # "1.00× (0.99 to 1.00), slower" would contradict itself.
    hidden = verdict.verdict != "tie" and any(round(bound, 2) == 1.0 for bound in bounds)
    digits = 3 if hidden else 2
    text = f"{verdict.ratio:.{digits}f}×"
    if len(bounds) == 2:
        text += f" ({bounds[0]:.{digits}f} to {bounds[1]:.{digits}f})"
    return text


ROOM = 40 - len("not comparable: another ")
"""Characters for what is another than the baseline's, beside the verdict; `why` has it all."""


def unlike(verdict: Verdict) -> str:
    """`release, GPU`: what is another than the baseline's; "" where all is alike."""
    names = list(verdict.unlike)
    while len(names) > 1 and len(", ".join(names)) > ROOM:
        names = [*names[: -2 if names[-1] == "…" else -1], "…"]
    return ", ".join(names)


def _verdict(cell: _Cell) -> str:
    if cell.verdict is None:
        return UNKNOWN
    flag = unlike(cell.verdict)
    return f"{cell.verdict.verdict}: another {flag}" if flag else cell.verdict.verdict


def _requests(cell: _Cell) -> str:
    figures = cell.figures
    text = f"{figures.requests} in {figures.repeats}" if figures.repeats > 1 else figures.requests
    return f"{text}, {figures.failed} failed" if figures.failed else str(text)


def _position(position: int) -> Callable[[_Cell], str]:
    def text(cell: _Cell) -> str:
        shares = cell.figures.acceptance
        share = shares[position] if position < len(shares) else None
        return UNKNOWN if share is None else f"{share:.3f}"

    return text


# What a sheet shows, in order. A row that nobody knows anything of is left out.
_BEFORE: tuple[tuple[str, Callable[[_Cell], str]], ...] = (
    ("tok/s", _number(lambda cell: cell.tok_s, 1)),
    ("95 % interval", _interval),
    ("against the baseline", lambda cell: change(cell.verdict)),
    ("verdict", _verdict),
    ("tok/s a request", _number(lambda cell: cell.tok_s_each, 1)),
    ("accept length", _number(lambda cell: cell.accept_length, 2)),
)
_AFTER: tuple[tuple[str, Callable[[_Cell], str]], ...] = (
    ("step ms", _number(lambda cell: cell.step_ms, 2)),
    ("verify ms", _number(lambda cell: cell.verify_ms, 2)),
    ("draft ms", _number(lambda cell: cell.draft_ms, 2)),
    ("draft extend ms", _number(lambda cell: cell.draft_extend_ms, 2)),
    ("other ms", _number(lambda cell: cell.other_ms, 2)),
    ("TTFT p50 / p99 ms", _latency(lambda cell: cell.ttft_ms)),
    ("TPOT p50 / p99 ms", _latency(lambda cell: cell.tpot_ms)),
    ("J per token", _number(lambda cell: cell.joules_per_token, 2)),
    ("requests", _requests),
)


def name_of(side: Side) -> str:
    """What a run is called in a table."""
    return side.run.name or side.run.id


def names(comparison: Comparison) -> tuple[str, ...]:
    """A different one for each run: its id is added where two are called the same."""
    plain = [name_of(side) for side in comparison.sides]
    return tuple(
        f"{name} {side.run.id[:4]}" if plain.count(name) > 1 else name
        for name, side in zip(plain, comparison.sides, strict=True)
    )


def figure_sheets(comparison: Comparison) -> tuple[Sheet, ...]:
    """What was measured, a sheet for each concurrency."""
    return tuple(_figure_sheet(comparison, concurrency) for concurrency in comparison.concurrencies)


def _figure_sheet(comparison: Comparison, concurrency: int) -> Sheet:
    cells = [
        None if figures is None else _Cell(figures, comparison.verdict(side.run.id, concurrency))
        for side in comparison.sides
        for figures in (side.at(concurrency),)
    ]
    deepest = max((len(cell.figures.acceptance) for cell in cells if cell is not None), default=0)
    positions = [(f"accepted at {i + 1}", _position(i)) for i in range(deepest)]
    return Sheet(
        title=f"Concurrency {concurrency}",
        header=("", *names(comparison)),
        rows=_known(
            (label, *(UNKNOWN if cell is None else text(cell) for cell in cells))
            for label, text in (*_BEFORE, *positions, *_AFTER)
        ),
    )


def run_sheet(comparison: Comparison) -> Sheet:
    """What each run is."""
    rows = [
        ("id", *(side.run.id for side in comparison.sides)),
        (
            "speculative",
            *(side.run.surroundings.speculative.short for side in comparison.sides),
        ),
        ("GPU memory", *(_memory(side) for side in comparison.sides)),
        ("load time", *(_load(side) for side in comparison.sides)),
    ]
    return Sheet(title="Runs", header=("", *names(comparison)), rows=_known(rows))


def difference_sheet(comparison: Comparison) -> Sheet:
    """What differs, and nothing else; `*` marks what keeps runs from being compared."""
    return Sheet(
        title="What differs",
        header=("", *names(comparison)),
        rows=tuple(
            (
                f"{one.what} *" if one.unlike else one.what,
                *(
                    UNKNOWN if (value := one.values[side.run.id]) is None else str(value)
                    for side in comparison.sides
                ),
            )
            for one in comparison.differences
        ),
    )


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """What is missing, break-even, and whatever must be known to judge a verdict, a line each."""
    called = {
        side.run.id: name for side, name in zip(comparison.sides, names(comparison), strict=True)
    }
    lines = [gone_words(comparison.gone)] if comparison.gone else []
    lines += [
        f"{called[even.run]} at {even.concurrency}: {even.text}"
        f" (step {even.step_ms:.2f} ms against {even.baseline_step_ms:.2f} ms)"
        f"{'' if even.pays else ': it does not pay'}."
        for even in comparison.break_even
    ]
    lines += [
        f"{called[one.run]} at {one.concurrency}: {one.verdict}: {one.why}."
        for one in comparison.verdicts
        if one.why
    ]
    return tuple(lines)


def _known(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(row for row in rows if any(text != UNKNOWN for text in row[1:]))


def _memory(side: Side) -> str:
    used = side.run.surroundings.memory_bytes
    return UNKNOWN if used is None else f"{used / 2**30:.1f} GiB"


def _load(side: Side) -> str:
    seconds = side.run.surroundings.load_seconds
    return UNKNOWN if seconds is None else f"{seconds:.0f} s"


def sheets(comparison: Comparison) -> Sequence[Sheet]:
    """Every sheet of a report, in order."""
    found = [run_sheet(comparison), difference_sheet(comparison), *figure_sheets(comparison)]
    return [sheet for sheet in found if sheet.rows]
