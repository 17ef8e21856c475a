"""Lines of progress bars, told from all others without reading them.

A server that serves goes on writing bars, hundreds of bytes a line, which mean nothing any more.
"""

from __future__ import annotations

import functools

# What changes from bar to bar: numbers, and the blocks of the bar itself in UTF-8.
_CHANGING = b"0123456789 " + bytes({*"█▉▊▋▌▍▎▏".encode()})
# One of them stands in whatever else may be glued to a bar and mean something to the reader; blanks
# and digits are left out. The first is that of a stamp.
TELLING = (
    b"[-", b"raceback", b"xception", b"rror", b"emory", b"rgument", b"mbiguous", b"nknownspec",
    b"ailed", b"ollective", b"inuse", b"atchdog", b"crashed", b"scheduler", b"sigquit", b"SIG",
    b"Retract", b"usage:", b"Gracefully", b"Shutting", b"kill_process", b"resource_tracker",
    b"daptive", b"server_args=", b"stillsupported", b"codebatch", b"fillbatch", b"Init",
    b"Loadweight", b"KVCache", b"MambaCache", b"Capture", b"max_total", b"Uvicorn",
    b"serverprocess", b"firedup",
)  # fmt: skip
# Longer lines are not worth the memory.
_REMEMBERED = 4096


def holds_only_bars(line: bytes) -> bool:
    """Whether a line holds progress bars, and nothing that the reader takes for something else."""
    if b"\r" not in line or b"%" not in line:
        return False
    text = line.translate(None, _CHANGING)
    return (_tells_nothing if len(text) <= _REMEMBERED else _tells_nothing.__wrapped__)(text)


@functools.lru_cache(maxsize=256)
def _tells_nothing(text: bytes) -> bool:
    return b"\x1b" not in text and not any(telling in text for telling in TELLING)
