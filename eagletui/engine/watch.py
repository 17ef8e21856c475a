"""Memory for live verdicts: since when something is so, with hysteresis."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.model.diagnosis import Severity

LOOK_AGAIN = 10.0
"""Seconds between two looks after which what was seen before no longer counts as lasting."""


class Finding(NamedTuple):
    """A condition that holds.

    Attributes:
        evidence: the numbers it rests on.
        subject: what it is about, where a title has room for it. It should not change from second
            to second.
        severity: where it is not that of the rule.
    """

    evidence: str
    subject: str = ""
    severity: Severity | None = None


class Shown(NamedTuple):
    """A condition that held long enough to be said."""

    finding: Finding
    since: float


class _Held:
    __slots__ = ("finding", "last", "said", "since")

    def __init__(self, finding: Finding, now: float) -> None:
        self.finding = finding
        self.since = now
        self.last = now
        self.said = False


class LowSteps:
    """Verify steps taken in a row with hardly an accepted draft."""

    __slots__ = ("at", "passes", "steps")

    def __init__(self) -> None:
        self.steps = 0.0
        self.passes: float | None = None
        self.at: float | None = None


class Watch:
    """What live verdicts remember between two looks; one serves all servers of a host.

    It changes only through `held` and `low_steps`, so that verdicts are a function of it, the
    state and the time.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], _Held] = {}
        self._low: dict[str, LowSteps] = {}

    def held(
        self, server: str, code: str, finding: Finding | None, now: float, after: float, rest: float
    ) -> Shown | None:
        """What to say of a condition.

        It is said once it held for `after` seconds, breaks shorter than `rest` passed over, and
        until it has not held for `rest` seconds.
        """
        key = (server, code)
        held = self._held.get(key)
        if finding is not None:
            if held is None or not 0.0 <= now - held.last <= max(rest, LOOK_AGAIN):
                held = self._held[key] = _Held(finding, now)
            held.finding, held.last = finding, now
        elif held is not None and now - held.last >= rest:
            del self._held[key]
            held = None
        if held is None:
            return None
        held.said = held.said or held.last - held.since >= after
        return Shown(held.finding, held.since) if held.said else None

    def low_steps(self, server: str) -> LowSteps:
        """The count of one server, which the rule keeps up to date."""
        low = self._low.get(server)
        if low is None:
            low = self._low[server] = LowSteps()
        return low

    def forget(self, server: str) -> None:
        """A server that is gone for good needs no memory."""
        self._low.pop(server, None)
        for key in [key for key in self._held if key[0] == server]:
            del self._held[key]
