"""A comparison as lines of a terminal, as Markdown for an issue, and as CSV for a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eagletui.model.compare import Comparison
from eagletui.model.figures import LATENCY_FIGURES
from eagletui.model.text import visible
from eagletui.store.reports.sheets import Sheet, names, sentences, sheets

WIDTH = 118
"""Columns that a table takes of a terminal, as long as one run fits into them."""
LONGEST = 40
"""Characters of a cell."""

LEGEND = "* may keep a speed-up from being claimed: see the verdicts."

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~!&$])")


# --- a terminal -----------------------------------------------------------------------------------


def table_lines(comparison: Comparison) -> Iterator[str]:
    """The report as aligned text."""
    for sheet in sheets(comparison):
        yield ""
        yield sheet.title
        yield from _abreast(sheet)
    if any(one.unlike for one in comparison.differences):
        yield ""
        yield LEGEND
    for index, line in enumerate(sentences(comparison)):
        if not index:
            yield ""
        yield line


def _abreast(sheet: Sheet) -> Iterator[str]:
    """As many runs beside each other as there is room for; more go below."""
    every = [tuple(map(_short, row)) for row in (sheet.header, *sheet.rows)]
    columns = list(zip(*every, strict=True))
    widths = [max(len(visible(text)) for text in column) + 2 for column in columns]
    first = 1
    while first < len(columns):
        past, room = first + 1, WIDTH - widths[0] - widths[first]
        while past < len(columns) and widths[past] <= room:
            room -= widths[past]
            past += 1
        yield from aligned([(row[0], *row[first:past]) for row in every], right=True)
        first = past
        if first < len(columns):
            yield ""


def _short(text: str) -> str:
    """Both ends of what is too long for a column; the other formats have the whole."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}…{text[-(LONGEST // 2 - 1) :]}"


def aligned(rows: Sequence[Sequence[str]], *, right: bool = False) -> Iterator[str]:
    """Columns of equal width, indented; all but the first to the right where it is asked for."""
    shown = [tuple(map(visible, row)) for row in rows]
    if not shown:
        return
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = (
            text.rjust(width) if right and index else text.ljust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()


# --- Markdown -------------------------------------------------------------------------------------


def markdown_lines(comparison: Comparison) -> Iterator[str]:
    """The report as GitHub's Markdown; nothing of a run's own text is markup in it."""
    baseline = next(
        name
        for side, name in zip(comparison.sides, names(comparison), strict=True)
        if side.run.id == comparison.baseline
    )
    yield f"## Comparison against {_escaped(baseline)}"
    for sheet in sheets(comparison):
        yield ""
        yield f"### {sheet.title}"
        yield ""
        yield _row(sheet.header)
        yield f"|{'---|'}{'--:|' * (len(sheet.header) - 1)}"
        for row in sheet.rows:
            yield _row(row)
    if any(one.unlike for one in comparison.differences):
        yield ""
        yield _escaped(LEGEND)
    for index, line in enumerate(sentences(comparison)):
        if not index:
            yield ""
        yield f"- {_escaped(line)}"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    # A zero-width joint keeps `@name` from calling somebody.
    return _MARKDOWN.sub(r"\\\1", visible(text)).replace("@", "@\u2060")


# --- CSV ------------------------------------------------------------------------------------------

_COLUMNS = (
    "id", "name", "speculative", "concurrency", "repeats", "requests", "failed",
    "tok_s", "tok_s_low", "tok_s_high", "ratio", "ratio_low", "ratio_high", "verdict", "why",
    "accept_length", "acceptance_by_position", "step_ms", "verify_ms", "draft_ms",
    "draft_extend_ms", "other_ms", "needed_accept_length",
)  # fmt: skip
_FORMULA = ("'", "=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a formula begins; some spreadsheets take the wide forms as well."""
_KEPT = re.compile("(\r\n|\n|\t)")
"""What moves nothing but a line's end, and is kept in a field; a `\\r` alone would."""


def csv_text(comparison: Comparison) -> str:
    """One line for each run and concurrency, numbers unrounded."""
    needed = {(even.run, even.concurrency): even.needed for even in comparison.break_even}
    latencies = [f"{name}_{figure}_ms" for name in ("ttft", "tpot") for figure in LATENCY_FIGURES]
    lines = [",".join([*_COLUMNS, *latencies])]
    for side in comparison.sides:
        for cell in side.cells:
            verdict = comparison.verdict(side.run.id, cell.concurrency)
            interval = cell.tok_s_interval
            row = (
                side.run.id,
                side.run.name,
                side.run.surroundings.speculative.short,
                cell.concurrency,
                cell.repeats,
                cell.requests,
                cell.failed,
                cell.tok_s,
                interval.low if interval else None,
                interval.high if interval else None,
                verdict.ratio if verdict else None,
                verdict.low if verdict else None,
                verdict.high if verdict else None,
                verdict.verdict if verdict else "baseline",
                verdict.why if verdict else "",
                cell.accept_length,
                " ".join("" if share is None else f"{share:.6g}" for share in cell.acceptance),
                cell.step_ms,
                cell.verify_ms,
                cell.draft_ms,
                cell.draft_extend_ms,
                cell.other_ms,
                needed.get((side.run.id, cell.concurrency)),
                *(cell.ttft_ms[figure] for figure in LATENCY_FIGURES),
                *(cell.tpot_ms[figure] for figure in LATENCY_FIGURES),
            )
            lines.append(",".join(map(_field, row)))
    return "".join(f"{line}\n" for line in lines)


def _field(value: object) -> str:
    """A number or nothing as it is; a text in quotes, for some readers strip blanks outside them.

    A spreadsheet takes a text that begins so for a formula, quoted or not. It gets a `'` before it,
    as does one that begins with a `'`: whoever takes one away from each has the very same text.
    """
    if not isinstance(value, str):
        return "" if value is None else str(value)
    parts = _KEPT.split(value)
    text = "".join(part if _KEPT.match(part) else visible(part) for part in parts)
    mark = "'" if text.lstrip()[:1] in _FORMULA else ""
    quoted = text.replace('"', '""')
    return f'"{mark}{quoted}"'
