"""What a monitor is asked to look at."""

from __future__ import annotations

from eagletui.model.base import Data

SHORTEST_INTERVAL = 0.2
LONGEST_INTERVAL = 30.0


def clamp_interval(seconds: float) -> float:
    """A scrape interval within 0.2 to 30 s."""
    return max(SHORTEST_INTERVAL, min(LONGEST_INTERVAL, seconds))


class Wanted(Data, frozen=True):
    """What the person gave by hand; it overrides what is found.

    Attributes:
        log: file or glob to follow instead of the server's own.
        metrics: base URL or `/metrics` URL, as seen from the host.
        pid: the server to watch where there are several.
        interval: seconds between scrapes.
        api_key: sent to the server in place of what its command line says.
        under: only servers whose working directory is below this one (a simulated host shares this
            machine's processes).
        history: bytes of an old log that are read; more is skipped in the middle.
    """

    log: str = ""
    metrics: str = ""
    pid: int | None = None
    interval: float = 1.0
    api_key: str | None = None
    under: str = ""
    history: int = 256 << 20
