"""Prompts from files: any shape people have, bounded, and clear words for what is none."""

from __future__ import annotations

import json
import os
import resource
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from eagletui.bench import promptsets
from eagletui.bench.plan import digest
from eagletui.bench.promptsets import SETS, find_prompts, read_prompts, shipped
from eagletui.hostside.stream_meter import distinct_bigrams
from eagletui.model.errors import UsageError


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "prompts"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", SETS)
def test_a_shipped_set_has_32_prompts_of_real_text(name: str) -> None:
    prompts = shipped(name)
    assert len(prompts) == 32
    assert len({prompt.text for prompt in prompts}) == 32
    assert len({prompt.text[:20] for prompt in prompts}) >= 24
    for prompt in prompts:
        assert len(prompt.text.split()) >= (100 if name == "summary" else 30), prompt.text
        ratio = distinct_bigrams(prompt.text.split())
        assert ratio is not None
        assert ratio > 0.7, prompt.text


def test_sets_are_unlike() -> None:
    assert len({digest(shipped(name)) for name in SETS}) == 4
    with pytest.raises(KeyError):
        shipped("../../secrets")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first\n\n  second \nthird", ["first", "second", "third"]),
        ('{"prompt": "a"}\n{"text": "b"}\n\n{"question": "c"}\n', ["a", "b", "c"]),
        ('{"turns": ["a", "later"]}\n{"other": 1}\n', ["a"]),
        ('["a", "b, [c]", {"prompt": "d"}]', ["a", "b, [c]", "d"]),
        ('\ufeff{"prompt": "é"}', ["é"]),
        (
            '[{"conversations": [{"from": "human", "value": "hi"},'
            ' {"from": "gpt", "value": "yo"}]}]',
            ["hi"],
        ),
    ],
)
def test_shapes(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert [prompt.text for prompt in read_prompts(written(tmp_path, text))] == expected


def test_a_conversation_keeps_its_messages_up_to_the_users_last(tmp_path: Path) -> None:
    turns = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
    ]
    (prompt,) = read_prompts(written(tmp_path, json.dumps({"messages": turns})))
    assert prompt.messages == tuple(turns[:2])
    assert prompt.text == "one"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no prompt"),
        (b" \n\n", "holds no prompt"),
        (b'{"a": 1}\n', "holds no prompt"),
        (b"[]", "holds no prompt"),
        (b"PAR1\x00\x01", "is no text"),
        (b"fine\n\xff\xfe", "line 2: this is no text in UTF-8"),
        (b'{"prompt": "a"}\n{"prompt"\n', "line 2: no JSON"),
        (b'["a", "b', "the JSON array is broken"),
        (b'["a", \xff]', "no text in UTF-8"),
        (b'{"prompt": ' + b"[" * 200_000, "line 1: no JSON .it is nested too deeply"),
        (b'["a", ' + b"[" * 200_000, "the JSON array is nested too deeply"),
        (b'{"prompt": "\\ud800 x"}\n', "line 1: no JSON .it holds half of a character"),
        (b'["a", "\\ud800 x", "b"]', "the JSON array is broken .it holds half of a character"),
    ],
)
def test_what_is_no_file_of_prompts_is_said(tmp_path: Path, content: bytes, words: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UsageError, match=words):
        read_prompts(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_prompts(tmp_path / "none")
    with pytest.raises(UsageError, match="is a folder"):
        read_prompts(tmp_path)


@pytest.mark.parametrize("array", [False, True])
def test_of_five_gigabytes_no_more_is_read_than_is_asked(tmp_path: Path, array: bool) -> None:
    """The file is sparse: it has that size, not those bytes."""
    items = [{"conversations": [{"from": "human", "value": f"question {n}"}]} for n in range(500)]
    text = ",\n".join(map(json.dumps, items)) if array else "\n".join(map(json.dumps, items))
    path = written(tmp_path, ("[" + text if array else text) + "\n" + " " * (2 << 20))
    os.truncate(path, 5 << 30)
    tracemalloc.start()
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
        prompts = read_prompts(path, most=64)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [prompt.text for prompt in prompts] == [f"question {n}" for n in range(64)]
    assert peak < 16 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_inblock - before < 1 << 16


def test_a_line_without_an_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promptsets, "LONGEST", 1000)
    with pytest.raises(UsageError, match="line 2 has more than"):
        read_prompts(written(tmp_path, "ok\n" + "x" * 5000))


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [_folder, _pipe, _socket, _device])
def test_what_is_no_file_is_not_even_opened(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it"
    make(path)
    opened: list[object] = []
    monkeypatch.setattr("eagletui.bench.promptsets.os.open", lambda *given: opened.append(given))
    with pytest.raises(UsageError, match=rf"it is a {make.__name__[1:]}, not a file of prompts"):
        find_prompts(str(path))
    assert opened == []


def test_a_pipe_that_came_in_a_files_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "one")
    real = os.stat(path)
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr("eagletui.bench.promptsets.os.stat", lambda _: real)
    with pytest.raises(UsageError, match="is a pipe"):
        read_prompts(path)


def test_a_name_with_a_zero_byte_is_none() -> None:
    with pytest.raises(UsageError, match="no name of a file"):
        find_prompts("/a\0b")
