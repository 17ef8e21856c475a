"""A fault of ours as text that may be shown, copied and sent to others."""

from __future__ import annotations

import traceback

from eagletui.model.secrets import mask
from eagletui.model.text import visible


def safe_traceback() -> str:
    """The traceback of the exception being handled, masked; local variables are left out."""
    lines = traceback.format_exc().rstrip().split("\n")
    return mask("\n".join(visible(line) for line in lines))
