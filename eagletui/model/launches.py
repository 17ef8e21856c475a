"""What a host's records of launches mean together: what was left, and what ran before. Pure.

A record is the agent's `state.json` as it came from the host; nothing in it is taken for granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Record = Mapping[str, Any]
Id = tuple[int, int]
"""A process: its pid and its start, in ticks since the boot."""


class Earlier(NamedTuple):
    """A start that can be gone back to.

    Attributes:
        launch: whose record it is in.
        source: `plan` for what that launch started, `before` for what it replaced.
        name: the profile; "" where eagletui did not start it.
        at: the host's clock when it was ready, or, with `before`, when it was replaced.
    """

    launch: str
    source: Literal["plan", "before"]
    name: str
    at: float


def earlier(records: Sequence[Record], port: int, present: Id | None) -> Earlier | None:
    """The last start on this port that was ready before the present one.

    A plain restart and a roll-back start again what ran: they are not a step of their own. What
    somebody started by hand and a launch replaced counts as ready.

    Args:
        records: newest first.
        present: the process that runs; None where none does.
    """
    ours = [record for record in records if record.get("port") == port]
    process = present
    for index, record in enumerate(ours):
        if process is None or process not in (_process(record, "new"), _process(record, "back")):
            continue
        again = record.get("again") or process == _process(record, "back")
        old = _process(record, "old")
        if again and old is not None:
            process = old
            continue
        found = _ready(ours[index + 1 :], process)
        if old is None:
            return found
        # A clock that was set back mixes up the order; who replaced whom does not lie.
        starter = [r for r in ours if old in (_process(r, "new"), _process(r, "back"))]
        if not starter:
            return Earlier(_text(record, "id"), "before", "", _number(record, "began"))
        return _ready([r for r in starter if _process(r, "new") == old], process) or found
    return _ready(ours, process)


class Started(NamedTuple):
    """How a process was started.

    Attributes:
        profile: "" where no launch tells.
        load_seconds: until it was ready; None where no launch tells.
    """

    profile: str = ""
    load_seconds: float | None = None


def started(records: Sequence[Record], process: Id) -> Started:
    """What the launch tells that started a process."""
    for record in records:
        if process == _process(record, "new"):
            known = record.get("load_seconds") is not None
            load = _number(record, "load_seconds") if known else None
            return Started(_text(record, "profile"), load)
    return Started()


def left(records: Sequence[Record]) -> list[Record]:
    """Launches that did not come to their end, newest first, and that no later one replaced.

    Args:
        records: newest first.
    """
    found: list[Record] = []
    replaced: set[float] = set()
    for record in records:
        port = _number(record, "port")
        if "ended" not in record and port not in replaced:
            found.append(record)
        standing = record.get("standing")
        if isinstance(standing, Mapping) and (standing.get("old_gone") or standing.get("started")):
            replaced.add(port)
    return found


def _ready(records: Sequence[Record], present: Id | None) -> Earlier | None:
    for record in records:
        standing = record.get("standing")
        state = standing.get("state") if isinstance(standing, Mapping) else None
        if state == "ready" and _process(record, "new") not in (None, present):
            source: Literal["plan", "before"] = "before" if record.get("again") else "plan"
            return Earlier(
                _text(record, "id"), source, _text(record, "profile"), _number(record, "ended")
            )
    return None


def _process(record: Record, which: str) -> Id | None:
    server = record.get(which)
    if not isinstance(server, Mapping):
        return None
    pid, start = server.get("pid"), server.get("start")
    return (pid, start) if isinstance(pid, int) and isinstance(start, int) else None


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _number(record: Record, key: str) -> float:
    value = record.get(key)
    return float(value) if isinstance(value, (int, float)) else 0.0
