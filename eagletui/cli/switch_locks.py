"""A host's lock and the launches that were left on it, as a screen shows them. Nothing in what
the host says is taken for granted."""

from __future__ import annotations

from typing import Any

import msgspec

from eagletui.control.api import Owner
from eagletui.control.owner import is_gone
from eagletui.control.problems import QUIET
from eagletui.model.restart import Standing
from eagletui.model.switching import Lock, Unfinished
from eagletui.model.text import visible

Held = dict[str, Any]
"""The lock as the host's agent tells it; {} where nobody has it."""


def lock_of(held: Held, now: float) -> Lock:
    """Who holds the lock, as a screen shows it.

    Args:
        now: user's clock, seconds since the epoch.
    """
    age, quiet = held.get("age"), float(held.get("quiet", 0.0))
    return Lock(
        who=visible(f"{held.get('user', 'somebody')}@{held.get('host', '?')}"),
        what=visible(str(held.get("what") or "a restart")),
        since=now - age if isinstance(age, (int, float)) else None,
        quiet=quiet,
        damaged=bool(held.get("damaged")),
        stale=quiet >= QUIET or bool(held.get("rebooted")) or is_free(held),
    )


def is_free(held: Held) -> bool:
    """Whether a lock's owner is gone, or this very process, which drives nothing any more."""
    here = Owner.here("")
    ours = held.get("host") == here.host and held.get("pid") == here.pid
    return ours or is_gone(held, here.host)


def unfinished_of(state: dict[str, Any], held: Held) -> Unfinished:
    """A launch that did not come to its end, and who is at it."""
    busy = ""
    launch = str(state.get("id", ""))
    if held.get("launch") == launch and held.get("quiet", QUIET) < QUIET and not is_free(held):
        busy = visible(f"{held.get('user', '')}@{held.get('host', '')}")
    return Unfinished(
        launch=visible(launch),
        name=visible(str(state.get("profile", ""))),
        began=_number(state.get("began")),
        standing=msgspec.convert(state.get("standing", {}), Standing),
        busy=busy,
        unattended=bool(state.get("unattended")),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
