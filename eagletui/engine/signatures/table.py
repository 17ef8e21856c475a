"""What can go wrong with a server, as its log tells it: all families of failures in one table.

The table is read from top to bottom and the first row that matches a line wins, so the specific
stand above the general. A new cause is a new row in the module of its family.
"""

from __future__ import annotations

from eagletui.engine.diagnosis import Context, Finding, Refined, Signature, Where, diagnosis
from eagletui.engine.signatures.arguments import ARGUMENTS
from eagletui.engine.signatures.clashes import CLASHES
from eagletui.engine.signatures.communication import COMMUNICATION
from eagletui.engine.signatures.general import GENERAL
from eagletui.engine.signatures.memory import MEMORY
from eagletui.engine.signatures.missing import MISSING
from eagletui.engine.signatures.serving import SERVING

SIGNATURES: tuple[Signature, ...] = (
    *ARGUMENTS,
    *MISSING,
    *MEMORY,
    *COMMUNICATION,
    *CLASHES,
    *SERVING,
    *GENERAL,
)

SCHEDULER_CRASHED = ("The scheduler crashed: {what}", "The traceback above this line says where.")
LAUNCH_FAILED = ("The server could not start: {what}", "The traceback above this line says where.")

_ROWS: dict[Where, tuple[Signature, ...]] = {
    "message": tuple(row for row in SIGNATURES if row.where != "exception"),
    "exception": tuple(row for row in SIGNATURES if row.where != "message"),
}


def matching(text: str, where: Where) -> tuple[Signature, ...]:
    """All rows that this line matches, whatever is known."""
    return tuple(
        row
        for row in _ROWS[where]
        if any(hint in text for hint in row.hints) and row.pattern.search(text)
    )


def find(text: str, where: Where, context: Context, *, line: int | None = None) -> Finding | None:
    """The first row of the table that this line matches."""
    for row in _ROWS[where]:
        for hint in row.hints:
            if hint in text:
                break
        else:
            continue
        if not row.ended and row.code in context.known:
            continue
        match = row.pattern.search(text)
        if match is None:
            continue
        refined = row.refine(match, context) if row.refine is not None else Refined()
        words = {name: value or "" for name, value in match.groupdict().items()}
        verdict = diagnosis(
            refined.code or row.code,
            refined.severity or row.severity,
            refined.title or row.title.format_map(words),
            line=line,
            evidence=text,
            advice=refined.advice or row.advice.format_map(words),
        )
        return Finding(verdict, row.ended, row.general)
    return None
