"""A host that is this machine, with the agent's folder and lock in the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from eagletui.host.local import LocalHost
from tests.control.servers import Servers


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    mine = Servers(tmp_path)
    monkeypatch.setenv("EAGLETUI_STATE", str(mine.state))
    monkeypatch.setenv("EAGLETUI_LOCK", str(mine.lock))
    yield mine
    mine.end()


@pytest.fixture
async def host() -> AsyncIterator[LocalHost]:
    local = LocalHost()
    await local.connect()
    yield local
    await local.close()
