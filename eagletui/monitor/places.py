"""Servers keep their place over restarts: `:30000` stays `:30000` when a new process takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def assign_places(found: Iterable[tuple[int, int]], before: Mapping[int, str]) -> dict[int, str]:
    """Give every process its place.

    Args:
        found: (pid, port) of every server that is there, oldest first.
        before: pid → place of the last look.

    Returns:
        pid → place. A process keeps its place; a port that nobody living holds goes to the oldest
        newcomer; another one on the same port gets `:PORT#PID`.
    """
    processes = list(found)
    places = {pid: before[pid] for pid, _ in processes if pid in before}
    taken = set(places.values())
    for pid, port in processes:
        if pid in places:
            continue
        place = f":{port}"
        if place in taken:
            place = f":{port}#{pid}"
        places[pid] = place
        taken.add(place)
    return places
