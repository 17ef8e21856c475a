"""The live screen on the real server, in a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

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
    screen = terminal.wait_for("¹ accept length")
    assert "³ tok/s" in screen
    assert RELEASE in screen
    terminal.press("l")
    terminal.wait_for("following")
    with pytest.raises(HTTPError):  # a line that nothing else writes, whatever the log holds
        eagle.get("/no-such-page")
    terminal.wait_for("GET /no-such-page")
    terminal.press("?")
    terminal.wait_for("log.search")
    terminal.press("Escape")
    terminal.wait("the log again", lambda text: "log.search" not in text)
    terminal.press("Escape")
    terminal.wait_for("¹ accept length")
    terminal.press("q")
    assert f"{ENDED} 0" in terminal.wait_for(ENDED)


def test_it_stays_usable_when_the_window_shrinks(terminal: Terminal) -> None:
    terminal.wait_for("¹ accept length")
    terminal.resize(80, 24)
    terminal.wait("a smaller picture", lambda text: max(map(len, text.splitlines())) <= 80)
    terminal.wait_for("accept length")
    terminal.resize(50, 15)
    terminal.wait_for("60×20")
    terminal.resize(120, 40)
    terminal.wait_for("¹ accept length")
    terminal.press("q")
    assert f"{ENDED} 0" in terminal.wait_for(ENDED)
