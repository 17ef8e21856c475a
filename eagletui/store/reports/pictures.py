"""The pictures of the HTML report, as SVG text. Every text of a run is escaped here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from operator import itemgetter
from typing import NamedTuple

from eagletui.model.compare import Comparison
from eagletui.model.figures import Figures
from eagletui.model.moments import after_ticks
from eagletui.model.text import visible
from eagletui.store.runs.buckets import Buckets

WIDTH = 860
LABEL = 190
BAR, GAP = 16, 6
LINE_HEIGHT = 220
LONGEST_LABEL = 26

MOST_MOMENTS = 8
"""Beside the beginning, below a line over time."""

PARTS = (
    ("verify", "#0072b2"),
    ("draft", "#e69f00"),
    ("draft extend", "#009e73"),
    ("other", "#9a9a9a"),
    ("a step of unknown parts", "#5c6b7a"),
)


class _Axis(NamedTuple):
    """Numbers from 0 to `top` on pixels from `begin` to `end`."""

    begin: float
    end: float
    top: float

    def at(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * value / self.top

    def ticks(self) -> Iterator[float]:
        step = self.top / 4
        return (step * index for index in range(5))


def _axis(begin: float, end: float, highest: float) -> _Axis:
    """Up to a round number above the highest: 1, 2, 2.5 or 5 times a power of ten, times 4."""
    highest = highest if highest > 0.0 and math.isfinite(highest) else 1.0
    power = 10.0 ** math.floor(math.log10(highest / 4.0))
    step = next(
        (n * power for n in (1.0, 2.0, 2.5, 5.0, 10.0) if n * power * 4.0 >= highest), 10.0 * power
    )
    return _Axis(begin, end, 4.0 * step)


def _svg(height: float, parts: Sequence[str], what: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" role="img"'
        f' aria-label="{escape(what)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    kinds = f' class="{kind}"' if kind else ""
    shown = escape(visible(text))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kinds}>{shown}</text>'


def _label(text: str) -> str:
    text = visible(text)
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _legend(names: Sequence[tuple[str, str]], x: float, y: float) -> Iterator[str]:
    """Names with their colours, in one row as far as it goes."""
    for name, colour in names:
        yield f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="11" height="11" fill="{colour}"/>'
        yield _text(x + 16, y, _label(name))
        x += 40 + 7 * len(_label(name))
        if x > WIDTH - 120:
            return


def _grid(axis: _Axis, top: float, bottom: float) -> Iterator[str]:
    for tick in axis.ticks():
        x = axis.at(tick)
        yield (f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>')
        yield _text(x, bottom + 14, f"{tick:g}", anchor="middle", kind="dim")


# --- bars -----------------------------------------------------------------------------------------


class _Bar(NamedTuple):
    label: str
    group: int
    figures: Figures
    place: int
    """Of the run among the others, for its colour."""


def _bars(comparison: Comparison, called: Sequence[str]) -> list[_Bar]:
    return [
        _Bar(called[index], concurrency, figures, index)
        for concurrency in comparison.concurrencies
        for index, side in enumerate(comparison.sides)
        if (figures := side.at(concurrency)) is not None
    ]


def _rows(bars: Sequence[_Bar]) -> tuple[list[str], list[tuple[_Bar, float]], float]:
    """Headings of the concurrencies, where each bar begins, and where the last one ends."""
    heads: list[str] = []
    places: list[tuple[_Bar, float]] = []
    y = 4.0
    for index, bar in enumerate(bars):
        if not index or bars[index - 1].group != bar.group:
            y += 16.0
            heads.append(_text(0, y, f"concurrency {bar.group}", kind="dim"))
            y += GAP
        places.append((bar, y))
        y += BAR + GAP
    return heads, places, y


def speed_picture(comparison: Comparison, called: Sequence[str], colours: Sequence[str]) -> str:
    """tok/s as a bar for each run and concurrency, with its interval; "" without any."""
    bars = [bar for bar in _bars(comparison, called) if bar.figures.tok_s]
    if not bars:
        return ""
    parts, places, bottom = _rows(bars)
    highest = max(
        bar.figures.tok_s_interval.high if bar.figures.tok_s_interval else bar.figures.tok_s or 0.0
        for bar in bars
    )
    axis = _axis(LABEL, WIDTH - 70, highest)
    parts += _grid(axis, 0, bottom)
    for bar, y in places:
        speed, interval = bar.figures.tok_s or 0.0, bar.figures.tok_s_interval
        middle, end = y + BAR / 2, axis.at(speed)
        parts.append(_text(LABEL - 8, middle + 4, _label(bar.label), anchor="end"))
        parts.append(
            f'<rect x="{LABEL}" y="{y:.1f}" width="{end - LABEL:.1f}" height="{BAR}"'
            f' fill="{colours[bar.place % len(colours)]}"/>'
        )
        if interval is not None:
            low, high = axis.at(interval.low), axis.at(interval.high)
            end = max(end, high)
            parts.append(
                f'<path class="mark" fill="none" d="M{low:.1f} {middle:.1f}H{high:.1f}'
                f'M{low:.1f} {middle - 4:.1f}v8M{high:.1f} {middle - 4:.1f}v8"/>'
            )
        parts.append(_text(end + 6, middle + 4, f"{speed:.1f}"))
    return _svg(bottom + 22, parts, "tokens a second by run")


def step_picture(comparison: Comparison, called: Sequence[str]) -> str:
    """The parts of a step on top of each other; "" where no step is known."""
    bars = [bar for bar in _bars(comparison, called) if bar.figures.step_ms]
    if not bars:
        return ""
    heads, places, bottom = _rows(bars)
    parts = [f'<g transform="translate(0 18)">{"".join(heads)}']
    axis = _axis(LABEL, WIDTH - 70, max(sum(_times(bar.figures)) for bar in bars))
    parts += _grid(axis, 0, bottom)
    for bar, y in places:
        x = float(LABEL)
        parts.append(_text(LABEL - 8, y + BAR / 2 + 4, _label(bar.label), anchor="end"))
        for (_, colour), time in zip(PARTS, _times(bar.figures), strict=True):
            width = axis.at(time) - LABEL
            if width > 0.0:
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}"'
                    f' fill="{colour}"/>'
                )
                x += width
        parts.append(_text(x + 6, y + BAR / 2 + 4, f"{bar.figures.step_ms:.2f}"))
    parts.append("</g>")
    totals = [sum(times) for times in zip(*(_times(bar.figures) for bar in bars), strict=True)]
    used = [part for part, total in zip(PARTS, totals, strict=True) if total > 0.0]
    parts += _legend(used, LABEL, 12)
    return _svg(bottom + 40, parts, "milliseconds of a step by its parts")


def _times(figures: Figures) -> tuple[float, ...]:
    """In the order of `PARTS`."""
    known = (figures.verify_ms, figures.draft_ms, figures.draft_extend_ms)
    rest = (figures.other_ms, 0.0) if any(known) else (0.0, figures.step_ms)
    return tuple(value or 0.0 for value in (*known, *rest))


# --- curves ---------------------------------------------------------------------------------------


def steps_picture(comparison: Comparison, colours: Sequence[str]) -> str:
    """tok/s by k with intervals, a line for each concurrency; "" for fewer than three k."""
    curves = [
        (f"concurrency {concurrency}", points)
        for concurrency in comparison.concurrencies
        if len(points := _by_steps(comparison, concurrency)) > 2
    ]
    if not curves:
        return ""
    everything = [figures for _, points in curves for _, figures in points]
    down = _axis(LINE_HEIGHT, 10, max(_top(figures) for figures in everything))
    across = _Axis(60, WIDTH - 140, max(points[-1][0] for _, points in curves))
    parts = _level_lines(down)
    for k in sorted({k for _, points in curves for k, _ in points}):
        parts.append(_text(across.at(k), LINE_HEIGHT + 16, f"{k:g}", anchor="middle", kind="dim"))
    for index, (name, points) in enumerate(curves):
        colour = colours[index % len(colours)]
        line = " ".join(
            f"{across.at(k):.1f},{down.at(figures.tok_s or 0.0):.1f}" for k, figures in points
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for k, figures in points:
            interval = figures.tok_s_interval
            if interval is not None:
                parts.append(
                    f'<path stroke="{colour}" d="M{across.at(k):.1f} {down.at(interval.low):.1f}'
                    f'V{down.at(interval.high):.1f}"/>'
                )
            parts.append(
                f'<circle cx="{across.at(k):.1f}" cy="{down.at(figures.tok_s or 0.0):.1f}" r="3"'
                f' fill="{colour}"/>'
            )
        last_k, last = points[-1]
        parts.append(_text(across.at(last_k) + 10, down.at(last.tok_s or 0.0) + 4, name))
    return _svg(LINE_HEIGHT + 24, parts, "tokens a second by number of draft steps")


def _by_steps(comparison: Comparison, concurrency: int) -> list[tuple[float, Figures]]:
    """Figures by k, the first run of each."""
    points: dict[float, Figures] = {}
    for side in comparison.sides:
        found, settings = side.at(concurrency), side.run.surroundings.speculative
        steps = settings.num_steps if settings.on else 0
        if found is not None and found.tok_s and steps is not None:
            points.setdefault(float(steps), found)
    return sorted(points.items(), key=itemgetter(0))


def _top(figures: Figures) -> float:
    return figures.tok_s_interval.high if figures.tok_s_interval else figures.tok_s or 0.0


def _level_lines(down: _Axis) -> list[str]:
    parts = []
    for tick in down.ticks():
        y = down.at(tick)
        parts.append(f'<line class="line" x1="60" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(54, y + 4, f"{tick:g}", anchor="end", kind="dim"))
    return parts


def line_pictures(
    comparison: Comparison,
    series: Mapping[str, Mapping[str, Buckets]],
    called: Sequence[str],
    colours: Sequence[str],
) -> Iterator[tuple[str, str]]:
    """Each series of all runs over each other, aligned at their first moments."""
    for name in sorted({name for found in series.values() for name in found}):
        drawn = [
            (index, series[side.run.id][name])
            for index, side in enumerate(comparison.sides)
            if name in series.get(side.run.id, {})
        ]
        down = _axis(LINE_HEIGHT, 10, max(max(points.mean) for _, points in drawn))
        longest = max(points.times[-1] - points.times[0] for _, points in drawn)
        across = _Axis(60, WIDTH - 10, longest or 1.0)
        parts = _level_lines(down)
        for seconds, text in after_ticks(longest, MOST_MOMENTS):
            parts.append(
                _text(across.at(seconds), LINE_HEIGHT + 16, text, anchor="middle", kind="dim")
            )
        for index, points in drawn:
            colour = colours[index % len(colours)]
            parts.append(
                f'<path d="{_path(points, across, down)}" fill="none" stroke="{colour}"'
                f' stroke-width="1.5"><title>{escape(called[index])}</title></path>'
            )
        runs = [(called[index], colours[index % len(colours)]) for index, _ in drawn]
        parts += _legend(runs, 60, LINE_HEIGHT + 38)
        yield name, _svg(LINE_HEIGHT + 46, parts, f"{visible(name)} over time")


def _path(points: Buckets, across: _Axis, down: _Axis) -> str:
    """The means; a gap in the data is a gap in the line."""
    start, (left, right, longest), (bottom, top, highest) = points.times[0], across, down
    wide, high = (right - left) / longest, (top - bottom) / highest
    xs = [left + wide * (time - start) for time in points.times]
    ys = [bottom + high * max(0.0, mean) for mean in points.mean]
    letters = ["L" if joined else "M" for joined in points.joined]
    letters[0] = "M"
    return "".join(map("%s%.1f %.1f".__mod__, zip(letters, xs, ys, strict=True)))
