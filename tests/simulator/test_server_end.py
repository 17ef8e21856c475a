"""How a simulated server ends: its log's last words are its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eagletui.simulator.processes import hold_lease
from eagletui.simulator.server import FOLDER, SETTINGS

# Stands for a worker whose end is told while the event loop is being closed.
_AS_THE_LOOP_CLOSES = """
import asyncio.selector_events, os, signal
close = asyncio.selector_events.BaseSelectorEventLoop.close
def close_and_hear(loop):
    close(loop)
    os.kill(os.getpid(), signal.{signal})
asyncio.selector_events.BaseSelectorEventLoop.close = close_and_hear
from eagletui.simulator import server
server.main()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks workers with titles")
@pytest.mark.parametrize("number", [signal.SIGCHLD, signal.SIGQUIT, signal.SIGINT])
def test_a_signal_at_the_very_end_is_not_logged(tmp_path: Path, number: signal.Signals) -> None:
    settings = {"scenario": "crash-oom", "release": "0.5.23", "speed": 1e6, "ports": {}}
    (tmp_path / SETTINGS).write_text(json.dumps(settings))
    (tmp_path / "load").mkdir()
    script = _AS_THE_LOOP_CLOSES.format(signal=number.name)
    lease = hold_lease(tmp_path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, "--model-path", "/models/m", "--port", "1"],
            env={**os.environ, FOLDER: str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(lease)
    *_, last = done.stderr.decode().rstrip().splitlines()
    assert "Received sigquit from a child process." in last
    assert done.returncode == 1
