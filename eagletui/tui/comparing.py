"""A comparison in lines: the verdict at a glance first, then what explains it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from textual.content import Content

from eagletui.model.compare import Comparison, Judgement, Side, Verdict
from eagletui.model.figures import Figures
from eagletui.model.gone import gone_words
from eagletui.model.keeping import OVERLAID, KeptSession
from eagletui.model.series import Window
from eagletui.model.statistics import Interval
from eagletui.model.text import visible
from eagletui.store.reports.sheets import change, difference_sheet, names, unlike
from eagletui.tui import words
from eagletui.tui.draw import NOTHING, Piece, bar, fit, line, wrap
from eagletui.tui.keeping import session_name

# Verdict → glyph, style: told apart without colour.
JUDGED: dict[Judgement, tuple[str, str]] = {
    "faster": ("▲", "bold $success"),
    "slower": ("▼", "bold $error"),
    "tie": ("=", "bold"),
    "not comparable": ("✖", "bold $warning"),
}


class _Part(NamedTuple):
    name: str
    glyph: str
    ascii: str
    style: str


# What a step is made of, in the order it is drawn.
PARTS = (
    _Part("verify", "█", "V", "$accent"),
    _Part("draft", "▓", "D", "$primary"),
    _Part("extend", "▒", "E", "$success"),
    _Part("other", "░", ".", "$quiet"),
)
_LONGEST_NAME = 24
_LONGEST_WATCHED = 40
_SPEED = 8
_INTERVAL = 16
_ACCEPT = 10
_VERDICT = 33
"""`  ▼ slower 0.93× (0.91 to 0.96)`"""


def lines(comparison: Comparison, width: int, *, ascii_only: bool = False) -> list[Content]:
    """The whole page."""
    called = tuple(map(visible, names(comparison)))
    room = min(_LONGEST_NAME, max(map(len, called)) + 1, max(8, width // 4))
    missing = wrap(visible(gone_words(comparison.gone)), width) if comparison.gone else []
    found = [line((part, "bold $warning")) for part in missing]
    for concurrency in comparison.concurrencies:
        found += _speeds(comparison, concurrency, called, room, width, ascii_only)
    for title, part in (
        ("what differs", _differences(comparison, called, width)),
        ("a step, ms", _steps(comparison, called, room, width, ascii_only)),
        ("accepted at draft position 1, 2, … (of those that were reached)",
         _positions(comparison, called, room, width)),
        ("TTFT and TPOT, p50 / p99 ms", _latencies(comparison, called, room, width)),
    ):  # fmt: skip
        section = list(part)
        if section:
            found += [Content(""), line((fit(title, width).rstrip(), "bold $accent")), *section]
    return found


def _cells(
    comparison: Comparison, concurrency: int, called: Sequence[str]
) -> Iterator[tuple[Side, str, Figures]]:
    for side, name in zip(comparison.sides, called, strict=True):
        figures = side.at(concurrency)
        if figures is not None:
            yield side, name, figures


def _named(name: str, room: int) -> Piece:
    """A run's name with a gap behind it, however long it is."""
    return fit(fit(name, room - 1), room), "bold"


# --- at a glance ----------------------------------------------------------------------------------


