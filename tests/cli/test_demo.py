"""`eagletui demo` as far as it goes without a screen."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from eagletui.cli.main import main
from eagletui.simulator.scenarios import SCENARIOS


def test_list_names_every_scenario() -> None:
    result = CliRunner().invoke(main, ["demo", "--list"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines() if line][:-1] == list(SCENARIOS)
    assert result.output.splitlines()[-1].startswith("Releases: 0.4.6.post5, ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scenario", "nope"], "There is no scenario called nope."),
        (["--release", "9.9.9"], "SGLang 9.9.9 cannot be simulated."),
        (["--speed", "0"], "Invalid value for '--speed'"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["demo", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, -15), (signal.SIGKILL, -9)]
)
def test_serve_says_how_to_connect_and_leaves_nothing(number: int, status: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "eagletui", "demo", "--serve", "--scenario", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(r"eagletui --ssh-config (\S+) --host idle-node\n", line)
            assert found is not None
            config = Path(found[1])
            assert config.read_text().startswith("Host idle-node\n  HostName 127.0.0.1\n  Port ")
            process.send_signal(number)
            assert process.wait(180) == status
        finally:
            # Leaving the block waits for it without a limit.
            process.kill()
    # What clears away after a kill is a process of its own.
    for _ in range(18_000):
        if not config.parent.parent.exists():
            break
        time.sleep(0.01)
    assert not config.parent.parent.exists()
