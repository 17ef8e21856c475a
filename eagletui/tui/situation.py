"""What is the case now, as words an action may need; and which actions are valid then."""

from __future__ import annotations

from eagletui.model.state import ServerState, State
from eagletui.tui.actions import Action


def situation(state: State, *, paused: bool = False, replay: bool = False) -> frozenset[str]:
    """The words of `Action.needs` that hold: unlinked, servers, server, ready, charts, paused…"""
    server = state.server
    facts = {
        "unlinked": state.link is not None and state.link.link in ("lost", "failed", "closed"),
        "servers": bool(state.servers),
        "server": server is not None,
        "ready": server is not None and came_up(server),
        "charts": server is not None and (came_up(server) or server.metrics.at is not None),
        "paused": paused,
        "replay": replay,
        "live": not replay,
    }
    return frozenset(word for word, holds in facts.items() if holds)


def came_up(server: ServerState) -> bool:
    """Whether the current launch was ready once, be it over or not."""
    proved = any(rung.name == "ready" and rung.status == "done" for rung in server.ladder)
    return server.ready or server.ready_after is not None or proved


def is_valid(action: Action, facts: frozenset[str]) -> bool:
    """Whether the action makes sense now."""
    return facts.issuperset(action.needs)
