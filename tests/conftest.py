"""Fixtures for every test: nothing of the developer's own configuration is ever seen."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is slow, not wrong: no example fails for its time.
settings.register_profile("eagletui", deadline=None)
settings.load_profile("eagletui")

# A job in a script's background (`make test &`) is started with these ignored, and programs that
# the tests start would inherit it: an interrupt would never end them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# Under nohup the tests shall go on; a handler of theirs, unlike SIG_IGN, is not inherited.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


@pytest.fixture
def recordings() -> Path:
    """Small pieces of real servers' logs, scrapes and replies."""
    return Path(__file__).parent / "recordings"
