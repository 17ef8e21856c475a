"""Which lines of a log are shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from eagletui.model.base import Data
from eagletui.model.loglevels import LEVELS, Level, bar_label, is_poll, levels_of

# The parser of `re` is public in 3.10 and called otherwise since.
if sys.version_info >= (3, 11):
    from re import _parser as _parsing
else:
    import sre_parse as _parsing
_parser: Any = _parsing

_MATCHED_BYTES = 8192
_META = set("\\.^$*+?{}[]|()")


def compile_pattern(text: str) -> re.Pattern[str] | None:
    """A search text as a pattern: a regular expression where it is one, else as it is written.

    Letter case counts only where the text has a capital letter. None for "".
    """
    if not text:
        return None
    flags = 0 if any(char.isupper() for char in text) else re.IGNORECASE
    if _META & set(text):
        try:
            return re.compile(text, flags)
        except (re.error, OverflowError, RecursionError):
            pass
    return re.compile(re.escape(text), flags)


def may_never_end(text: str) -> bool:
    """Whether a repeat without an end holds another: on one line it may take longer than a life."""
    try:
        parsed = _parser.parse(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return _holds(parsed, inside=False)


def _holds(parsed: Any, *, inside: bool) -> bool:
    for operator, argument in parsed:
        name = str(operator)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            endless = argument[1] == _parser.MAXREPEAT
            if endless and inside:
                return True
            if _holds(argument[2], inside=inside or endless):
                return True
            continue
        parts = argument if isinstance(argument, (tuple, list)) else (argument,)
        for part in parts:
            several = part if isinstance(part, list) else [part]
            if any(isinstance(p, _parser.SubPattern) and _holds(p, inside=inside) for p in several):
                return True
    return False


def line_matcher(text: str) -> Callable[[bytes], bool] | None:
    """`compile_pattern` for lines as they are stored."""
    pattern = compile_pattern(text)
    if pattern is None:
        return None
    if not _META & set(text):
        needle = text.encode("utf-8", "replace")
        if pattern.flags & re.IGNORECASE:
            lowered = needle.lower()
            return lambda line: lowered in line.lower()
        return lambda line: needle in line
    flags = pattern.flags & re.IGNORECASE
    search = re.compile(pattern.pattern.encode("utf-8", "replace"), flags).search
    return lambda line: search(line[:_MATCHED_BYTES]) is not None


class LogFilter(Data, frozen=True):
    """What the person wants to see.

    Attributes:
        level: the least level shown.
        include: only lines with this pattern, where it is not "".
        exclude: no lines with this pattern.
        polls: show access-log lines of watchers' own requests.
        bars: show every update of a progress bar, not only the last of each run.
    """

    level: Level = "debug"
    include: str = ""
    exclude: str = ""
    polls: bool = False
    bars: bool = False

    def matcher(self) -> Matcher:
        """The filter ready for use."""
        return Matcher(self)


class Matcher:
    """A compiled filter."""

    def __init__(self, wanted: LogFilter) -> None:
        self.wanted = wanted
        self._least = LEVELS[wanted.level]
        self._include = line_matcher(wanted.include)
        self._exclude = line_matcher(wanted.exclude)

    def shows_all(self, text: bytes) -> bool:
        """Whether every line of a text passes for certain, found out without splitting it."""
        if self._least or self._include is not None or self._exclude is not None:
            return False
        # The single bytes are rare and a hundred times quicker to look for than the words.
        polled = not self.wanted.polls and b'"' in text and b'"GET /' in text
        return not polled and (self.wanted.bars or b"\r" not in text)

    def shown(
        self, lines: Sequence[bytes], *, after: bytes | None = None, before: Level | None = None
    ) -> Sequence[int] | None:
        """Offsets of the lines to show; None where that is all of them.

        Args:
            lines: consecutive lines with their end marks, as `LogStore.piece` gives them.
            after: the line behind the last of them, where it is there already.
            before: level of the record the first line may continue.
        """
        kept: Sequence[int] = range(len(lines))
        if self._least:
            levels = levels_of(lines, before)
            kept = [at for at in kept if LEVELS[levels[at]] >= self._least]
        if not self.wanted.polls:
            kept = [at for at in kept if b'"GET /' not in lines[at] or not is_poll(lines[at])]
        if not self.wanted.bars:
            kept = [
                at
                for at in kept
                if not lines[at].endswith(b"\r")
                or not _superseded(lines[at], lines[at + 1] if at + 1 < len(lines) else after)
            ]
        if self._include is not None:
            include = self._include
            kept = [at for at in kept if include(lines[at])]
        if self._exclude is not None:
            exclude = self._exclude
            kept = [at for at in kept if not exclude(lines[at])]
        return None if len(kept) == len(lines) else kept


def _superseded(line: bytes, after: bytes | None) -> bool:
    """Whether the next line is a newer state of the same progress bar."""
    if line.endswith(b"\r\r") or after is None:
        return False
    label = bar_label(line)
    return label is not None and label == bar_label(after)
