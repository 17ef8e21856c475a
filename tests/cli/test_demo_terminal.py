"""`eagletui demo` in a real terminal: nothing set up, keys in, text out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import ENDED, Terminal, tmux_program

pytestmark = pytest.mark.skipif(tmux_program() is None, reason="no tmux: apt-get install tmux")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, ["demo", "--speed", "200"])
    yield terminal
    terminal.close()


def test_from_nothing_to_live_charts_and_out_again(terminal: Terminal) -> None:
    screen = terminal.wait_for("accept length", 60)
    assert "tok/s" in screen
    terminal.press("?")
    terminal.wait_for("panel.fill")
    terminal.press("Escape")
    # Not at once: Escape and a letter in one breath are Alt and the letter.
    terminal.wait("the help is gone", lambda text: "panel.fill" not in text)
    terminal.press("q")
    assert f"{ENDED} 0" in terminal.wait_for(ENDED)


def test_ctrl_c_twice_leaves_a_clean_terminal(terminal: Terminal) -> None:
    terminal.wait_for("accept length", 60)
    terminal.press("C-c", "C-c")
    screen = terminal.wait_for(ENDED)
    assert f"{ENDED} 0" in screen
    assert "Traceback" not in screen
    assert "accept length" not in screen
