"""Times of phases that add up to the time until ready."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from eagletui.model.phases import Rung


def added_up(ladder: Sequence[Rung], ready_at: float | None) -> tuple[Rung, ...]:
    """The same phases, each lasting until the next one begins.

    Between two phases a server is silent and works: after the arguments its worker processes are
    started and import everything (20 s of the 34 s of a small model on an H200, release 0.5.16),
    after the distributed init they build the model. That time is counted with the phase before it,
    the last one's until the server is ready, so that the seconds of all phases together are those
    until ready. They differ by rounding: stamps have whole seconds, the server's own `elapsed=`
    has hundredths.

    Args:
        ladder: phases with the seconds that their own lines tell.
        ready_at: log time of the ready line; None where there is none.
    """
    begun = sorted(
        (rung for rung in ladder if rung.begun is not None and rung.name != "ready"),
        key=lambda rung: rung.begun or 0.0,
    )
    following = [*(rung.begun for rung in begun), ready_at][1:]
    silent: dict[str, float] = {}
    busy_until = -math.inf
    for rung, until in zip(begun, following, strict=True):
        if rung.ended is None:
            continue
        busy_until = max(busy_until, rung.ended)
        if until is not None and until > busy_until:
            silent[rung.key] = until - busy_until
    return tuple(
        replace(rung, seconds=round(rung.seconds + silent[rung.key], 3))
        if rung.seconds is not None and rung.key in silent
        else rung
        for rung in ladder
    )
