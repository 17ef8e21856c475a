from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from eagletui import __version__
from eagletui.cli.main import COMMANDS, main
from eagletui.cli.options import api_key_from, chosen_target
from eagletui.host.config import load_config
from eagletui.host.target import Target
from eagletui.model.errors import UsageError


def test_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.output == f"eagletui, version {__version__}\n"


def test_help_lists_every_command_without_importing_one() -> None:
    code = (
        "import sys; from eagletui.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'textual', 'asyncssh', 'aiohttp', 'plotext', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself_and_has_json(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0, result.output
    if name != "demo":
        assert "--json" in result.output


def test_an_unknown_command_is_wrong_usage() -> None:
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "--url", "http://127.0.0.1:1", "--name", "\udce9"],
        ["bench", "--url", "http://127.0.0.1:1/\udce9"],
        ["runs", "note", "x", "caf\udce9"],
        ["runs", "tag", "x", "--name=\udce9"],
        ["--host", "\udce9"],
    ],
)
def test_what_is_no_text_is_wrong_usage(words: list[str]) -> None:
    """Once it was measured first, and lost when it was to be written."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "is no text in UTF-8" in result.stderr
    assert "\udce9" not in result.stderr


def test_a_file_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/\xe9.log"))
    try:
        path.write_text("[2026-01-01 00:00:00] The server is fired up and ready to roll!\n")
    except OSError:
        pytest.skip("this disk takes UTF-8 alone")
    result = CliRunner().invoke(main, ["log", str(path)])
    assert result.exit_code == 0, result.stderr
    assert "·.log: " in result.output


def test_nothing_to_watch_is_wrong_usage() -> None:
    assert CliRunner().invoke(main, []).exit_code == 2


@pytest.mark.parametrize("words", [["status"], ["status", "--host", "h", "--local"]])
def test_a_host_is_needed_and_only_one(words: list[str]) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "--host" in result.output
    assert result.stdout == ""


def test_the_target_of_local_is_none() -> None:
    assert chosen_target(None, True) is None
    assert chosen_target("gpu1", False) == "gpu1"
    with pytest.raises(UsageError):
        chosen_target(None, False)


def test_paths_as_json() -> None:
    result = CliRunner().invoke(main, ["paths", "--json"])
    document = json.loads(result.stdout)
    assert document["learned launches"]["path"].endswith("launches.json")
    assert document["config file"]["exists"] is False


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_program(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_EAGLETUI_COMPLETE" in result.stdout


def test_a_missing_key_variable_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    result = CliRunner().invoke(main, ["status", "--local", "--api-key-env", "NO_SUCH_KEY"])
    assert result.exit_code == 2
    assert "NO_SUCH_KEY" in result.output


@pytest.mark.parametrize("words", [["--local"], ["demo"], ["--host", "h"]])
def test_without_a_terminal_no_screen_is_drawn(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eagletui", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 2
    assert "status --json" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout


def test_an_ssh_configuration_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    words = ["status", "--host", "h", "--ssh-config", str(tmp_path / "none")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


@pytest.mark.parametrize("line", ["Port many", "UserKnownHostsFile ."])
def test_an_ssh_configuration_that_is_wrong_is_wrong_usage(tmp_path: Path, line: str) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host h\n  HostName 127.0.0.1\n  {line}\n")
    result = CliRunner().invoke(main, ["status", "--host", "h", "--ssh-config", str(config)])
    assert result.exit_code == 2, result.stderr
    result = CliRunner().invoke(main, ["doctor", "--host", "h", "--ssh-config", str(config)])
    assert result.exit_code == 1
    assert "connection" in result.stdout


@pytest.mark.parametrize("pattern", ["config", "con*", "chain0"])
def test_includes_without_end_are_wrong_usage(tmp_path: Path, pattern: str) -> None:
    config = tmp_path / "config"
    config.write_text(f"Include {tmp_path}/{pattern}\nHost box\n  HostName 127.0.0.1\n")
    for index in range(20):
        (tmp_path / f"chain{index}").write_text(f"Include {tmp_path}/chain{index + 1}\n")
    result = CliRunner().invoke(main, ["status", "--host", "box", "--ssh-config", str(config)])
    assert result.exit_code == 2, result.exception
    assert "Include leads more than 16 files deep" in result.stderr
    assert str(tmp_path) in result.stderr


def test_sixteen_files_deep_are_read(tmp_path: Path) -> None:
    for index in range(16):
        (tmp_path / f"chain{index}").write_text(f"Include {tmp_path}/chain{index + 1}\n")
    (tmp_path / "chain16").write_text("Host box\n  HostName deep\n")
    assert load_config(Target(host="box"), [str(tmp_path / "chain0")]).host == "deep"


@pytest.mark.parametrize("command", [["status", "--local"], ["metrics", "http://127.0.0.1:9"]])
def test_a_key_that_no_header_carries_is_wrong_usage(command: list[str]) -> None:
    words = [*command, "--api-key-env", "K"]
    result = CliRunner().invoke(main, words, env={"K": "open\nsesame"})
    assert result.exit_code == 2
    assert "control characters" in result.stderr
    assert "sesame" not in result.output


def test_a_line_end_after_a_key_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", "sesame\n")
    assert api_key_from("K") == "sesame"