def _speeds(
    comparison: Comparison,
    concurrency: int,
    called: Sequence[str],
    room: int,
    width: int,
    ascii_only: bool,
) -> Iterator[Content]:
    """A bar a run with its tok/s, interval and verdict, and why."""
    cells = list(_cells(comparison, concurrency, called))
    shared = _shared(comparison, concurrency)
    top = max((_top(figures) for _, _, figures in cells), default=0.0)
    yield line((f"concurrency {concurrency}", "bold $accent"), ("  tok/s, accept length", "$quiet"))
    flags = [unlike(one) for one in comparison.verdicts if one.concurrency == concurrency]
    flagged = max((len(flag) + 3 for flag in flags if flag), default=0)
    wide = width >= 92 + flagged
    rest = _SPEED + _ACCEPT + (_INTERVAL if wide else 0) + _VERDICT + flagged
    size = max(6, min(40, width - room - rest))
    for side, name, figures in cells:
        verdict = comparison.verdict(side.run.id, concurrency)
        share = figures.tok_s / top if figures.tok_s and top else 0.0
        pieces: list[Piece] = [
            _named(name, room),
            (_bar(share, size, ascii_only), "$accent"),
            (fit(_number(figures.tok_s, 1), _SPEED, "right"), "bold"),
        ]
        if wide:
            pieces.append((fit(f" {_interval(figures.tok_s_interval)}", _INTERVAL), "$quiet"))
        pieces.append((fit(f"  acc {_number(figures.accept_length, 2)}", _ACCEPT), ""))
        yield line(*pieces, *_judged(verdict)).truncate(max(1, width), ellipsis=True)
        yield from _pays(comparison, side, concurrency, width)
        if verdict is not None and not shared:
            yield from _why(verdict, width)
    if shared is not None:
        yield from _why(shared, width)


def _top(figures: Figures) -> float:
    return max(figures.tok_s or 0.0, figures.tok_s_interval.high if figures.tok_s_interval else 0.0)


def _bar(share: float, size: int, ascii_only: bool) -> str:
    filled = (
        bar(min(1.0, share), size, ascii_only)
        if share < 1.0
        else ("#" if ascii_only else "█") * size
    )
    return filled.replace("░", " ").replace(".", " ")


def _judged(verdict: Verdict | None) -> list[Piece]:
    if verdict is None:
        return [("  baseline", "$quiet")]
    glyph, style = JUDGED[verdict.verdict]
    ratio = f" {change(verdict)}" if verdict.ratio is not None else ""
    judged: list[Piece] = [(f"  {glyph} {verdict.verdict}", style)]
    if flag := unlike(verdict):  # before the ratio, of which a narrow screen cuts the end
        judged.append((f" ≠ {flag}", "bold $warning"))
    return [*judged, ratio]


def _pays(comparison: Comparison, side: Side, concurrency: int, width: int) -> Iterator[Content]:
    """Whether drafting pays, and from where on it would."""
    for even in comparison.break_even:
        if even.run == side.run.id and even.concurrency == concurrency:
            pays = "" if even.pays else ": it does not pay"
            glyph, style = ("✔", "$success") if even.pays else ("✖", "bold $warning")
            for index, part in enumerate(wrap(f"{even.text}{pays}", width - 6)):
                yield line("      " if index else f"    {glyph} ", (part, style))


def _shared(comparison: Comparison, concurrency: int) -> Verdict | None:
    """One of several verdicts that all have the same reason: it is said once."""
    found = [one for one in comparison.verdicts if one.concurrency == concurrency]
    same = len(found) > 1 and len({(one.why, one.verdict == "tie") for one in found}) == 1
    return found[0] if same else None


def _why(verdict: Verdict, width: int) -> Iterator[Content]:
    """What must be known of it."""
    doubtful = verdict.verdict == "not comparable" or verdict.unlike
    style = "bold $warning" if doubtful else "$quiet"
    for part in wrap(visible(verdict.why), width - 6) if verdict.why else ():
        yield line("      ", (part, style))


# --- what explains it -----------------------------------------------------------------------------


