"""Remote text made fit to be shown: nothing that harms a terminal, nothing that is secret.

Text is made visible first and masked then: a colour inside a name or a value would hide it from
the masking, and what is shown is what has to be judged.
"""

from __future__ import annotations

from eagletui.model.secrets import mask, may_hold_secret
from eagletui.model.text import visible, visible_bytes

_JUDGED = 4096


def safe(text: str) -> str:
    """The text as one line; breaks of its lines become `·`, as `visible` shows them."""
    return "·".join(_masked(visible(line)) for line in text.split("\n"))


def safe_line(line: bytes) -> str:
    """A line of a log; one that is very long is cut, as `visible_bytes` does."""
    return _masked(visible_bytes(line))


def excerpt(data: bytes, limit: int) -> str:
    """The first line of a reply, at most so many characters: cut after it was masked."""
    text = safe_line(data[:_JUDGED].strip().split(b"\n", 1)[0])
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _masked(text: str) -> str:
    return mask(text) if may_hold_secret(text.encode("utf-8", "surrogatepass")) else text
