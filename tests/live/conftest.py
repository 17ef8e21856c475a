"""The lab's servers, an sshd in front of them, and eagletui's commands.

A start costs half a minute of two cores, so servers are shared by the tests of a session:

`eagle`     EAGLE3, metrics, log into a file; watched by `watcher` from its first line on
`plain`     no speculation, no metrics, log through `tee`

Files that share no server go side by side on two cores: `pytest -n 2 --dist loadgroup`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eagletui.monitor.api import Wanted
from tests.guardian import guarded
from tests.live.server import LabServer, started, why_not
from tests.live.ssh import ALIAS
from tests.live.watcher import Watcher
from tests.sshd import MISSING, SSHD, Sshd, start_sshd

HERE = Path(__file__).parent
WITHOUT_LAB = ("test_docker.py", "test_systemd.py")
OWN_SERVERS = (*WITHOUT_LAB, "test_check.py", "test_failures.py", "test_switching.py")
"""They have nothing of `eagle` or `plain`."""


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here as live; skip those that need the lab where it is not installed."""
    reason = why_not() or ("" if SSHD else MISSING)
    for item in items:
        if HERE in Path(item.path).parents:
            item.add_marker(pytest.mark.live)
            own = Path(item.path).name in OWN_SERVERS
            item.add_marker(pytest.mark.xdist_group("own servers" if own else "shared servers"))
            if reason and Path(item.path).name not in WITHOUT_LAB:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def _guardian() -> Iterator[None]:
    """Servers are large: nothing that a test started outlives the tests, however they end."""
    with guarded():
        yield


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A real OpenSSH server on this machine."""
    server = start_sshd(tmp_path_factory.mktemp("ssh"), name=ALIAS)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers' logs go."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def starting_eagle(folder: Path) -> Iterator[LabServer]:
    """EAGLE3 (k=3, topk 1, 4 draft tokens), as soon as its process is there."""
    with started(folder, "eagle", "EAGLE3") as server:
        yield server


@pytest.fixture(scope="session")
def watcher(starting_eagle: LabServer, sshd: Sshd) -> Iterator[Watcher]:
    """The monitor on that server over SSH, connected while it loads."""
    watcher = Watcher(ALIAS, sshd.config, Wanted(pid=starting_eagle.pid))
    yield watcher
    watcher.close()


@pytest.fixture(scope="session")
def eagle(starting_eagle: LabServer, watcher: Watcher) -> LabServer:
    """The same, ready to serve."""
    starting_eagle.wait_ready()
    return starting_eagle


@pytest.fixture(scope="session")
def plain(folder: Path) -> Iterator[LabServer]:
    """A server without speculation and without metrics, its log in `2>&1 | tee`."""
    with started(folder, "plain", "off", redirect="tee", metrics=False) as server:
        server.wait_ready()
        yield server


Command = Callable[..., Any]


def _with_json(words: Sequence[str | Path | int]) -> list[str]:
    """Before a `--`, after which everything is another command's."""
    texts = [str(word) for word in words]
    at = texts.index("--") if "--" in texts else len(texts)
    return [*texts[:at], "--json", *texts[at:]]


@pytest.fixture
def eagletui() -> Command:
    """Run a command in a process of its own; its JSON, or (status, stderr) where it failed."""

    def run(*words: str | Path | int, status: int = 0, limit: float = 600) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "eagletui", *_with_json(words)],
            capture_output=True,
            timeout=limit,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(HERE.parent.parent)},
        )
        assert done.returncode == status, done.stderr.decode() + done.stdout.decode()
        return json.loads(done.stdout) if done.stdout.strip() else done.stderr.decode()

    return run


@pytest.fixture
def status(eagletui: Command, sshd: Sshd) -> Command:
    """`eagletui status` of this machine over SSH."""

    def look(*words: str) -> Any:
        return eagletui("status", "--host", ALIAS, "--ssh-config", sshd.config, *words)

    return look