def _differences(comparison: Comparison, called: Sequence[str], width: int) -> Iterator[Content]:
    """Only what is not the same; `*` marks what can keep runs from being compared."""
    sheet = difference_sheet(comparison)
    if not sheet.rows:
        if len(comparison.sides) > 1:
            yield line(("nothing that is known", "$quiet"))
        return
    first = min(28, max(len(row[0]) for row in sheet.rows) + 2)
    each = max(8, (width - first) // len(called))
    yield line((fit("", first) + "".join(fit(fit(n, each - 1), each) for n in called), "$quiet"))
    for label, *texts in sheet.rows:
        pieces: list[Piece] = [(fit(visible(label), first), "")]
        pieces += [(fit(fit(visible(text), each - 1), each), "bold") for text in texts]
        yield line(*pieces).truncate(max(1, width), ellipsis=True)


def _steps(
    comparison: Comparison, called: Sequence[str], room: int, width: int, ascii_only: bool
) -> Iterator[Content]:
    """A step's parts on top of one another, and their figures."""
    every = [
        (concurrency, name, figures)
        for concurrency in comparison.concurrencies
        for _, name, figures in _cells(comparison, concurrency, called)
        if figures.step_ms
    ]
    top = max((figures.step_ms or 0.0 for _, _, figures in every), default=0.0)
    parted = any(sum(time > 0.0 for time in part_times(figures)) > 1 for _, _, figures in every)
    size = max(8, min(50, width - room - 8 - (36 if parted else 8)))
    if parted:
        legend = [f"{part.ascii if ascii_only else part.glyph} {part.name}" for part in PARTS]
        yield line((fit("", 6 + room), ""), ("  ".join(legend), "$quiet"))
    for concurrency, name, figures in every:
        times = part_times(figures)
        pieces: list[Piece] = [
            (fit(f"c={concurrency}", 6), "$quiet"),
            _named(name, room),
        ]
        used = 0
        for part, time in zip(PARTS, times, strict=True):
            length = min(size - used, round(time / top * size))
            used += length
            pieces.append(((part.ascii if ascii_only else part.glyph) * length, part.style))
        pieces.append(" " * (size - used))
        pieces.append((fit(_number(figures.step_ms, 2), 8, "right"), "bold"))
        if sum(time > 0.0 for time in times) > 1:
            pieces.append((f"  = {' + '.join(f'{time:.2f}' for time in times)}", "$quiet"))
        yield line(*pieces).truncate(max(1, width), ellipsis=True)


def part_times(figures: Figures) -> tuple[float, ...]:
    """Milliseconds in the order of `PARTS`; a step of which no part is known is `other`."""
    parts = (figures.verify_ms, figures.draft_ms, figures.draft_extend_ms)
    rest = figures.other_ms if any(parts) else figures.step_ms
    return tuple(value or 0.0 for value in (*parts, rest))


def _positions(
    comparison: Comparison, called: Sequence[str], room: int, width: int
) -> Iterator[Content]:
    for concurrency in comparison.concurrencies:
        for _, name, figures in _cells(comparison, concurrency, called):
            if not figures.acceptance:
                continue
            shares = "  ".join(_number(share, 2) for share in figures.acceptance)
            yield line(
                (fit(f"c={concurrency}", 6), "$quiet"),
                _named(name, room),
                shares,
            ).truncate(max(1, width), ellipsis=True)


def _latencies(
    comparison: Comparison, called: Sequence[str], room: int, width: int
) -> Iterator[Content]:
    for concurrency in comparison.concurrencies:
        for _, name, figures in _cells(comparison, concurrency, called):
            first, each = (_pair(times) for times in (figures.ttft_ms, figures.tpot_ms))
            if not first and not each:
                continue
            yield line(
                (fit(f"c={concurrency}", 6), "$quiet"),
                _named(name, room),
                ("TTFT ", "$quiet"),
                fit(first or NOTHING, 18),
                ("TPOT ", "$quiet"),
                fit(each or NOTHING, 16),
            ).truncate(max(1, width), ellipsis=True)


def _pair(times: dict[str, float | None]) -> str:
    if times["p50"] is None and times["p99"] is None:
        return ""
    return f"{_number(times['p50'], 1)} / {_number(times['p99'], 1)}"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


def _interval(found: Interval | None) -> str:
    if found is None:
        return ""
    digits = 1 if found.high < 1000.0 else 0
    return f"{found.low:,.{digits}f} – {found.high:,.{digits}f}"


# --- what was watched -----------------------------------------------------------------------------

NO_VERDICT = (
    "No verdict is given on what was watched: who asked what, and how many at once, is not known,"
    " so that its speed is that of its users' load as much as of its setting."
    " What is kept under a name or reported are the runs alone."
)


def session_lines(sessions: Sequence[KeptSession], width: int) -> Iterator[Content]:
    """Servers that were watched, and why nothing is claimed of them."""
    called = [session_name(session) for session in sessions]
    room = min(_LONGEST_WATCHED, max(map(len, called), default=0) + 1, max(8, width // 2))
    yield line(
        ("watched, means while they worked", "bold $accent"), ("  tok/s, accept length", "$quiet")
    )
    for session, name in zip(sessions, called, strict=True):
        lasted = words.seconds(max(0.0, session.ended - session.began))
        yield line(
            _named(name, room),
            (fit(_number(session.tok_s, 1), _SPEED, "right"), "bold"),
            (fit(f"  acc {_number(session.accept_length, 2)}", _ACCEPT), ""),
            f"  for {lasted}  SGLang {session.version or '?'}  {session.host}",
        ).truncate(max(1, width), ellipsis=True)
    for part in wrap(NO_VERDICT, width - 6):
        yield line("      ", (part, "$quiet"))


# --- the curve ------------------------------------------------------------------------------------


class CurvePoint(NamedTuple):
    """tok/s at one k, with its interval."""

    k: int
    tok_s: float
    low: float
    high: float


def curve(comparison: Comparison, concurrency: int) -> tuple[CurvePoint, ...]:
    """tok/s by draft steps, the fewest first; a run that does not draft has none. The best of
    runs with the same k."""
    found: dict[int, CurvePoint] = {}
    for side in comparison.sides:
        figures = side.at(concurrency)
        speculative = side.run.surroundings.speculative
        k = (speculative.num_steps or None) if speculative.on else 0
        if figures is None or figures.tok_s is None or k is None or figures.spoiled:
            continue
        interval = figures.tok_s_interval or Interval(figures.tok_s, figures.tok_s)
        point = CurvePoint(k, figures.tok_s, interval.low, interval.high)
        if k not in found or found[k].tok_s < point.tok_s:
            found[k] = point
    return tuple(found[k] for k in sorted(found))


class RunCurve(NamedTuple):
    """A run's series: seconds since its first point, values, and whether a point joins the last."""

    name: str
    seconds: tuple[float, ...]
    values: tuple[float, ...]
    joined: tuple[bool, ...]


def named_runs(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Id and name of each run."""
    ids = (side.run.id for side in comparison.sides)
    return tuple(zip(ids, names(comparison), strict=True))


def overlaid(
    named: Iterable[tuple[str, str]], series: Mapping[str, Mapping[str, Window]], name: str
) -> tuple[RunCurve, ...]:
    """A series of everything that has it, each from its own beginning on.

    Args:
        named: id and name of each run and session.
    """
    found = []
    for owner, called in named:
        kept = series.get(owner, {})
        window = kept.get(name)
        if window is None or not len(window.times):
            continue
        # One beginning for all of its charts: an idle server has no accept length at first.
        began = min(
            one.times[0] for which in OVERLAID if (one := kept.get(which)) and len(one.times)
        )
        points: list[tuple[float, float, bool]] = []
        whole = False
        for time, value, joined in zip(*window, strict=True):
            finite = math.isfinite(value)
            if finite:
                points.append((time - began, value, bool(joined) and whole))
            whole = finite
        if points:
            seconds, values, joins = zip(*points, strict=True)
            found.append(RunCurve(visible(called), seconds, values, joins))
    return tuple(found)


def curved(comparison: Comparison) -> int | None:
    """The concurrency with most k in it, the lowest of those; None where k does not vary."""
    counts = {c: len(curve(comparison, c)) for c in comparison.concurrencies}
    best = max(counts, key=lambda c: (counts[c], -c), default=None)
    return best if best is not None and counts[best] > 1 else None
