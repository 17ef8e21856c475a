"""Prompts: the sets that come along, and files of any size, of which no more is read than asked."""

from __future__ import annotations

import codecs
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO

from eagletui.bench.plan import Prompt
from eagletui.model.errors import UsageError
from eagletui.model.filekinds import other_kind
from eagletui.model.jsontext import read_json, whole_characters
from eagletui.model.refused import unreadable
from eagletui.model.text import visible

SETS = ("chat", "code", "maths", "summary")
"""Shipped, 32 prompts each, written for this project."""

MOST_PROMPTS = 4096
MOST_BYTES = 64 << 20
"""Of all prompts together; what comes after is not read."""

ENOUGH = 1024
"""Prompts that are read of a file for a benchmark of which no number of requests is known."""

LONGEST = 4 << 20
"""Bytes of one prompt's line or object."""

_BLOCK = 1 << 20
# Where a prompt stands in an object, the first that holds text wins.
_TEXT_KEYS = ("prompt", "text", "question", "instruction", "input", "content")
_ROLES = {"human": "user", "gpt": "assistant", "bing": "assistant", "chatgpt": "assistant"}


def shipped(name: str) -> tuple[Prompt, ...]:
    """One of `SETS`.

    Raises:
        KeyError: there is none of this name.
    """
    if name not in SETS:
        raise KeyError(name)
    path = resources.files("eagletui.bench") / "prompts" / f"{name}.jsonl"
    with path.open("rb") as file:
        return tuple(_from_lines(io.BytesIO(file.read()), name, objects=True))


def find_prompts(given: str, requests: int | None = None) -> tuple[str, tuple[Prompt, ...]]:
    """Name and prompts of a shipped set or of a file.

    Args:
        requests: how many are sent; of a file no more are read.

    Raises:
        UsageError: it is neither, or the file is of no use.
    """
    if given in SETS:
        return given, shipped(given)
    if not given.strip():
        raise UsageError(
            "No prompts are named.", advice=f"Name a file, or a set: {', '.join(SETS)}."
        )
    path = file_of(given)
    # `os.path` calls a name that no file can have absent; `Path` fails. A link that leads nowhere,
    # or in a circle, is there: reading it says what is wrong with it.
    if not os.path.lexists(path) and not {"/", "."} & set(given):
        raise UsageError(
            f"There is no set of prompts {visible(given)!r}, and no such file.",
            advice=f"Sets: {', '.join(SETS)}.",
        )
    return visible(path.name), read_prompts(path, requests or ENOUGH)


def file_of(given: str) -> Path:
    """The file that a person names."""
    return Path(os.path.expanduser(given))


def read_prompts(path: Path, most: int = MOST_PROMPTS) -> tuple[Prompt, ...]:
    """The first prompts of a file: JSONL, a JSON array such as ShareGPT's, or one a line.

    Raises:
        UsageError: it cannot be read, is no text, or holds no prompt.
    """
    name = visible(str(path))
    try:
        with _opened(path, name) as file:
            prompts = _some(_prompts(file, name), min(most, MOST_PROMPTS))
    except OSError as error:
        raise unreadable(path, error) from None
    if not prompts:
        raise UsageError(
            f"{name} holds no prompt.",
            advice="Write one prompt a line, or JSON objects with a `prompt`, `text`, `messages` "
            "or `conversations`.",
        )
    return prompts


