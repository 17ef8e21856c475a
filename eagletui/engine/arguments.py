"""`server_args=` read back without evaluating anything.

Up to 0.5.19 the line holds the dataclass's repr, `ServerArgs(model_path='…', …)`; from 0.5.20 a
dict's, `{'model_path': '…', …}`. Values may be reprs of enums, nested dataclasses or objects.
"""

from __future__ import annotations

import re
from typing import Any

from eagletui.model.secrets import mask_value
from eagletui.model.speculative import Speculative
from eagletui.model.text import visible_value

MAX_DEPTH = 24
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"-?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_STRING = re.compile(r"[bBrRuU]{0,2}(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False}
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments after `server_args=`, made visible and masked; empty where nothing can be read.

    A line that was cut gives what came before the cut. Never raises.
    """
    reader = _Reader(text)
    value = reader.value(0)
    if not isinstance(value, dict):
        return {}
    masked = mask_value("", visible_value({str(key): item for key, item in value.items()}))
    assert isinstance(masked, dict)
    return masked


def speculative_of(args: dict[str, Any]) -> Speculative:
    """Speculative settings in resolved arguments (also those of `/server_info`)."""
    algorithm = args.get("speculative_algorithm")
    if not isinstance(algorithm, str) or algorithm.upper() in ("", "NONE", "NULL"):
        return Speculative()
    draft = args.get("speculative_draft_model_path")
    return Speculative(
        algorithm=algorithm.upper(),
        num_steps=_int(args.get("speculative_num_steps")),
        eagle_topk=_int(args.get("speculative_eagle_topk")),
        num_draft_tokens=_int(args.get("speculative_num_draft_tokens")),
        draft_model=draft if isinstance(draft, str) else None,
        adaptive=args.get("speculative_adaptive") is True,
    )


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class _Reader:
    """Recursive descent over Python reprs; what is no literal is kept as text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def value(self, depth: int) -> Any:
        self._space()
        text, at = self._text, self._at
        if at >= len(text) or depth > MAX_DEPTH:
            return self._opaque()
        char = text[at]
        if char == "{":
            return self._mapping(depth)
        if char in "[(":
            return self._sequence(depth)
        if match := _STRING.match(text, at):
            self._at = match.end()
            return _unescape(match[1] if match[1] is not None else match[2])
        if match := _NUMBER.match(text, at):
            self._at = match.end()
            return _number(match[0])
        if match := _NAME.match(text, at):
            if match[0] in _WORDS:
                self._at = match.end()
                return _WORDS[match[0]]
            if text[match.end() : match.end() + 1] == "(":
                self._at = match.end()
                return self._call(depth)
        return self._opaque()

    def _mapping(self, depth: int) -> Any:
        self._at += 1
        found: dict[str, Any] = {}
        items: list[Any] = []
        while not self._closed("}"):
            key = self.value(depth + 1)
            self._space()
            if self._text[self._at : self._at + 1] == ":":
                self._at += 1
                found[str(key)] = self.value(depth + 1)
            else:
                items.append(key)
            self._comma("}")
        return found if found or not items else items

    def _sequence(self, depth: int) -> list[Any]:
        closing = _CLOSING[self._text[self._at]]
        self._at += 1
        items: list[Any] = []
        while not self._closed(closing):
            items.append(self.value(depth + 1))
            self._comma(closing)
        return items

    def _call(self, depth: int) -> Any:
        """`Name(key=value, …)` as a mapping; positional values as a list."""
        self._at += 1
        found: dict[str, Any] = {}
        items: list[Any] = []
        while not self._closed(")"):
            self._space()
            name = _NAME.match(self._text, self._at)
            if name and self._text[name.end() : name.end() + 1] == "=":
                self._at = name.end() + 1
                found[name[0]] = self.value(depth + 1)
            else:
                items.append(self.value(depth + 1))
            self._comma(")")
        return found if found or not items else items

    def _closed(self, closing: str) -> bool:
        self._space()
        if self._at >= len(self._text):
            return True
        if self._text[self._at] == closing:
            self._at += 1
            return True
        return False

    def _comma(self, closing: str) -> None:
        """Step over a comma; anything else that is not the end is passed over as text."""
        self._space()
        char = self._text[self._at : self._at + 1]
        if char == ",":
            self._at += 1
        elif char and char != closing:
            self._opaque()
            if self._text[self._at : self._at + 1] == ",":
                self._at += 1

    def _opaque(self) -> str:
        """Text up to the next comma or closing bracket of this level; always moves on."""
        begin = at = self._at
        open_brackets: list[str] = []
        text = self._text
        while at < len(text):
            char = text[at]
            if open_brackets and char == open_brackets[-1]:
                open_brackets.pop()
            elif char in _CLOSING:
                open_brackets.append(_CLOSING[char])
            elif not open_brackets and char in ",)]}":
                break
            at += 1
        if at == begin and at < len(text):
            at += 1
        self._at = at
        return text[begin:at].strip()

    def _space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        if match:
            self._at = match.end()


def _number(text: str) -> int | float | str:
    try:
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text.replace("_", ""))
    except (ValueError, OverflowError):
        return text


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            point = int(code[1:], 16)
            return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else "�"
        return _ESCAPED.get(code, code)

    return _ESCAPE.sub(one, text)
