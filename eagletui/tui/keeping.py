"""Lines of the list of what is kept. Pure; no widget in here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from eagletui.model.keeping import Kept, KeptComparison, KeptRun, KeptSession
from eagletui.tui import words
from eagletui.tui.draw import NOTHING, fit, line
from eagletui.tui.widgets.header import short_model


def when(at: float) -> str:
    """A moment on the person's own clock: `11-29 22:10`."""
    if not 0.0 < at < 1e11:
        return NOTHING
    return time.strftime("%m-%d %H:%M", time.localtime(at))


class _Column(NamedTuple):
    title: str
    most: int
    """Cells that it takes at the most, the gap behind it included; less where less is enough."""
    rank: int
    """Columns of a higher rank go first where there is no room."""
    read: Callable[[KeptRun], str]


Columns = Sequence[tuple[_Column, int]]
"""What there is room for, and how wide."""


def speeds(run: KeptRun) -> str:
    """`c=1 94.0 · c=8 512`."""
    return " · ".join(f"c={cell.concurrency} {_speed(cell.tok_s)}" for cell in run.cells) or (
        "can't be read" if run.damaged else "no cells"
    )


def _speed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def accept(run: KeptRun) -> str:
    """The accept length of its first cell that has one."""
    return next(
        (f"{cell.accept_length:.2f}" for cell in run.cells if cell.accept_length is not None), ""
    )


def marks(run: KeptRun) -> str:
    """What keeps it from being trusted."""
    return " ".join((*run.doubts, *(("partial",) if run.partial else ())))


def _words(run: KeptRun) -> str:
    return " ".join((*(f"#{tag}" for tag in run.tags), run.notes)).strip()


_COLUMNS = (
    _Column("when", 13, 0, lambda run: when(run.began)),
    _Column("speculative", 36, 2, lambda run: run.speculative),
    _Column("profile", 20, 6, lambda run: run.profile),
    _Column("name", 26, 3, lambda run: run.name or run.id),
    _Column("tok/s", 44, 0, speeds),
    _Column("accept", 8, 1, accept),
    _Column("", 22, 1, marks),
    _Column("model", 24, 5, lambda run: short_model(run.model)),
    _Column("notes", 40, 4, _words),
)
_MARK = 2
_GAP = 2


def columns(runs: Sequence[KeptRun], width: int) -> Columns:
    """The columns that say something of these runs and fit, each as wide as it needs."""
    kept: list[tuple[_Column, int]] = []
    for column in _COLUMNS:
        longest = max((cell_len(column.read(run)) for run in runs), default=0)
        if longest:
            kept.append((column, min(column.most, max(longest, len(column.title)) + _GAP)))
    while sum(size for _, size in kept) + _MARK > width and len(kept) > 1:
        kept.remove(max(kept, key=lambda one: one[0].rank))
    return kept


def head_line(shown: Columns) -> Content:
    """What stands above the columns."""
    titles = "".join(fit(column.title, size) for column, size in shown)
    return line((" " * _MARK + titles.rstrip(), "$quiet"))


def run_line(run: KeptRun, shown: Columns, width: int, *, marked: bool, baseline: bool) -> Content:
    """One run; a mark where it is chosen, another where the rest is measured against it."""
    glyph = "◆" if baseline else "●" if marked else " "
    pieces: list[tuple[str, str]] = [(fit(glyph, _MARK), "bold $accent")]
    for column, size in shown:
        style = {"tok/s": "bold", "": "bold $warning", "notes": "$quiet"}.get(column.title, "")
        pieces.append((fit(fit(column.read(run), size - 1), size), style))
    return line(*pieces).truncate(max(1, width), ellipsis=True)


def run_words(run: KeptRun) -> str:
    """A run in a line of its own: what a narrow list leaves out."""
    parts = (run.name or run.id, short_model(run.model), run.host, run.prompts, _words(run))
    return " · ".join(part for part in parts if part)


def comparison_line(saved: KeptComparison, known: Kept, width: int) -> Content:
    """A saved comparison: its name, and what it puts side by side."""
    names = {run.id: run.name or run.id for run in known.runs}
    said = (
        ", ".join(
            f"{names.get(run, f'{run} (removed)')}{' ◆' if run == saved.baseline else ''}"
            for run in saved.runs
        )
        or "can't be read"
    )
    return line(
        ("  ", ""), (saved.name, "bold"), (f"  {said}", "$quiet")
    ).truncate(max(1, width), ellipsis=True)  # fmt: skip


def session_name(session: KeptSession) -> str:
    """What a session is called beside runs: its setting, or its model, and when it began."""
    return f"{session.speculative or short_model(session.model)} {when(session.began)}".strip()


def session_line(session: KeptSession, width: int, *, marked: bool = False) -> Content:
    """A server that was watched: when, which, and its means while it worked."""
    lasted = words.seconds(max(0.0, session.ended - session.began))
    said = [
        (fit("●" if marked else " ", _MARK), "bold $accent"),
        (fit(when(session.began), 13), ""),
        (fit(f"for {lasted}", 17), "$quiet"),
        (fit(f"{_speed(session.tok_s)} tok/s", 14), "bold"),
        (fit(f"accept {words.number(session.accept_length, 2)}", 13), "bold"),
        (session.speculative, ""),
        (f"  {short_model(session.model)} {session.host} {session.server}", "$quiet"),
    ]
    return line(*said).truncate(max(1, width), ellipsis=True)


class Entry(NamedTuple):
    """One option of the list; `id` is "" for a heading, which cannot be chosen."""

    id: str
    drawn: Content


def entries(kept: Kept, width: int, marked: Sequence[str], baseline: str | None) -> Iterator[Entry]:
    """Everything that is kept, in three parts."""
    shown = columns(kept.runs, width)
    yield Entry("", head_line(shown))
    for run in kept.runs:
        drawn = run_line(run, shown, width, marked=run.id in marked, baseline=run.id == baseline)
        yield Entry(f"run:{run.id}", drawn)
    if not kept.runs:
        yield Entry("", line(("  No runs are kept yet: a benchmark makes one.", "$quiet")))
    if kept.comparisons:
        yield Entry("", line(("  saved comparisons", "$quiet")))
    for index, saved in enumerate(kept.comparisons):
        yield Entry(f"comparison:{index}", comparison_line(saved, kept, width))
    if kept.sessions:
        yield Entry("", line(("  servers watched, means while they worked", "$quiet")))
    for session in kept.sessions:
        yield Entry(
            f"session:{session.id}", session_line(session, width, marked=session.id in marked)
        )
