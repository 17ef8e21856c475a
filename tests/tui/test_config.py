"""`config.toml` is read strictly, and what is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagletui.model.errors import ConfigError
from eagletui.store.places import config_file
from eagletui.tui.actions import ACTIONS, check_keys, is_key
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
        (
            'bell = "yes"\n',
            "c.toml, line 1: bell: it must be true or false, without quotes, not a text.",
            "",
        ),
        (
            'theme = "nord"\n\n[keys]\n"app.quit" = "x"\n"log.search" = 3\n',
            'c.toml, line 5: keys."log.search": it must be a text in quotes, like "f3", not a whole'
            " number.",
            "ctrl+s",
        ),
        (
            '[keys]\n"log.search" = ["f3"]\n',
            'c.toml, line 2: keys."log.search": it must be a text in quotes, like "f3",'
            " not a list.",
            "several with commas between",
        ),
        (
            "bell = true\nkeys = 3\n",
            "c.toml, line 2: keys: it must be a table, not a whole number.",
            "",
        ),
        (
            '[hosts.a]\naccent = "red"\n[hosts."10.0.0.7"]\naccent = 3\n',
            'c.toml, line 4: hosts."10.0.0.7".accent: it must be a text in quotes, like "f3", not a'
            " whole number.",
            "",
        ),
        ('[keys]\n"app.quit" = "ctrl+"\n', 'c.toml, line 2: "ctrl+" is not a key.', '"ctrl+s"'),
        ('[keys]\n"app.quit" = "strg+q"\n', 'c.toml, line 2: "strg+q" is not a key.', '"space"'),
        ('[keys]\n"app.quit" = "q, x y"\n', 'c.toml, line 2: "x y" is not a key.', '"space"'),
        (
            '[hosts.gpu1]\naccent = "red"\nread_only = 3\n',
            "c.toml, line 3: hosts.gpu1.read_only: it must be true or false, without quotes, not a"
            " whole number.",
            "",
        ),
        (
            'marker = "dots"\n',
            'c.toml, line 1: marker: it cannot be "dots".',
            "One of: braille, hd, ascii.",
        ),
        ('window = "15"\n', 'c.toml, line 1: window: it cannot be "15".', 'Did you mean "15m"?'),
        (
            "window = 15\n",
            "c.toml, line 1: window: it cannot be a whole number.",
            "1m, 5m, 15m, 1h, all",
        ),
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


def test_what_a_terminal_can_send_is_a_key() -> None:
    keys = "s N / ? question_mark f5 ctrl+s + - ctrl+plus shift+tab alt+left space [ at @ ö ß"
    keys += " pagedown slash full_stop . number_sign less_than_sign < minus _ f12 enter"
    assert [key for key in keys.split() if not is_key(key)] == []
    wrong = ("", "ctrl+", "strg+q", "x y", "entr", "f99", "log.search", "ctrl", "+s")
    assert [key for key in wrong if is_key(key)] == []
    assert parse_settings("[keys]\n'view.log' = ','\n").keys == {"view.log": ","}


def test_every_key_of_ours_is_a_key() -> None:
    for action in ACTIONS:
        if action.keys:
            check_keys({action.id: action.keys})
