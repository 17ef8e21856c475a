"""What a host keeps of its launches, and what of that is read."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from eagletui.hostside.agent import base, requests
from tests.control.servers import Servers

MANY = 2000


def keep(servers: Servers, name: str, began: float, *, plan: bool = True) -> None:
    """A launch as it is written down."""
    folder = servers.state / "launches" / name
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps({"id": name, "began": began}))
    if plan:
        (folder / "plan.json").write_text("{}")
        os.utime(folder / "plan.json", (began, began))
    else:
        os.utime(folder / "state.json", (began, began))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every file of a launch that is opened."""
    seen: list[str] = []

    def counted(path: str, *words: Any, **more: Any) -> Any:
        if "/launches/" in path:
            seen.append(path)
        return open(path, *words, **more)

    monkeypatch.setattr(base, "open", counted, raising=False)
    return seen


def listed(**ask: Any) -> list[str]:
    told = requests.answer({"do": "list", **ask})
    return [launch["id"] for launch in told["launches"]]


def test_of_many_launches_only_as_many_are_read_as_were_asked_for(
    servers: Servers, opened: list[str]
) -> None:
    """A name is by the clock of whoever launched it, and what is read last may be written first."""
    order = list(range(MANY))
    random.Random(7).shuffle(order)
    for place, age in enumerate(order):
        keep(servers, f"{place:05}", 1e9 - age, plan=age % 7 > 0)
    newest = [f"{order.index(age):05}" for age in range(50)]
    for ask, most in [({"most": 0}, 0), ({"most": 1}, 1), ({"most": 7}, 7), ({}, 50)]:
        opened.clear()
        assert listed(**ask) == newest[:most]
        assert len(opened) == most


def test_one_that_cannot_be_read_is_passed_over(servers: Servers, opened: list[str]) -> None:
    for name, began in [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)]:
        keep(servers, name, began)
    (servers.state / "launches" / "d" / "state.json").write_text("{}")
    (servers.state / "launches" / "stray").write_text("")
    assert listed(most=2) == ["c", "b"]
    assert len(opened) == 3
