"""`eagletui log` as a person and a script call it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eagletui.cli.main import main
from tests.engine.logs import FOLDER, recorded


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["log", *arguments], input=stdin)


def test_json_of_a_packed_log() -> None:
    result = run(str(FOLDER / "spec5.log.xz"), "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["speculative"]["num_steps"] == 5
    assert document["decode"]["samples"] == 143


def test_gzip_and_standard_input_say_the_same(tmp_path: Path) -> None:
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress(recorded("crash_oom")))
    from_file = run(str(packed), "--json").stdout
    from_stdin = run("-", "--json", stdin=recorded("crash_oom")).stdout
    assert json.loads(from_file) == json.loads(from_stdin)
    assert json.loads(from_file)["diagnosis"][0]["code"] == "out-of-memory-kv"


def test_an_account_for_a_person() -> None:
    text = run(str(FOLDER / "spec5.log.xz")).stdout
    assert "ready after 125 s" in text
    assert "target graphs              67.10   8/8" in text
    assert "143 decode lines, at most 8 running" in text
    text = run(str(FOLDER / "crash_nodraft.log.xz")).stdout
    assert "fatal: The draft model cannot be found [draft-missing]" in text
    assert "line 93: OSError" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (bytes(range(256)) * 40 + bytes(4000), "is a binary file"),
        (b"\x1f\x8b damaged", "is a damaged archive"),
    ],
)
def test_what_is_no_log(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(content)
    result = run(str(path))
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run(str(tmp_path / "nope.log"))
    assert result.exit_code == 1
    assert "cannot be read: No such file or directory" in result.stderr
    assert run().exit_code == 2


def test_a_log_of_something_else() -> None:
    result = run("-", stdin="Сервер запущен\nготово\n".encode())
    assert result.exit_code == 0
    assert "2 lines, none of which SGLang writes" in result.stdout
