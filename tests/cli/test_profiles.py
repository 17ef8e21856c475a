from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eagletui.cli.main import main
from eagletui.cli.profile_import import chosen, import_lines, imported_server
from eagletui.cli.shelf import all_profiles
from eagletui.engine.start_plan import start_plan
from eagletui.host.processes import RawServer
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.server import LogPlace
from eagletui.store.places import profiles_folder

NOW = datetime(2026, 3, 4, tzinfo=timezone.utc)
MINE = """\
title = "mine"    # a comment

[server]
model = "/m"

[server.flags]
api-key = "s3cret-in-clear"
x = "a\\u001b[31mb"
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["profiles", *words])


def document(*words: str) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def write(name: str, text: str = MINE) -> Path:
    path = profiles_folder() / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_list_shows_yours_and_ours_and_what_is_broken() -> None:
    write("mine")
    write("bad", "[server]\nprot = 1\n")
    listed = document("list")
    rows = {row["name"]: row for row in listed["profiles"]}
    assert (rows["mine"]["shipped"], rows["mine"]["parts"]) == (False, ["server"])
    assert rows["kimi-k2.5"]["include"] == ["measured", "chain-2", "pcie-ll-ring"]
    assert rows["nvlink-default"]["parts"] == ["environment"]
    (problem,) = listed["problems"]
    assert (Path(problem["path"]).name, problem["line"]) == ("bad.toml", 2)
    result = run("list")
    assert result.exit_code == 0
    assert "bad.toml, line 2: there is no key `prot` in [server].\nDid you mean `port`?" in (
        result.stderr
    )
    assert "chain-2  " in result.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two\nlines", r"'two\nlines'"),
        ("a b", "'a b'"),
        ("-x", "'-x'"),
        ("größe", "'größe'"),
        ("it's", '"it\'s"'),
        ("a\x1b[2Jb", r"'a\x1b[2Jb'"),
        ("\udcff", r"'\udcff'"),
        ("end\n", r"'end\n'"),
    ],
)
def test_a_file_that_no_profile_can_be_called_by_is_said_to_be_left_out(
    name: str, said: str
) -> None:
    """Once it was nowhere: neither in the list nor among what is broken."""
    path = write(name)
    write(".#mine")  # an editor's own
    (problem,) = document("list")["problems"]
    assert (problem["path"], problem["line"]) == (
        os.fsencode(path).decode("utf-8", "replace"),
        None,
    )
    assert problem["message"].endswith(f"is left out: no profile can be called {said}.")
    [line, advice] = run("list").stderr.splitlines()
    assert line.endswith(f"no profile can be called {said}.")
    assert advice.startswith("Name it of letters")


def test_show_masks_a_secret_says_so_and_moves_no_cursor() -> None:
    write("mine")
    result = run("show", "mine")
    assert "s3cret" not in result.output
    assert "--api-key stands in the file in clear text" in result.stderr
    assert "\x1b" not in result.output
    shown = document("show", "mine")
    assert "s3cret" not in json.dumps(shown)
    assert shown["command"][5:7] == ["--api-key", "•••"]


def test_show_of_a_part_and_of_layers() -> None:
    part = document("show", "pcie-ll-ring")
    assert part["command"] is None
    assert part["environment"]["NCCL_PROTO"] == "LL"
    assert "takes away NCCL_*" in run("show", "nvlink-default").stdout
    layered = document("show", "kimi-k2.5+speculation-off")
    assert layered["speculative"] == {"off": True, "flags": {}}
    assert layered["name"] == "kimi-k2.5+speculation-off"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["show", "kimi"], 2, "Did you mean kimi-k2.5?"),
        (["show", "kimi-k2.5+chian-2"], 2, "Did you mean chain-2?"),
        (["diff", "kimi-k2.5"], 2, "Two things are compared"),
        (["diff", "kimi-k2.5", "chain-2"], 2, "It is a part"),
        (["diff", "kimi-k2.5", "kimi-k2.5", "--local"], 2, "Two things are compared"),
        (["new", "../x"], 2, "No profile can be called"),
        (["new", "x", "--extends", "kimi"], 2, "Did you mean kimi-k2.5?"),
        (["new", "x", "--set", "server.port"], 2, "has no value"),
        (["edit", "nobody", "--set", "title=x"], 2, "There is no profile"),
        (["import"], 2, "No host was given"),
    ],
)
def test_wrong_use_says_what_is_right(words: list[str], status: int, said: str) -> None:
    result = run(*words)
    assert result.exit_code == status
    assert said in result.stderr
    assert result.stdout == ""
    assert not profiles_folder().exists()


def test_diff_is_exact() -> None:
    changes = document("diff", "kimi-k2.5", "kimi-k2.5+chain-5+nvlink-default")["changes"]
    assert [(c["name"], c["before"], c["after"]) for c in changes][:-1] == [
        ("--speculative-num-steps", "2", "5"),
        ("--speculative-num-draft-tokens", "3", "6"),
        ("NCCL_ALGO", "Ring", None),
        ("NCCL_DEBUG", "WARN", None),
        ("NCCL_P2P_LEVEL", "SYS", None),
        ("NCCL_PROTO", "LL", None),
    ]
    assert changes[-1]["name"] == "log"
    assert "start the same" in run("diff", "kimi-k2.5", "kimi-k2.5").stdout


def test_new_is_written_checked_and_never_overwrites() -> None:
    made = document(
        "new", "x", "--extends", "kimi-k2.5", "--include", "chain-3", "--set", "server.port=30001",
        "--set", "server.flags.tp==4",
    )  # fmt: skip
    path = profiles_folder() / "x.toml"
    assert made == {"name": "x", "path": str(path)}
    profile = all_profiles().load("x")
    assert (profile.server.port, profile.speculative.flags["num-steps"]) == (30001, 3)
    assert profile.server.flags["tp="] == 4
    assert "tp-size" not in profile.server.flags
    assert run("new", "x").exit_code == 1
    assert run("new", "y", "--set", "server.port=x").exit_code == 2
    assert not (profiles_folder() / "y.toml").exists()


def test_edit_by_key_keeps_comments_and_refuses_what_is_impossible() -> None:
    path = write("mine")
    assert (
        run("edit", "mine", "--set", "server.port=30001", "--remove", "server.flags.x").exit_code
        == 0
    )
    text = path.read_text()
    assert 'title = "mine"    # a comment' in text
    assert "port = 30001" in text
    assert "x =" not in text
    result = run("edit", "mine", "--set", "guard.stop-seconds=-1")
    assert result.exit_code == 2
    assert "guard.stop-seconds" in result.stderr
    assert path.read_text() == text


def test_edit_of_one_that_ships_makes_it_yours() -> None:
    assert run("edit", "chain-2", "--set", "title=my chain").exit_code == 0
    assert all_profiles().load("chain-2").title == "my chain"
    assert not all_profiles().shipped("chain-2")


def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    script = tmp_path / "my editor.py"
    script.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\n{code}\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} '{script}'")


def test_the_editor_changes_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    editor(monkeypatch, tmp_path, "file.write_text(file.read_text() + 'y = 1\\n')")
    path = write("mine")
    assert run("edit", "mine").exit_code == 0
    assert path.read_text() == MINE + "y = 1\n"


def test_what_the_editor_broke_is_kept_aside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor(monkeypatch, tmp_path, "file.write_text('[servr]\\n')")
    path = write("mine")
    result = run("edit", "mine")
    assert result.exit_code == 2
    assert "mine.toml, line 1: there is no key `servr`" in result.stderr
    draft = Path(result.stderr.split("What was written is in ")[1].strip().removesuffix("."))
    assert draft.read_text() == "[servr]\n"
    assert path.read_text() == MINE
    editor(monkeypatch, tmp_path, "sys.exit(3)")
    assert run("edit", "mine").exit_code == 1
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert "cannot be started" in run("edit", "mine").stderr


# --- import ---------------------------------------------------------------------------------------

ODD = (
    *("--model-path", "/m/Größe 5", "--port=30009", "--tp", "2", "--lora", "a", "--lora", "b"),
    *(
        "--served-model-name",
        "My Model",
        "--x",
        "$(touch /nowhere); rm -rf ~\n'\"",
        "--cuda-graph-bs",
    ),
    *(
        "1",
        "2",
        "--neg",
        "-1",
        "--speculative-num-steps=3",
        "--api-key",
        "s3cret-key",
        "--empty",
        "",
    ),
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that looks like a server: started as `python3`, which its own PATH finds."""
    package = tmp_path / "package" / "sglang"
    package.mkdir(parents=True)
    (package / "launch_server.py").write_text("print('up', flush=True)\ninput()\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "python3").symlink_to(sys.executable)
    environment = {
        "PATH": f"{tools}:/usr/bin:/bin",
        "PYTHONPATH": str(package.parent),
        "NCCL_ALGO": "Ring",
        "HF_TOKEN": "s3cret-token",
        "TMUX_PANE": "%1",
        "HOME": str(tmp_path),
    }
    running = start(("python3", "-m", "sglang.launch_server", *ODD), environment, tmp_path)
    yield running
    running.communicate("\n")


def start(
    argv: tuple[str, ...], environment: dict[str, str], folder: Path
) -> subprocess.Popen[str]:
    running = subprocess.Popen(
        ["env", *(f"{k}={v}" for k, v in environment.items()), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    return running


def command_line(running: subprocess.Popen[str]) -> list[str]:
    data = Path(f"/proc/{running.pid}/cmdline").read_bytes()
    return data.decode().removesuffix("\0").split("\0")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no /proc")
def test_what_runs_is_imported_and_starts_again_word_for_word(
    server: subprocess.Popen[str], tmp_path: Path
) -> None:
    imported = document("import", "--local", "--pid", str(server.pid))
    path = profiles_folder() / "my-model.toml"
    assert (imported["name"], imported["path"]) == ("my-model", str(path))
    assert "s3cret" not in path.read_text() + json.dumps(imported)
    assert imported["secrets"] == [
        {"where": "--api-key", "variable": "API_KEY"},
        {"where": "HF_TOKEN", "variable": "HF_TOKEN"},
    ]
    assert imported["left_out"] == ["TMUX_PANE"]
    profile = all_profiles().load("my-model")
    assert profile.server.port == 30009
    assert profile.server.workdir == str(tmp_path)

    variables = {"API_KEY": "s3cret-key", "HF_TOKEN": "s3cret-token"}
    plan = start_plan(profile, now=NOW, variables=variables)
    again = start(plan.argv, plan.environment, Path(plan.workdir))
    try:
        assert command_line(again) == ["python3", "-m", "sglang.launch_server", *ODD]
        assert command_line(again) == command_line(server)
        exe = f"/proc/{again.pid}/exe"
        assert Path(exe).resolve() == Path(sys.executable).resolve()
    finally:
        again.communicate("\n")

    # It is there already; and what differs from what runs is nothing but where the log goes.
    pid = str(server.pid)
    assert run("import", "--local", "--pid", pid).exit_code == 1
    assert run("import", "--local", "--pid", pid, "--force").exit_code == 0
    assert document("diff", "my-model", "--local", "--pid", pid)["same"]
    printed = run("import", "other", "--local", "--pid", pid, "--dry-run")
    assert printed.stdout == path.read_text()
    assert "export API_KEY" in printed.stderr
    assert not (profiles_folder() / "other.toml").exists()


def raw(**changes: Any) -> RawServer:
    argv = ("/v/bin/python", "-m", "sglang.launch_server", "--model-path", "/m/Name")
    defaults: dict[str, Any] = {"key": "1@1", "pid": 1, "start_ticks": 1, "argv": argv, "ppid": 1}
    return RawServer(**{**defaults, **changes})


def test_the_runner_is_what_started_it() -> None:
    def of(**changes: Any) -> tuple[str, str, bool, str]:
        server = imported_server(raw(**changes), name=None, place="h").profile.server
        return server.runner, server.unit, server.user_unit, server.container

    assert of() == ("process", "", False, "")
    assert of(container="abc") == ("docker", "", False, "abc")
    assert of(unit="x.service") == ("systemd", "x.service", False, "")
    assert of(unit="slurmd.service", ppid=99) == ("process", "", False, "")
    assert of(unit="x.service", user_unit=True, ppid=99) == ("systemd", "x.service", True, "")


def test_an_import_keeps_the_log_and_path_only_where_they_matter() -> None:
    log = LogPlace(kind="file", target="/l/a.log")
    named = imported_server(raw(log=log, path="/bin"), name="x", place="h")
    assert (named.profile.server.log, named.profile.environment) == ("/l/a.log", {})
    bare = ("python3", "-m", "sglang.launch_server", "--model-path", "m")
    kept = imported_server(raw(argv=bare, path="/v/bin:/bin"), name="x", place="h")
    assert kept.profile.environment == {"PATH": "/v/bin:/bin"}
    assert any("PATH was kept" in line for line in import_lines(kept))
    journal = LogPlace(kind="journal", target="x.service")
    assert imported_server(raw(log=journal), name="x", place="h").profile.server.log == ""


def test_one_server_is_meant() -> None:
    one, two = raw(), raw(pid=2)
    assert chosen([one], None) is one
    assert chosen([one, two], 2) is two
    with pytest.raises(UsageError, match="Several") as several:
        chosen([one, two], None)
    assert "pid 2, port 30000, /m/Name" in several.value.advice
    with pytest.raises(EagletuiError, match="pid 3"):
        chosen([one], 3)
    with pytest.raises(EagletuiError, match="is running"):
        chosen([], None, ["all of it"])
