"""`eagletui check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eagletui.cli.main import main

GOOD = "python3 -m sglang.launch_server --model-path m --enable-metrics --decode-log-interval 5"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


def document(*arguments: str, status: int = 0) -> Any:
    result = run("--json", *arguments)
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def test_a_command_line_that_is_well() -> None:
    assert document("--sglang", "0.5.16", "--", *GOOD.split()) == {
        "ok": True,
        "sglang": None,
        "command": GOOD.split(),
        "environment": {},
        "findings": [],
    }


def test_a_command_line_that_would_be_refused() -> None:
    said = document("--sglang=0.5.23", "--", *GOOD.split(), "--pp", "1", status=1)
    assert said["ok"] is False
    assert said["findings"] == [
        {
            "code": "flag-renamed",
            "severity": "error",
            "path": "server.flags.pp",
            "message": "--pp is gone since 0.5.5 (the short form became ambiguous): the server "
            "ends at once with a usage text.",
            "advice": "Use --pp-size.",
        }
    ]


def test_text_for_a_person() -> None:
    result = run("--sglang", "0.5.23", "--", *GOOD.split(), "--pp", "1", "--page-size", "x\x1b[31m")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "✖ flag-renamed  server.flags.pp",
        "    --pp is gone since 0.5.5 (the short form became ambiguous): the server ends at once "
        "with a usage text.",
        "    → Use --pp-size.",
        "✖ bad-number  server.flags.page-size",
        "    --page-size does not take 'x\\x1b[31m': the server refuses it.",
        "    → Give it a number, or valid JSON where it takes that.",
        "for SGLang 0.5.23: 2 errors",
    ]


def test_variables_before_the_command_and_secrets() -> None:
    words = ["env", "NCCL_PROTOO=LL", "HF_TOKEN=abc", *GOOD.split(), "--api-key", "hush-hush"]
    result = run("--sglang", "0.5.23", "--json", "--", *words, "--api-key", "other-secret")
    assert result.exit_code == 0
    for secret in ("abc", "hush-hush", "other-secret"):
        assert secret not in result.output
    said = json.loads(result.stdout)
    assert set(said["environment"]) == {"NCCL_PROTOO", "HF_TOKEN"}
    codes = [finding["code"] for finding in said["findings"]]
    assert codes == ["flag-twice", "misspelt-variable", "secret-visible", "secret-visible"][:3]


def test_without_a_release_all_are_looked_at() -> None:
    result = run("--", *GOOD.split(), "--cuda-graph-max-bs", "8")
    assert result.exit_code == 0
    assert "In 0.5.20 and later: --cuda-graph-max-bs is gone" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "for every release of SGLang that is known: 1 warning, 1 info"
    )


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("eagletui.cli.shelf.profiles_folder", lambda: tmp_path)
    return tmp_path


def test_a_profile_and_parts_laid_over_it(own: Path) -> None:
    (own / "mine.toml").write_text(
        '[server]\nmodel = "m"\n[server.flags]\nmax-running-requests = 4\n'
        '[speculative]\nalgorithm = "NGRAM"\n'
    )
    said = document("mine+measured", "--sglang", "0.5.23")
    assert said["findings"] == []
    assert "--enable-metrics" in said["command"]
    assert said["environment"] == {"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1"}
    assert document("mine+measured", "--sglang", "0.5.1", status=1)["findings"][0]["code"] == (
        "bad-choice"
    )


@pytest.mark.parametrize("name", ["kimi-k2.5", "kimi-k2.5+tree-5-4-8", "kimi-k2.5+speculation-off"])
def test_what_ships_is_without_error(name: str) -> None:
    assert document(name, "--sglang", "0.5.23")["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--sglang", "new", "--", "python"), "'new' is no release of SGLang"),
        (("no-such-profile",), "There is no profile called no-such-profile"),
        (("--",), "There is no command line after `--`"),
        (("kimi-k2.5", "--", "python"), "One thing is checked"),
        (("chain-2",), "has neither a model nor a command"),
        (("kimi-k2.5", "--local", "--host", "h"), "Both --host and --local were given"),
    ],
)  # fmt: skip
def test_wrong_usage(arguments: tuple[str, ...], says: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_no_connection(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host nowhere\n  HostName 127.0.0.1\n  Port 1\n")
    result = run("--host", "nowhere", "--ssh-config", str(config), "--", *GOOD.split())
    assert result.exit_code == 3
    assert result.stderr.startswith("eagletui: ")


def test_with_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = GOOD.replace("python3", "/no/such/python3").split()
    said = document("--local", "--", *words, "--model-path", "/no/model", status=1)
    codes = {finding["code"]: finding for finding in said["findings"]}
    assert codes["sglang-missing"]["message"] == "There is no /no/such/python3 on the host."
