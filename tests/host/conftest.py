"""Fixtures that reach a machine: a real sshd, or this machine itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from eagletui.host.local import LocalHost
from eagletui.host.shellhost import ShellHost
from eagletui.host.ssh import SshHost
from tests import sshd
from tests.host.people import Person


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Sshd]:
    """One OpenSSH server for every test that does not change it."""
    if sshd.SSHD is None:
        pytest.skip(sshd.MISSING)
    running = sshd.start_sshd(tmp_path_factory.mktemp("sshd"))
    yield running
    running.stop()


@pytest.fixture
async def ssh(server: sshd.Sshd) -> AsyncIterator[SshHost]:
    """A connected host over that server."""
    host = SshHost(server.name, asker=Person(), config=[str(server.config)])
    await host.connect()
    yield host
    await host.close()


@pytest.fixture
async def local() -> AsyncIterator[LocalHost]:
    host = LocalHost()
    await host.connect()
    yield host
    await host.close()


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.sshd)])
def host(request: pytest.FixtureRequest) -> ShellHost:
    """Both ways to a machine, one after the other."""
    chosen: ShellHost = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"
