"""Runs for a person and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from eagletui.model.compare import compare
from eagletui.model.keeping import KeptSession
from eagletui.model.run import Run
from eagletui.model.text import visible
from eagletui.store.reports.sheets import figure_sheets
from eagletui.store.reports.text import aligned
from eagletui.store.runs.runs import Comparison, RunRow

LONGEST_NAME = 48
"""Characters of a name in the list; `show` and `--json` have all of it."""

# --- list -----------------------------------------------------------------------------------------


def list_document(
    rows: Sequence[RunRow],
    saved: Sequence[Comparison],
    watched: Sequence[KeptSession] | None = None,
) -> dict[str, Any]:
    """The contract of `runs list --json`; `sessions` only where they were asked for."""
    sessions = {} if watched is None else {"sessions": list(watched)}
    return {"runs": list(rows), "comparisons": list(saved), **sessions}


def list_lines(
    rows: Sequence[RunRow],
    saved: Sequence[Comparison],
    watched: Sequence[KeptSession] | None = None,
) -> Iterator[str]:
    """One line a run, then one a saved comparison, then one a session."""
    if not rows:
        yield "No runs are kept. `eagletui bench` measures one; `eagletui runs import` takes files."
    table = [
        (
            row.id,
            when(row.began),
            _short(row.name) or "–",
            "damaged" if row.damaged else row.speculative,
            f"at {', '.join(map(str, row.concurrency))}" if row.concurrency else "no cells",
            " ".join(("partial" if row.partial else "", *(f"#{tag}" for tag in row.tags))).strip(),
        )
        for row in rows
    ]
    yield from aligned(table)
    if saved:
        yield ""
    for one in saved:
        runs = f"{', '.join(one.runs)} against {one.baseline}" if one.runs else "damaged"
        yield f"comparison {one.name}: {runs}"
    if watched is None:
        return
    yield ""
    if not watched:
        yield "No sessions are kept. The live screen keeps what it watches."
    yield from aligned(
        [
            (
                f"session {when(one.began)}",
                f"{max(0.0, one.ended - one.began) / 60:.0f} min",
                "" if one.tok_s is None else f"{one.tok_s:.1f} tok/s while it worked",
                "" if one.accept_length is None else f"accept {one.accept_length:.2f}",
                one.speculative,
                f"{one.model} {one.host} {one.server}".strip(),
            )
            for one in watched
        ]
    )


def _short(name: str) -> str:
    """A name in a column: a long one would push the others off the screen."""
    name = visible(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def when(at: float) -> str:
    """A moment in the person's own time; `–` where nobody said."""
    if not 0.0 < at < 1e11:
        return "–"
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


# --- show -----------------------------------------------------------------------------------------


def show_document(run: Run) -> Run:
    """The contract of `runs show --json`: the run as it is kept."""
    return run


def show_lines(run: Run) -> Iterator[str]:
    """What was asked, of what, and what came of it."""
    around, asked = run.surroundings, run.workload
    yield f"{run.id} {run.name}".rstrip()
    table = [
        ("began", when(run.began)),
        ("partial", "yes: it was cancelled or ended early" if run.partial else ""),
        ("model", around.model),
        ("speculative", around.speculative.short),
        ("profile", around.profile),
        ("host", around.host),
        ("versions", ", ".join(f"{k} {v}" for k, v in sorted(around.versions.items()))),
        ("GPUs", ", ".join(around.gpus)),
        ("environment", " ".join(f"{k}={v}" for k, v in sorted(around.environment.items()))),
        ("prompts", f"{asked.prompts} {asked.digest[:12]}".strip()),
        ("temperature", "" if asked.temperature is None else f"{asked.temperature:g}"),
        ("output tokens", "" if asked.output_tokens is None else str(asked.output_tokens)),
        ("sent from", run.source or run.via),
        ("tags", ", ".join(run.tags)),
        ("notes", run.notes),
    ]
    yield from aligned([row for row in table if row[1]])
    found = compare([run])
    for sheet in figure_sheets(found):
        yield ""
        yield sheet.title
        rows = [row for row in sheet.rows if row[0] not in ("against the baseline", "verdict")]
        yield from aligned(rows)
    for cell in found.sides[0].cells:
        for text in (*cell.stopped, *cell.warnings):
            yield f"concurrency {cell.concurrency}: {text}"
