"""Servers that load beside the one to be started: real processes, found by what they lack."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.cli.reaching import facts_for
from eagletui.host.local import LocalHost
from eagletui.model.profile import StartPlan
from eagletui.monitor.preflight import loading_beside

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# Called as SGLang is; listens only when it is told to.
SERVER = """
import socket, sys
port = int(sys.argv[sys.argv.index("--port") + 1])
listener = socket.socket()
print("up", flush=True)
for line in sys.stdin:
    listener.bind(("127.0.0.1", port))
    listener.listen()
    print("listens", flush=True)
"""


@pytest.fixture
def port() -> int:
    """A port that is free."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A server that loads; a line on its standard input ends that."""
    script = tmp_path / "sglang" / "launch_server.py"
    script.parent.mkdir()
    script.write_text(SERVER)
    started = subprocess.Popen(
        [sys.executable, str(script), "--model-path", "m", "--port", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "up\n"
    yield started
    started.kill()
    started.communicate()


async def test_a_server_loads_until_it_listens(server: subprocess.Popen[str], port: int) -> None:
    host = LocalHost()
    await host.connect()
    said = f":{port} (pid {server.pid})"
    assert said in await loading_beside(host)
    assert said not in await loading_beside(host, leaving=(server.pid,))
    start = StartPlan(argv=(sys.executable, "-m", "sglang.launch_server"), port=port)
    # On its own port it is the one to be replaced, on another it is in the way.
    assert said not in (await facts_for(host, start)).loading
    assert said in (await facts_for(host, replace(start, port=port - 1))).loading
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("go\n")
    server.stdin.flush()
    assert server.stdout.readline() == "listens\n"
    assert said not in await loading_beside(host)
    await host.close()
