"""What libraries log does not reach the terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest

TOLD = "Unknown child process pid 4242, will report returncode 255"


@pytest.mark.parametrize("name", ["asyncio", "asyncssh"])
def test_a_warning_of_a_library_stays_off_standard_error(name: str) -> None:
    program = (
        "import logging\n"
        "from eagletui.cli.main import main\n"
        "main(['paths'], standalone_mode=False)\n"
        f"logging.getLogger({name!r}).warning({TOLD!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
