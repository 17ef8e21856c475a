"""What is kept of a server with a run: the profile that the host's launches tell."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from eagletui.cli import surroundings
from eagletui.host.local import LocalHost
from eagletui.model.errors import EagletuiError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def _agent(records: list[dict[str, Any]] | None) -> Any:
    async def asked_once(host: object, do: str) -> dict[str, Any]:
        assert do == "list"
        if records is None:
            raise EagletuiError("no Python there")
        return {"launches": records}

    return asked_once


def _record(off: int = 0) -> dict[str, Any]:
    """A launch that started this very process, or one of its number that began otherwise."""
    start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return {
        "profile": "k3",
        "load_seconds": 71.5,
        "port": 1,
        "new": {"pid": os.getpid(), "start": start + off},
    }


@pytest.mark.parametrize(
    ("records", "pid", "profile"),
    [
        ([_record()], os.getpid(), "k3"),
        ([_record(1)], os.getpid(), ""),
        (None, os.getpid(), ""),
        ([_record()], None, ""),
        ([_record()], 2**22 + 1, ""),
    ],
    ids=["it", "another of its number", "no say", "no process", "no such process"],
)
async def test_a_profile_is_that_of_the_very_process(
    records: list[dict[str, Any]] | None,
    pid: int | None,
    profile: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(surroundings, "asked_once", _agent(records))
    found = await surroundings._started(LocalHost(), pid)
    assert found == (profile, 71.5 if profile else None)
