"""Where files live: one table, shown by `eagletui paths`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

APP = "eagletui"


def config_folder() -> Path:
    """Settings, themes and profiles of the person. `EAGLETUI_CONFIG_DIR` overrides it."""
    given = os.environ.get("EAGLETUI_CONFIG_DIR")
    return Path(given) if given else Path(platformdirs.user_config_dir(APP))


def data_folder() -> Path:
    """What was learned and measured. `EAGLETUI_DATA_DIR` overrides it."""
    given = os.environ.get("EAGLETUI_DATA_DIR")
    return Path(given) if given else Path(platformdirs.user_data_dir(APP))


def state_folder() -> Path:
    """The program's own log."""
    return Path(platformdirs.user_state_dir(APP))


def launches_file() -> Path:
    """How long phases took, by host and model."""
    return data_folder() / "launches.json"


PLACES: dict[str, Callable[[], Path]] = {
    "config": config_folder,
    "config file": lambda: config_folder() / "config.toml",
    "user themes": lambda: config_folder() / "themes",
    "data": data_folder,
    "learned launches": launches_file,
    "own log": lambda: state_folder() / "eagletui.log",
}
