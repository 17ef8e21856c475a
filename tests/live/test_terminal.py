"""The live screen on the real server, in a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.server import RELEASE, LabServer
from tests.live.ssh import ALIAS
from tests.sshd import Sshd
from tests.terminal import ENDED, Terminal, tmux_program

pytestmark = pytest.mark.skipif(tmux_program() is None, reason="no tmux: apt-get install tmux")


@pytest.fixture
def terminal(eagle: LabServer, sshd: Sshd, tmp_path: Path) -> Iterator[Terminal]:
    words = ["--host", ALIAS, "--ssh-config", str(sshd.config), "--pid", str(eagle.pid)]
    terminal = Terminal(tmp_path, words)
    yield terminal
    terminal.close()


def test_charts_log_help_and_a_clean_way_out(terminal: Terminal, eagle: LabServer) -> None:
    screen = terminal.wait_for("Accept length", 60)
    assert "tok/s" in screen
    assert RELEASE in screen
    terminal.press("l")
    terminal.wait_for("The server is fired up and ready to roll!")
    eagle.generate("def one(", 8)
    terminal.wait_for("Prefill batch")
    terminal.press("?")
    terminal.wait_for("Search")
    terminal.press("Escape", "Escape")
    terminal.wait_for("Accept length")
    terminal.press("q")
    assert f"{ENDED} 0" in terminal.wait_for(ENDED)


def test_it_stays_usable_when_the_window_shrinks(terminal: Terminal) -> None:
    terminal.wait_for("Accept length", 60)
    terminal.resize(80, 24)
    terminal.wait("80 columns are filled", lambda text: len(text.splitlines()) <= 24)
    terminal.wait_for("ccept")
    terminal.resize(50, 15)
    terminal.wait_for("eagletui needs at least 60×20 cells")
    terminal.resize(120, 40)
    terminal.wait_for("Accept length")
    terminal.press("q")
    terminal.wait_for(f"{ENDED} 0")
