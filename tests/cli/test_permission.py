"""Who may change a host: one rule, and every command that obeys it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eagletui.cli.main import main
from eagletui.model.permission import Permission, permission
from eagletui.model.profile import Guard
from eagletui.tui.config import HostSettings, Settings, parse_settings
from tests.control.conftest import host, servers
from tests.control.servers import Servers, alive

__all__ = ["host", "servers"]


@pytest.mark.parametrize(
    ("given", "refused", "name"),
    [
        ({}, "", ""),
        ({"session_read_only": True, "host_protected": True}, "--read-only", ""),
        ({"host_read_only": True}, "nothing on gpu1 is changed (read_only in config.toml)", ""),
        ({"guard": Guard(read_only=True)}, "guard", ""),
        ({"guard": Guard()}, "", ""),
        ({"guard": Guard(protected=True)}, "", "gpu1"),
        ({"host_protected": True, "guard": Guard()}, "", "gpu1"),
        ({"host_protected": True}, "", "gpu1"),
    ],
)
def test_the_strictest_word_counts(given: dict[str, bool], refused: str, name: str) -> None:
    found = permission("gpu1", **given)  # type: ignore[arg-type]
    assert refused in found.refusal
    assert bool(found.refusal) == bool(refused) == bool(found.advice)
    assert found.name == name
    assert permission("gpu1") == Permission()


@pytest.mark.parametrize(
    ("asked", "read_only"),
    [
        ("gpu1", True),
        ("ann@gpu1", True),
        ("gpu1:2222", True),
        ("ann@gpu1:2222", True),
        ("root@gpu1", False),
        ("gpu11", False),
        ("fe80::1", True),
        ("ann@fe80::1", True),
    ],
)
def test_a_host_is_meant_however_it_is_reached(asked: str, read_only: bool) -> None:
    text = """
        [hosts.gpu1]
        read_only = true
        [hosts."root@gpu1"]
        protected = true
        [hosts."fe80::1"]
        read_only = true
    """
    assert parse_settings(text).host(asked).read_only is read_only
    assert Settings().host(asked) == HostSettings()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("EAGLETUI_CONFIG", str(path))
    return path


COMMANDS = {
    "launch": ["launch", "--force", "--"],
    "launch --resume": ["launch", "--resume", "20260101-000000-abcdef"],
    "stop": ["stop"],
    "restart": ["restart"],
}


def run(command: str, servers: Servers, *more: str) -> Result:
    words = COMMANDS[command]
    end = list(servers.argv("--tag", "new")) if words[-1] == "--" else []
    if command in ("stop", "restart"):
        more = (*more, "--port", str(servers.port))  # the machine may run other people's
    begin = [*words[:1], "--local", "--yes", "--settle", "0", *more]
    return CliRunner().invoke(main, [*begin, *words[1:], *end])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_host_that_is_read_only_is_not_changed_by_any_command(
    servers: Servers, config: Path, command: str
) -> None:
    config.write_text("[hosts.localhost]\nread_only = true\n")
    old = servers.start()
    done = run(command, servers)
    assert done.exit_code == 1
    assert "nothing on localhost is changed (read_only in config.toml)" in done.output
    assert alive(old.pid)
    assert servers.launches() == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_session_that_is_read_only_changes_nothing_by_any_command(
    servers: Servers, config: Path, command: str
) -> None:
    config.write_text("")
    done = run(command, servers, "--read-only")
    assert done.exit_code == 1
    assert "(--read-only)" in done.output
    assert servers.launches() == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_protected_host_wants_its_name_though_yes_was_said(
    servers: Servers, config: Path, command: str
) -> None:
    config.write_text("[hosts.localhost]\nprotected = true\n")
    old = servers.start()
    done = run(command, servers)
    assert done.exit_code == 2, done.output
    assert "localhost is protected, and nobody is there to be asked." in done.output
    assert alive(old.pid)
    assert servers.launches() == []


@pytest.mark.parametrize("command", COMMANDS)
def test_settings_that_cannot_be_read_allow_nothing(
    servers: Servers, config: Path, command: str
) -> None:
    config.write_text("[hosts.localhost\n")
    done = run(command, servers)
    assert done.exit_code != 0
    assert "config.toml" in done.output
    assert servers.launches() == []


def test_a_dry_run_may_look_at_a_host_that_is_read_only(servers: Servers, config: Path) -> None:
    config.write_text("[hosts.localhost]\nread_only = true\n")
    done = run("launch", servers, "--dry-run")
    assert "Nothing was changed." in done.output
