"""`config.toml` is read strictly, and what is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagletui.model.errors import ConfigError
from eagletui.store.places import config_file
from eagletui.tui.config import HostSettings, Settings, load_settings, parse_settings

WHOLE = """
theme = "eagle-light"
interval = 0.5
marker = "ascii"
window = "1h"
bell = true

[keys]
"log.search" = "f3"
"app.quit" = "ctrl+q"

[hosts.gpu1]
accent = "#b3261e"
protected = true

[hosts."10.0.0.7"]
read_only = true
"""


def test_a_whole_file() -> None:
    settings = parse_settings(WHOLE)
    assert settings == Settings(
        theme="eagle-light",
        interval=0.5,
        marker="ascii",
        window="1h",
        bell=True,
        keys={"log.search": "f3", "app.quit": "ctrl+q"},
        hosts={
            "gpu1": HostSettings(accent="#b3261e", protected=True),
            "10.0.0.7": HostSettings(read_only=True),
        },
    )
    assert settings.host("gpu1").protected
    assert settings.host("unknown") == HostSettings()


@pytest.mark.parametrize(
    ("text", "what", "advice"),
    [
        (
            'theme = "nord"\nintervall = 2\n',
            'c.toml, line 2: there is no setting "intervall".',
            'Did you mean "interval"?',
        ),
        (
            "[hosts.gpu1]\nprotect = true\n",
            'c.toml, line 2: there is no setting "protect" in [hosts.gpu1].',
            'Did you mean "protected"?',
        ),
        (
            '\n[keys]\n"log.serch" = "f3"\n',
            'c.toml, line 3: there is no action "log.serch".',
            'Did you mean "log.search"?',
        ),
        (
            '[keys]\n"log.search" = "v"\n',
            'c.toml, line 2: key "v" would do both "log.search" and "log.level" on the log screen.',
            'move "log.level" as well',
        ),
        ("interval = 0.1\n", "c.toml, line 1: `interval` must be between 0.2 and 30 seconds.", ""),
        ('bell = "yes"\n', "c.toml, line 1: bell: Expected `bool`, got `str`.", ""),
        (
            '[hosts.gpu1]\naccent = "red"\nread_only = 3\n',
            "c.toml, line 3: hosts.gpu1.read_only: Expected `bool`, got `int`.",
            "",
        ),
        ('marker = "dots"\n', "c.toml, line 1: marker: Invalid enum value 'dots'.", ""),
        ("theme = \n", "c.toml is not valid TOML: Invalid value (at line 1, column 9).", ""),
        ('[keys]\n"app.quit" = "q,,x"\n', 'c.toml, line 2: "q,,x" holds an empty key.', ""),
    ],
)
def test_what_is_wrong_is_named(text: str, what: str, advice: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(text, "c.toml")
    assert caught.value.what == what
    assert advice in caught.value.advice
    assert caught.value.exit_status == 2


def test_moving_both_keys_is_no_conflict() -> None:
    settings = parse_settings('[keys]\n"log.search" = "v"\n"log.level" = "slash"\n')
    assert settings.keys == {"log.search": "v", "log.level": "slash"}


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings() == Settings()
    given = tmp_path / "my.toml"
    monkeypatch.setenv("EAGLETUI_CONFIG", str(given))
    assert config_file() == given
    with pytest.raises(ConfigError, match="is not there"):
        load_settings()
    given.write_text('theme = "nord"\n')
    assert load_settings().theme == "nord"
    given.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings()
