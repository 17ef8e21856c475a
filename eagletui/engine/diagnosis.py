"""The shape of a failure signature, and how a verdict is worded safely."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Literal, NamedTuple

from eagletui.model.diagnosis import Diagnosis, Severity
from eagletui.model.phases import PhaseName
from eagletui.model.safe import safe

MAX_EVIDENCE = 600
Where = Literal["message", "exception", "any"]
Match = re.Match[str]


class Context(NamedTuple):
    """What is known when a line is judged.

    Attributes:
        phase: the phase that was running, None before the first.
        ready: whether the server was serving.
        draft: whether the traceback went through code of the draft, or the path is the draft's.
        flags: every flag that the usage text in the log lists.
        known: codes that were already reported of this launch.
    """

    phase: PhaseName | None = None
    ready: bool = False
    draft: bool = False
    flags: Collection[str] = ()
    known: Collection[str] = ()


class Refined(NamedTuple):
    """What a row's own rule makes of a match; None keeps what the row says."""

    code: str | None = None
    title: str | None = None
    advice: str | None = None
    severity: Severity | None = None


class Signature(NamedTuple):
    """One way a line tells of a failure.

    Attributes:
        code: see `Diagnosis.code`.
        hints: texts of which one stands in every line that `pattern` can match.
        pattern: its named groups may be used in `title` and `advice`.
        where: a message, the last line of a traceback that ends the process, or either.
        severity, title, advice: see `Diagnosis`.
        ended: whether the launch is over because of it.
        general: whether another line may know better why.
        refine: looks closer.
    """

    code: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    title: str
    advice: str
    where: Where = "any"
    severity: Severity = "fatal"
    ended: bool = True
    general: bool = False
    refine: Callable[[Match, Context], Refined] | None = None


class Finding(NamedTuple):
    """A signature that was found."""

    diagnosis: Diagnosis
    ended: bool
    general: bool


def diagnosis(
    code: str,
    severity: Severity,
    title: str,
    *,
    evidence: str = "",
    advice: str = "",
    line: int | None = None,
    at: float | None = None,
) -> Diagnosis:
    """A verdict with remote text masked and made safe."""
    return Diagnosis(
        code=code,
        severity=severity,
        title=_safe(title, 200),
        line=line,
        evidence=_safe(evidence, MAX_EVIDENCE),
        advice=_safe(advice, MAX_EVIDENCE),
        at=at,
    )


def _safe(text: str, limit: int) -> str:
    text = safe(text[: 4 * limit]).strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"
