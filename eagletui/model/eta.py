"""How long until a server is ready, from earlier launches where there were any."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.model.phases import Rung
from eagletui.model.state import ServerState

# Seconds a phase takes where nothing is known, by `Rung.key`, then by name: an 8B model on one GPU
# took 55 to 145 s in all, large ones over PCIe 15 minutes, nearly all of it weights and graphs.
# A bar that moves overrules them.
FIRST_GUESS: dict[str, float] = {
    "arguments": 15.0,
    "distributed init": 10.0,
    "weights/target": 180.0,
    "weights/draft": 15.0,
    "kv cache": 5.0,
    "prefill graphs": 30.0,
    "graphs": 40.0,
    "extend graphs": 20.0,
    "warm-up": 10.0,
    "ready": 0.0,
}

BAR_WINS = 0.1
"""The share of a bar from which its own pace alone counts: what earlier launches took says little
where the page cache is cold (12 s then, 85 s now)."""

SLOWS_STEPS = 3.0
"""Steps of its own for which a bar may rest before its pace is said to be slower."""

RESTS_STEPS, RESTS_SECONDS = 10.0, 30.0
"""A bar that rests for longer than both promises nothing."""


class Eta(NamedTuple):
    """Seconds from now; None is what can't be said.

    Attributes:
        remaining: until ready.
        phase_remaining: until the running phase ends.
        learned: whether it rests on earlier launches alone, not on a first guess.
    """

    remaining: float | None = None
    phase_remaining: float | None = None
    learned: bool = False


def eta(server: ServerState, now: float) -> Eta:
    """The time until ready, seconds.

    A running phase is judged by what it typically took until its own bar moves, and by the bar's
    pace alone once a tenth is done (at 100 % of its shards a phase may still go on: there history
    speaks again). A bar that rests makes the time left grow, then gives no number; so does a phase
    that is longer than ever.

    Args:
        now: the user's clock, seconds since the epoch.
    """
    if server.ready:
        return Eta(0.0, None, True)
    if not server.alive or not server.ladder:
        return Eta()
    current = server.phase
    running = current is not None and current.status == "running"
    pending = [rung for rung in server.ladder if rung.status == "pending"]
    needed = [*pending, current] if running and current is not None else pending
    learned = all(rung.key in server.experience for rung in needed if typical(server, rung) > 0.0)
    left = _left(server, current, now) if running and current is not None else 0.0
    if left is None:
        return Eta(None, None, learned)
    rest = sum(typical(server, rung) for rung in pending)
    if not running and pending and current is not None and current.moved_at is not None:
        # Between two phases the time that passes is taken from the next one.
        rest -= min(typical(server, pending[0]), max(0.0, now - current.moved_at))
    return Eta(left + rest, left if running else None, learned)


def about(seconds: float) -> str:
    """A guess, no finer than it is good for: `5 s`, `40 s`, `2 min`, `1 h 10 min`."""
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60 // 10 * 10:02d} min"


def typical(server: ServerState, rung: Rung) -> float:
    """Seconds this phase usually takes: learned, or a first guess."""
    known = server.experience.get(rung.key)
    if known is not None:
        return known.typical
    return FIRST_GUESS.get(rung.key, FIRST_GUESS.get(rung.name, 10.0))


def clock_offset(server: ServerState) -> float | None:
    """The user's clock minus log time, from the phases that ended (or just began)."""
    offset = None
    for rung in server.ladder:
        if rung.moved_at is None:
            continue
        if rung.status == "done" and rung.ended is not None:
            offset = rung.moved_at - rung.ended
        elif offset is None and rung.begun is not None and not rung.done:
            offset = rung.moved_at - rung.begun
    return offset


def _left(server: ServerState, rung: Rung, now: float) -> float | None:
    offset = clock_offset(server)
    if offset is None or rung.begun is None:
        return _by_share(server, rung)
    begun = rung.begun + offset
    elapsed = max(0.0, now - begun)
    usual = typical(server, rung) - elapsed
    known = server.experience.get(rung.key)
    if usual <= 0.0 and known is not None:
        usual = known.longest - elapsed
    share, moved = rung.fraction, rung.moved_at
    if not share or share >= 1.0 or moved is None or moved <= begun:
        return usual if usual > 0.0 else None
    by_bar = _by_bar(rung, begun, moved, now)
    if by_bar is None or known is None or usual <= 0.0:
        return by_bar
    weight = min(1.0, share / BAR_WINS)
    return weight * by_bar + (1.0 - weight) * usual


def _by_bar(rung: Rung, begun: float, moved: float, now: float) -> float | None:
    """What the bar's own pace says, or None where it rests for too long to say anything.

    A step that is overdue takes nothing from the steps that follow it, and one that is long overdue
    is the bar's new pace: then the time left grows.
    """
    done, total = rung.done or 0, rung.total or 0
    step = (moved - begun) / done
    rested = max(0.0, now - moved)
    if rested > max(RESTS_STEPS * step, RESTS_SECONDS):
        return None
    if rested > SLOWS_STEPS * step:
        return (now - begun) / done * (total - done)
    return step * (total - done) - min(rested, step)


def _by_share(server: ServerState, rung: Rung) -> float | None:
    """Without times: what is not yet done of what it usually takes."""
    share = rung.fraction
    if share is not None and share >= 1.0:
        return None
    return typical(server, rung) * (1.0 - (share or 0.0))