def _opened(path: Path, name: str) -> BinaryIO:
    """A file, and nothing else: a pipe is waited for until somebody writes, without an end, and
    a device may do something when it is opened."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:  # a zero byte
        raise UsageError(f"{name} is no name of a file.", advice="Check its path.") from None
    _must_be_a_file(mode, name)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(handle, "rb")
    try:
        _must_be_a_file(os.fstat(handle).st_mode, name)  # another may have come meanwhile
    except BaseException:
        file.close()
        raise
    return file


_INSTEAD = {
    "a folder": "Name a file in it.",
    "a pipe": "Write the prompts into a file, and name that.",
}


def _must_be_a_file(mode: int, name: str) -> None:
    if kind := other_kind(mode):
        advice = _INSTEAD.get(kind, "Name a file.")
        raise UsageError(f"{name} is {kind}, not a file of prompts.", advice=advice)


def _some(prompts: Iterator[Prompt], most: int) -> tuple[Prompt, ...]:
    found: list[Prompt] = []
    size = 0
    for prompt in prompts:
        size += len(prompt.text)
        if found and size > MOST_BYTES:
            break
        found.append(prompt)
        if len(found) >= most:
            break
    return tuple(found)


def _prompts(file: BinaryIO, name: str) -> Iterator[Prompt]:
    head = file.read(_BLOCK)
    if head.startswith(codecs.BOM_UTF8):
        head = head[len(codecs.BOM_UTF8) :]
        file.seek(len(codecs.BOM_UTF8))
    else:
        file.seek(0)
    if b"\0" in head:
        raise UsageError(
            f"{name} is no text: it has zero bytes.",
            advice="Unpack it first if it is compressed; parquet and the like must be converted.",
        )
    first = head.lstrip()[:1]
    if first == b"[":
        return _from_array(file, name)
    return _from_lines(file, name, objects=first == b"{")


def _from_lines(file: BinaryIO, name: str, *, objects: bool) -> Iterator[Prompt]:
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise _too_long(name, f"line {number}")
        text = _text(line, name, number).strip()
        if not text:
            continue
        if not objects:
            yield Prompt(text=text)
            continue
        try:
            value = read_json(text)
        except ValueError as error:
            raise UsageError(
                f"{name}, line {number}: no JSON ({error}).",
                advice="A file whose first line is a JSON object must have one on each line.",
            ) from None
        if (prompt := prompt_of(value)) is not None:
            yield prompt


def _from_array(file: BinaryIO, name: str) -> Iterator[Prompt]:
    """Elements of one huge JSON array, each decoded as soon as it is whole."""
    decoder, json_decoder = codecs.getincrementaldecoder("utf-8")(), json.JSONDecoder()
    text, ended, begun = "", False, False
    while not ended or text:
        block = b"" if ended else file.read(_BLOCK)
        ended = ended or not block
        try:
            text += decoder.decode(block, ended)
        except UnicodeDecodeError:
            raise _no_text(name) from None
        at = 0
        while True:
            at = _skip(text, at, " \t\r\n" + ("," if begun else "["))
            begun = begun or at > 0
            if at >= len(text) or text[at] == "]":
                break
            try:
                begins = at
                value, at = json_decoder.raw_decode(text, at)
                whole_characters(value, text[begins:at])
            except RecursionError:
                raise UsageError(f"{name}: the JSON array is nested too deeply.") from None
            except ValueError as error:
                if ended or at != begins:
                    raise UsageError(f"{name}: the JSON array is broken ({error}).") from None
                break
            if (prompt := prompt_of(value)) is not None:
                yield prompt
        if at < len(text) and text[at] == "]":
            return
        text = text[at:]
        if len(text) > LONGEST + _BLOCK:
            raise _too_long(name, "an element of its array")
        if ended:
            return


def _skip(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _text(line: bytes, name: str, number: int) -> str:
    if b"\0" in line:
        raise _no_text(name, f", line {number}")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise _no_text(name, f", line {number}") from None


def _no_text(name: str, where: str = "") -> UsageError:
    return UsageError(
        f"{name}{where}: this is no text in UTF-8.",
        advice="Unpack or convert the file first.",
    )


def _too_long(name: str, where: str) -> UsageError:
    return UsageError(
        f"{name}: {where} has more than {LONGEST >> 20} MB.",
        meaning="No context holds such a prompt; the file may lack line ends.",
        advice="Write one prompt a line.",
    )


# --- what stands for a prompt ---------------------------------------------------------------------


def prompt_of(value: Any) -> Prompt | None:
    """The prompt that a JSON value stands for; None where it holds none."""
    if isinstance(value, str):
        return Prompt(text=value) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    for find in _FINDERS:
        if (prompt := find(value)) is not None:
            return prompt
    return None


def _messages(value: Mapping[str, Any]) -> Prompt | None:
    """OpenAI's `messages`, up to the last one of the user."""
    return _conversation(value.get("messages"), "role", "content")


def _sharegpt(value: Mapping[str, Any]) -> Prompt | None:
    """ShareGPT's `conversations`: its first turn, as SGLang's own benchmark takes it."""
    turns = value.get("conversations") or value.get("conversation")
    found = _conversation(turns[:1] if isinstance(turns, list) else None, "from", "value")
    return None if found is None else Prompt(text=found.text)


def _plain(value: Mapping[str, Any]) -> Prompt | None:
    for key in _TEXT_KEYS:
        text = value.get(key)
        if isinstance(text, str) and text.strip():
            return Prompt(text=text)
    turns = value.get("turns")
    if isinstance(turns, list) and turns and isinstance(turns[0], str) and turns[0].strip():
        return Prompt(text=turns[0])
    return None


_FINDERS: tuple[Callable[[Mapping[str, Any]], Prompt | None], ...] = (_messages, _sharegpt, _plain)


def _conversation(turns: Any, role_key: str, text_key: str) -> Prompt | None:
    if not isinstance(turns, list):
        return None
    messages = []
    for turn in turns:
        role, text = (
            (turn.get(role_key), turn.get(text_key)) if isinstance(turn, Mapping) else (None, None)
        )
        if not isinstance(role, str) or not isinstance(text, str) or not text.strip():
            return None
        messages.append({"role": _ROLES.get(role, role), "content": text})
    while messages and messages[-1]["role"] != "user":
        messages.pop()
    if not messages:
        return None
    return Prompt(text=messages[-1]["content"], messages=tuple(messages))
