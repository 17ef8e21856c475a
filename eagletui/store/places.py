"""Where files live: one table, shown by `eagletui paths`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

APP = "eagletui"
CONFIG_VARIABLE = "EAGLETUI_CONFIG"
DATA_VARIABLE = "EAGLETUI_DATA"


def config_folder() -> Path:
    """Settings, themes and profiles of the person."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False))


def config_file() -> Path:
    """The settings: the file that `EAGLETUI_CONFIG` names, else `config.toml` in its folder."""
    given = os.environ.get(CONFIG_VARIABLE, "")
    return Path(os.path.expanduser(given)) if given else config_folder() / "config.toml"


def themes_folder() -> Path:
    """Themes of the person."""
    return config_folder() / "themes"


def profiles_folder() -> Path:
    """Profiles of the person."""
    return config_folder() / "profiles"


def shipped_profiles_folder() -> Path:
    """`profiles/` of the installed package, or of the checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "profiles"
    return installed if installed.is_dir() else package.parent / "profiles"


def data_folder() -> Path:
    """What was learned and measured; `EAGLETUI_DATA` names another folder."""
    given = os.environ.get(DATA_VARIABLE, "")
    if given:
        # `Path` fails where it knows no such user.
        return Path(os.path.expanduser(given))
    return Path(platformdirs.user_data_dir(APP, appauthor=False))


def installations_folder() -> Path:
    """Options of the SGLangs that were asked; a cache."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "installations"


def launches_file() -> Path:
    """How long phases took, by host and model."""
    return data_folder() / "launches.json"


def runs_file() -> Path:
    """Measured runs, live sessions' series and saved comparisons."""
    return data_folder() / "runs.db"


def claims_folder() -> Path:
    """Which benchmark measures which server, while it does."""
    return data_folder() / "benchmarks"


PLACES: dict[str, Callable[[], Path]] = {
    "config": config_folder,
    "config file": config_file,
    "user themes": themes_folder,
    "user profiles": profiles_folder,
    "data": data_folder,
    "learned launches": launches_file,
    "runs": runs_file,
    "installations": installations_folder,
    "benchmarks": claims_folder,
}
