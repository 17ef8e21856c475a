"""Events without their secrets: the log as it is shown, every other text as if it were shown.

A log comes in pieces cut anywhere, and a secret may stand across a cut. So a line is held back
until its end came; what is covered keeps its length, so that no offset moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from eagletui.model.events import Event, LogGap, LogOpened, LogText, LogUnavailable
from eagletui.model.literals import HIDDEN, Literals
from eagletui.model.secrets import MASK, mask, mask_argv, mask_value, may_hold_secret
from eagletui.model.text import visible, visible_value

LONGEST = 64 << 10
"""Bytes of a line that are kept, as the store of the log keeps them."""
_MARGIN = 4 << 10
"""Bytes behind these that are waited for: a secret may begin before the cut."""
_UNUSUAL = re.compile(rb"[^\n\r\x20-\x7e]")
_ENDS = re.compile(rb"([\n\r])")
_STARS = "***"


class Hiding:
    """Takes events in order and gives them fit for a disk.

    Args:
        literals: secrets that are known, hidden whatever stands around them.
    """

    def __init__(self, literals: Literals | None = None) -> None:
        self.literals = literals or Literals()
        self._lines: dict[str, _Lines] = {}

    def take(self, events: Iterable[Event]) -> Iterator[Event]:
        """The same events; text of a log comes when its line ended."""
        for event in events:
            if isinstance(event, LogText):
                yield from self._log(event)
                continue
            if isinstance(event, (LogGap, LogOpened, LogUnavailable)):
                yield from self._cut(event.server)
            yield self._hidden(event)

    def rest(self) -> Iterator[Event]:
        """What was held back, where nothing more comes."""
        for server in list(self._lines):
            yield from self._cut(server)

    def _log(self, event: LogText) -> Iterator[Event]:
        if not event.data:
            yield event
            return
        lines = self._lines.setdefault(event.server, _Lines())
        lines.last = event
        begin, text = lines.feed(event.start, event.data, self.literals)
        if text:
            yield replace(event, start=begin, data=text)

    def _cut(self, server: str) -> Iterator[Event]:
        lines = self._lines.pop(server, None)
        if lines is not None and lines.held and lines.last is not None:
            text = lines.cut(self.literals)
            end = lines.last.start + len(lines.last.data)
            yield replace(lines.last, start=end - len(text), data=text)

    # --- everything but the log ------------------------------------------------------------------

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, msgspec.Struct):
            changes = {}
            for name in _worded(type(value)):
                before = getattr(value, name)
                after = self._hidden(before)
                if after is not before:
                    changes[name] = after
            return replace(value, **changes) if changes else value
        if isinstance(value, tuple):
            return self._words(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        return value

    def _text(self, text: str) -> str:
        shown = text
        if not text.isprintable() or may_hold_secret(text.encode("utf-8", "surrogatepass")):
            clear = [visible(line) for line in text.split("\n")]
            covered = [mask(line) for line in clear]
            shown = text if covered == clear else "\n".join(covered)
        return self.literals.hide_text(shown) if self.literals else shown

    def _words(self, words: tuple[Any, ...]) -> tuple[Any, ...]:
        if not words or not all(isinstance(word, str) for word in words):
            hidden = tuple(self._hidden(word) for word in words)
            return words if hidden == words else hidden
        clear = tuple(map(visible, words))
        covered = mask_argv(clear)
        known: tuple[Any, ...] = self._known(words if covered == clear else covered, words)
        return known

    def _mapping(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        if any(isinstance(item, msgspec.Struct) for item in value.values()):
            return {self._hidden(key): self._hidden(item) for key, item in value.items()}
        clear = visible_value(value)
        covered = mask_value("", clear)
        known: Mapping[Any, Any] = self._known(value if covered == clear else covered, value)
        return known

    def _known(self, value: Any, same: Any) -> Any:
        """What is known by its value alone; `same` itself where nothing changed."""
        if self.literals:
            value = _each_text(value, self.literals)
        return same if value == same else value


class _Lines:
    """One log, line by line."""

    def __init__(self) -> None:
        self.held = b""
        self.last: LogText | None = None
        self._over = False

    def feed(self, start: int, data: bytes, literals: Literals) -> tuple[int, bytes]:
        """The offset and the text of the lines that ended."""
        begin, text, done = start - len(self.held), self.held + data, b""
        if self._over:
            # The rest of a line that is too long: nobody is shown it.
            found = _ENDS.search(text)
            end = found.start() if found else len(text)
            done, text = HIDDEN * end, text[end:]
            self._over = not text
        cut = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        done += _lines_hidden(text[:cut], literals)
        self.held = text[cut:]
        if len(self.held) >= LONGEST + _MARGIN:
            shown = _line_hidden(self.held, literals)
            done += shown[:LONGEST] + HIDDEN * (len(self.held) - LONGEST)
            self.held, self._over = b"", True
        return begin, done

    def cut(self, literals: Literals) -> bytes:
        """What was held back; of a secret, its beginning too may stand at its end."""
        text, self.held = self.held, b""
        shown = _line_hidden(text, literals)
        begun = literals.begun(text)
        return shown[: len(shown) - begun] + HIDDEN * begun


def _lines_hidden(text: bytes, literals: Literals) -> bytes:
    if not text or (not literals and _UNUSUAL.search(text) is None and not may_hold_secret(text)):
        return text
    parts = _ENDS.split(text)
    parts[::2] = [_line_hidden(line, literals) for line in parts[::2]]
    return b"".join(parts)


def _line_hidden(line: bytes, literals: Literals) -> bytes:
    line = literals.hide(line)
    if _UNUSUAL.search(line) is None and not may_hold_secret(line):
        return line
    clear = visible(line.decode("utf-8", "replace"))
    covered = mask(clear)
    if covered == clear:
        return line
    shown = literals.hide(covered.replace(MASK, _STARS).encode("utf-8", "replace"))
    missing = len(line) - len(shown)
    if missing > 0:
        at = shown.find(_STARS.encode())
        shown = shown[:at] + HIDDEN * missing + shown[at:]
    return shown


def _each_text(value: Any, literals: Literals) -> Any:
    if isinstance(value, str):
        return literals.hide_text(value)
    if isinstance(value, Mapping):
        return {_each_text(k, literals): _each_text(item, literals) for k, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_each_text(item, literals) for item in value)
    return value


@cache
def _worded(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a struct that may hold text of a host."""
    hints = get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if _holds_text(hints[name]))


def _holds_text(hint: Any) -> bool:
    if hint in (int, float, bool, bytes, type(None), Ellipsis) or get_origin(hint) is Literal:
        return False
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return bool(_worded(hint))
    return not get_args(hint) or any(map(_holds_text, get_args(hint)))
