"""Files that are no log: binary ones, and empty ones, told from their first bytes."""

from __future__ import annotations

from eagletui.model.errors import EagletuiError

# Control characters that no log is full of: not tab, line ends, bell, backspace or escape.
_CONTROLS = bytes(c for c in range(32) if c not in b"\a\b\t\n\f\r\x1b")
_BINARY = 0.02


def looks_binary(data: bytes) -> bool:
    """Whether this has more control characters than any log, in whatever language, has."""
    return len(data) - len(data.translate(None, _CONTROLS)) > _BINARY * len(data)


def empty(name: str) -> EagletuiError:
    """What to say of a log without a byte."""
    return EagletuiError(
        f"{name} is empty.",
        meaning="Nothing was logged: SGLang writes to standard error, which goes elsewhere "
        "when only standard output is redirected.",
        advice="Start the server with `> FILE 2>&1`, in this order.",
    )


def binary(name: str, advice: str) -> EagletuiError:
    """What to say of a file that is no text."""
    return EagletuiError(f"{name} is a binary file, no log.", advice=advice)
