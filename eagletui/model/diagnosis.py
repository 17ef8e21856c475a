"""What was found wrong (or worth saying), in plain words with its evidence."""

from __future__ import annotations

from typing import Literal

from eagletui.model.base import Data

Severity = Literal["fatal", "error", "warning", "info"]

SEVERITY_ORDER: dict[str, int] = {"fatal": 0, "error": 1, "warning": 2, "info": 3}


class Diagnosis(Data, frozen=True):
    """One verdict.

    Attributes:
        code: stable name that scripts may test, like `out-of-memory-kv`.
        severity: `fatal` the server is gone or cannot come up; `error` it does not do its work;
            `warning` it works worse than it should; `info` worth knowing.
        title: the verdict in plain words, one line.
        line: 1-based line number of the evidence in the log (counting `\\n` lines), or None.
        evidence: the log line or the numbers the verdict rests on, masked and sanitised.
        advice: what to do, one or two sentences.
        at: when it was noticed, seconds since the epoch on the user's clock, or None.
    """

    code: str
    severity: Severity
    title: str
    line: int | None = None
    evidence: str = ""
    advice: str = ""
    at: float | None = None
