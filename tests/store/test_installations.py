"""Options of installations, kept on disk."""

from __future__ import annotations

import os
from pathlib import Path

from eagletui.model.finding import Option
from eagletui.store.installations import KEPT, InstallationMemory

OPTIONS = (Option(flags=("--a", "--b"), choices=("x",)), Option(flags=("--c",), takes_value=False))


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    memory = InstallationMemory(tmp_path / "cache")
    assert memory.options("h|py|1|0") is None
    memory.keep("h|py|1|0", OPTIONS)
    assert memory.options("h|py|1|0") == OPTIONS
    assert memory.options("h|py|2|0") is None


def test_a_broken_file_is_asked_again(tmp_path: Path) -> None:
    memory = InstallationMemory(tmp_path)
    memory.keep("k", OPTIONS)
    (file,) = tmp_path.glob("*.json")
    for text in ("", "{", '{"version": 9, "key": "k", "options": []}'):
        file.write_text(text)
        assert memory.options("k") is None
    memory.keep("k", OPTIONS)
    assert memory.options("k") == OPTIONS


def test_the_oldest_go(tmp_path: Path) -> None:
    memory = InstallationMemory(tmp_path)
    for number in range(KEPT):
        memory.keep(str(number), OPTIONS)
    for file in tmp_path.glob("*.json"):
        os.utime(file, (1, 1))
    memory.keep("new", OPTIONS)
    assert len([*tmp_path.glob("*.json")]) == KEPT
    assert memory.options("new") == OPTIONS
