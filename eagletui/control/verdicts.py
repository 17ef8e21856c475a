"""How the work of a restart fails by what was seen on the host, in words."""

from __future__ import annotations

from typing import Any

from eagletui.control.problems import holder_words, left_words
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.safe import safe


def fatal(code: str, title: str, advice: str = "") -> Diagnosis:
    """What ends a launch."""
    return Diagnosis(code=code, severity="fatal", title=safe(title)[:400], advice=advice)


def unkillable(left: list[Any]) -> Diagnosis:
    return fatal(
        "unkillable",
        f"Killed, but still there: {left_words(left)}.",
        "A process in the kernel (a hanging driver or file system) goes only when that lets go; "
        "the host may need a restart.",
    )


def not_free(about: dict[str, Any], limit: float) -> Diagnosis:
    return fatal(
        "not-free", f"After {limit:g} s still not free: {still_there(about)}.", "End it by hand."
    )


def still_there(about: dict[str, Any]) -> str:
    parts = []
    if about["left"]:
        parts.append(f"processes {left_words(about['left'])}")
    if about["port"] is not None:
        parts.append(f"the port, held by {holder_words(about['port'])}")
    if about["gpu"]["pids"]:
        parts.append("GPU memory of " + ", ".join(map(str, about["gpu"]["pids"])))
    return "; ".join(parts) or "nothing"


def too_slow(limit: float) -> Diagnosis:
    return fatal(
        "start-too-slow",
        f"The server was not ready within {limit:g} s.",
        "Raise `guard.start-seconds`, if it needs longer.",
    )


def stalled(limit: float) -> Diagnosis:
    return fatal(
        "start-stalled",
        f"The log has been silent for {limit:g} s while the server loads.",
        "It hangs: often NCCL, or a file system that does not answer.",
    )
