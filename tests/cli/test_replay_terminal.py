"""A demo recorded and replayed in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal import ENDED, Terminal, tmux_program

pytestmark = pytest.mark.skipif(tmux_program() is None, reason="no tmux: apt-get install tmux")


def test_a_demo_is_recorded_and_replayed(tmp_path: Path) -> None:
    path, first, second = tmp_path / "a.rec", tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    terminal = Terminal(first, ["demo", "--speed", "300", "--record", str(path)])
    try:
        terminal.wait_for("tok/s", 60)
        terminal.wait_for("● rec", 10)
        terminal.press("q")
        told = terminal.wait_for(f"{ENDED} 0")
        assert "Recorded" in told
    finally:
        terminal.close()
    terminal = Terminal(second, ["replay", str(path), "--speed", "64"], size=(80, 24))
    try:
        screen = terminal.wait_for("■ end of replay", 60)
        terminal.press("{")
        terminal.wait_for("×32")
        assert "last words" not in screen
        assert "tok/s" in screen
        terminal.press("(")
        terminal.press("P")
        terminal.wait_for("held: replay")
        terminal.press("q")
        terminal.wait_for(f"{ENDED} 0")
    finally:
        terminal.close()
