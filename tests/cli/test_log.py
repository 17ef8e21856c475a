"""`eagletui log` as a person and a script call it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import threading
from collections.abc import Callable
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


@pytest.mark.parametrize(("text", "count"), [(b"one", 1), (b"one\ntwo", 2), (b"one\ntwo\n", 2)])
def test_a_last_line_without_its_end_is_counted(text: bytes, count: int) -> None:
    counted = "1 line" if count == 1 else f"{count} lines"
    assert f": {counted}, none" in run("-", stdin=text).stdout


def test_a_log_of_something_else() -> None:
    result = run("-", stdin="Сервер запущен\nготово\n".encode())
    assert result.exit_code == 0
    assert "2 lines, none of which SGLang writes" in result.stdout


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_every_damaged_archive_is_called_one(tmp_path: Path, kind: str, damage: str) -> None:
    data = PACKED[kind](recorded("crash_oom"))
    half = len(data) // 2
    broken = data[:half] if damage == "cut" else data[:half] + b"\xff" * 64 + data[half + 64 :]
    path = tmp_path / f"server.log.{kind}"
    path.write_bytes(broken)
    for command in ("log", "metrics"):
        result = CliRunner().invoke(main, [command, str(path)])
        assert result.exit_code == 1, result.exception
        assert isinstance(result.exception, SystemExit)
        assert "is a damaged archive" in result.stderr
        assert "Copy it again" in result.stderr


def test_a_pipe_is_read_from_its_first_byte(tmp_path: Path) -> None:
    for data in (recorded("crash_oom"), gzip.compress(recorded("crash_oom"))):
        pipe = tmp_path / f"pipe{len(data)}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        found = json.loads(run(str(pipe), "--json").stdout)
        writer.join()
        assert found == json.loads(run("-", "--json", stdin=recorded("crash_oom")).stdout)


def test_standard_input_may_be_packed() -> None:
    packed = run("-", "--json", stdin=gzip.compress(recorded("crash_oom"))).stdout
    assert json.loads(packed) == json.loads(run("-", "--json", stdin=recorded("crash_oom")).stdout)


@pytest.mark.parametrize("coding", ["utf-16", "utf-8-sig"])
def test_other_encodings_say_the_same(coding: str) -> None:
    text = recorded("crash_oom")
    again = text.decode("utf-8", "replace").encode(coding)
    assert json.loads(run("-", "--json", stdin=again).stdout) == json.loads(
        run("-", "--json", stdin=text).stdout
    )


def test_a_hole_before_the_log_is_no_binary_file() -> None:
    text = recorded("crash_oom")
    found = run("-", "--json", stdin=bytes(200_000) + text)
    assert json.loads(found.stdout) == json.loads(run("-", "--json", stdin=text).stdout)
    assert "is a binary file" in run("-", stdin=bytes(200_000)).stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (random.Random(1).randbytes(100_000), "is a binary file"),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "zstd -dc"),
        (b"PK\x03\x04" + bytes(100), "unzip -p"),
    ],
    ids=["noise", "zstd", "zip"],
)
def test_what_is_not_read_is_named(content: bytes, words: str) -> None:
    result = run("-", stdin=content)
    assert result.exit_code == 1
    assert words in result.stderr


@pytest.mark.parametrize("coding", ["utf-8", "gbk", "utf-16"])
def test_another_language_is_text(coding: str) -> None:
    text = "服务器启动失败：没有这样的文件\n错误：内存不足\n" * 100
    result = run("-", stdin=text.encode(coding))
    assert result.exit_code == 0
    assert "none of which SGLang writes" in result.stdout
