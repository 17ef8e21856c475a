"""What the doctor says of settings, themes and the SSH configuration; what the screen refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from eagletui.cli.main import main
from eagletui.host.matchexec import unexpanded
from eagletui.store.places import config_file, themes_folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "EAGLETUI_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(text: str) -> Path:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def findings(*words: str) -> dict[str, dict[str, str]]:
    result = CliRunner().invoke(main, ["doctor", "--json", *words])
    found = json.loads(result.stdout)["findings"]
    assert (result.exit_code == 1) == any(f["result"] == "failed" for f in found)
    return {finding["name"]: finding for finding in found}


WRONG = [
    ('interval = 2\ntheme = "eagel-dark"\n', 2, 'there is no theme "eagel-dark"', "eagle-dark"),
    ('\n[keys]\n"log.serch" = "f3"\n', 3, 'there is no action "log.serch"', "log.search"),
]


@pytest.mark.parametrize(("text", "line", "what", "near"), WRONG)
def test_a_wrong_name_in_the_settings_is_told_with_its_line(
    text: str, line: int, what: str, near: str
) -> None:
    path = write(text)
    told = findings()["settings"]
    assert told["result"] == "failed"
    assert told["detail"] == f"{path}, line {line}: {what}."
    assert told["advice"].startswith(f'Did you mean "{near}"?')


@pytest.mark.parametrize(("text", "line", "what", "near"), WRONG)
def test_no_screen_opens_on_it(text: str, line: int, what: str, near: str) -> None:
    path = write(text)
    result = CliRunner().invoke(main, ["--local"])
    assert result.exit_code == 2
    assert f"{path}, line {line}: {what}." in result.stderr
    assert f'Did you mean "{near}"?' in result.stderr


def test_neither_does_one_on_a_wrong_option() -> None:
    result = CliRunner().invoke(main, ["demo", "--theme", "nordd"])
    assert result.exit_code == 2
    assert 'There is no theme "nordd".' in result.stderr
    assert 'Did you mean "nord"?' in result.stderr


def test_a_theme_of_ones_own_counts_and_a_broken_one_is_told() -> None:
    themes_folder().mkdir(parents=True)
    own = themes_folder() / "mine.toml"
    own.write_text('name = "mine"\nprimary = "#102030"\n')
    write('theme = "mine"\n')
    assert findings()["settings"]["result"] == "ok"
    own.write_text('name = "mine"\nprimary = "no colour"\n')
    told = findings()
    assert told["settings"]["result"] == "failed"
    assert told["theme"]["result"] == "warning"
    assert str(own) in told["theme"]["detail"]
    screen = CliRunner().invoke(main, ["--local"])
    assert screen.exit_code == 2
    assert f"Left out: {own}" in screen.stderr


def test_match_exec_with_tokens_is_told_by_file_and_line(home: Path) -> None:
    ssh = home / ".ssh"
    (ssh / "more").mkdir(parents=True)
    (ssh / "more" / "a").write_text('Host x\nMatch host y exec "test %p = 22"\n  Port 1\n')
    (ssh / "config").write_text(
        'Include more/*\nMatch exec "true"\n  Port 2\n# Match exec "%h"\nMATCH !exec=reach-%h\n'
        '  Port 3\nMatch user "a%b" exec true\n'
    )
    told = findings()["ssh config"]
    assert told["result"] == "warning"
    assert f"{ssh}/more/a, line 2; {ssh}/config, line 5" in told["detail"]
    assert "originalhost" in told["advice"]
    (ssh / "config").write_text('Match exec "true"\n  Port 2\n')
    told = findings()["ssh config"]
    assert (told["result"], told["detail"].split(", ")[0]) == ("ok", f"{ssh}/config")
    assert "ssh config" not in findings("--local")


def test_files_that_include_themselves_come_to_an_end(home: Path) -> None:
    config = home / "config"
    config.write_text(f'Include {config}\nInclude {home}/none\nMatch exec "echo %%h"\n')
    assert unexpanded([str(config), str(home / "none")]) == (f"{config}, line 3",)
