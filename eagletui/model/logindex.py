"""Which lines of a log are shown, found in slices of time and kept up as the log grows."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable

from eagletui.model.base import Data
from eagletui.model.loglines import LEVELS, Level, classify, continues
from eagletui.model.logstore import LogStore

SLICE = 0.008
_LOOK_AT_CLOCK = 256


class Filter(Data, frozen=True):
    """What is shown.

    Attributes:
        include, exclude: regular expressions; "" is none. Lower case ones ignore case.
        level: `all`, `info`, `warning` or `error`: the lowest that is shown.
        polls: whether requests that a monitor makes are shown.
        bars: whether every step of a progress bar is shown, or only the last of a run.
    """

    include: str = ""
    exclude: str = ""
    level: str = "all"
    polls: bool = False
    bars: bool = False


def compile_pattern(text: str) -> re.Pattern[bytes] | None:
    """A pattern over bytes, case smart; text that is no expression is taken literally."""
    if not text:
        return None
    flags = 0 if any(c.isupper() for c in text) else re.IGNORECASE
    try:
        return re.compile(text.encode(), flags)
    except re.error:
        return re.compile(re.escape(text).encode(), flags)


class LogIndex:
    """Numbers of the shown lines, in order, with the level of each.

    `advance` looks at lines for a few milliseconds at a time; call it until it says that it is at
    the end, and again after every append.
    """

    def __init__(self, store: LogStore, shown: Filter) -> None:
        self.store = store
        self.filter = shown
        self.numbers = array("Q")
        self.levels = bytearray()
        self.errors = array("Q")
        self._next = store.first
        self._include = compile_pattern(shown.include)
        self._exclude = compile_pattern(shown.exclude)
        self._least = LEVELS[shown.level]
        self._in_error = False
        self._after_bar = False
        self._barred_shown = False
        self._blank_last = False

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def behind(self) -> int:
        """Ended lines not yet looked at."""
        return self.store.complete - self._next

    @property
    def ends_in_bar(self) -> bool:
        """Whether the last shown line is a step of a bar that a further step would replace."""
        return self._after_bar and self._barred_shown

    def position(self, number: int) -> int:
        """Where a line is, or the next one shown after it."""
        return bisect_left(self.numbers, number)

    def advance(self, seconds: float = SLICE, clock: Callable[[], float] = time.monotonic) -> bool:
        """Look at further lines for about this long; True when none is left."""
        deadline = clock() + seconds
        self._forget()
        while self._next < self.store.complete:
            chunk = self.store.chunk(self._next)
            if self._next < self.store.first:
                self._next = self.store.first
            for begin in range(0, len(chunk), _LOOK_AT_CLOCK):
                part = chunk[begin : begin + _LOOK_AT_CLOCK]
                for number, line in enumerate(part, self._next):
                    self._take(number, line)
                self._next += len(part)
                if clock() > deadline:
                    return self._next >= self.store.complete
        return True

    def _forget(self) -> None:
        first = self.store.first
        if self.numbers and self.numbers[0] < first:
            count = bisect_left(self.numbers, first)
            del self.numbers[:count], self.levels[:count]
        if self.errors and self.errors[0] < first:
            del self.errors[: bisect_left(self.errors, first)]

    def _take(self, number: int, line: bytes) -> None:
        kind = classify(line)
        level = kind.level
        if kind.record or kind.bar or kind.gap:
            self._in_error = level >= Level.ERROR
        elif self._in_error and continues(line):
            level = Level.ERROR
        elif level >= Level.ERROR:
            self._in_error = True
        else:
            self._in_error = False
        if kind.bar and not self.filter.bars:
            # A run of one bar's steps shows as its last step.
            if self.ends_in_bar or (self._blank_last and not self._after_bar):
                self.numbers.pop()
                self.levels.pop()
            self._blank_last = False
            self._after_bar = True
            self._barred_shown = self._passes(line, level, poll=False)
            if self._barred_shown:
                self.numbers.append(number)
                self.levels.append(level)
            return
        if not line and self._after_bar:
            return  # older releases end each step of a bar with an empty line
        self._after_bar = self._barred_shown = False
        self._blank_last = False
        if self._passes(line, level, poll=kind.poll) or kind.gap:
            self._blank_last = not line
            self.numbers.append(number)
            self.levels.append(level)
            if level >= Level.ERROR and (kind.record or kind.level >= Level.ERROR):
                self.errors.append(number)

    def _passes(self, line: bytes, level: Level, *, poll: bool) -> bool:
        if poll and not self.filter.polls:
            return False
        if level < self._least:
            return False
        if self._include is not None and self._include.search(line) is None:
            return False
        return self._exclude is None or self._exclude.search(line) is None


class LogSearch:
    """Numbers of the shown lines that match, found in slices of time."""

    def __init__(self, index: LogIndex, pattern: str) -> None:
        self.index = index
        self.pattern = compile_pattern(pattern)
        self.matches = array("Q")
        self._next = 0

    @property
    def done(self) -> bool:
        """Whether every shown line was looked at."""
        numbers = self.index.numbers
        return not numbers or self._next > numbers[-1]

    def advance(self, seconds: float = SLICE, clock: Callable[[], float] = time.monotonic) -> bool:
        """Look at further lines for about this long; True when none is left."""
        if self.pattern is None:
            return True
        deadline = clock() + seconds
        numbers, store = self.index.numbers, self.index.store
        if self.matches and self.matches[0] < store.first:
            del self.matches[: bisect_left(self.matches, store.first)]
        at = bisect_left(numbers, self._next)
        while at < len(numbers):
            for number in numbers[at : at + _LOOK_AT_CLOCK]:
                if self.pattern.search(store.line(number)) is not None:
                    self.matches.append(number)
            at = min(len(numbers), at + _LOOK_AT_CLOCK)
            self._next = numbers[at - 1] + 1
            if clock() > deadline:
                break
        return self.done

    def after(self, number: int) -> int | None:
        """The next match after a line."""
        at = bisect_left(self.matches, number + 1)
        return self.matches[at] if at < len(self.matches) else None

    def before(self, number: int) -> int | None:
        """The match before a line."""
        at = bisect_left(self.matches, number) - 1
        return self.matches[at] if at >= 0 else None
