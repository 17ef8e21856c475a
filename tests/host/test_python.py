"""Which Python of a host runs our small programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from eagletui.host.local import LocalHost
from eagletui.host.python import find_python


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> LocalHost:
    """A host without a Python of its own."""
    monkeypatch.setattr("eagletui.host.python.USUAL", ("/nowhere/python3",))
    return LocalHost()


async def test_the_servers_own_is_taken_where_the_system_has_none(bare: LocalHost) -> None:
    assert await find_python(bare, [sys.executable]) == sys.executable
    assert await find_python(bare) == ""


async def test_a_persons_script_is_never_run_to_see_whether_it_is_one(
    bare: LocalHost, tmp_path: Path
) -> None:
    names = ("serve.sh", "sglang", "python-serve", "bash")
    for name in names:
        script = tmp_path / name
        script.write_text('#!/bin/sh\ntouch "$0.was-run"\n')
        script.chmod(0o755)
        assert await find_python(bare, [str(script), name]) == ""
    assert len(os.listdir(tmp_path)) == len(names)


async def test_one_that_is_too_old_is_passed_over(bare: LocalHost, tmp_path: Path) -> None:
    old = tmp_path / "python3.7"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert await find_python(bare, [str(old), sys.executable]) == sys.executable
