"""What is wrong with a file of measurements."""

from __future__ import annotations

from eagletui.model.errors import EagletuiError

IMPOSSIBLE = "Take the line out of the file, or measure again; nothing of the file was imported."
"""What to do about a figure that cannot be."""


class ImportProblem(EagletuiError):
    """A file, or one line of it, is no measurement that is known.

    Attributes:
        line: 1-based; None where it is about the whole file.
    """

    def __init__(self, what: str, *, line: int | None = None, advice: str = "") -> None:
        super().__init__(what if line is None else f"Line {line}: {what}", advice=advice)
        self.line = line
