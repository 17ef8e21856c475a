"""The level of each line of a store, seen with the record that the line goes on with."""

from __future__ import annotations

from collections import OrderedDict

from eagletui.model.loglevels import Level, continues, level_of, levels_of
from eagletui.model.logstore import LogStore

LONGEST_RECORD = 2000
"""Lines; what goes on longer is no traceback."""
STEP = 64
KNOWN = 8192


class Levels:
    """Levels by line; those of complete lines are kept a while."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._known: OrderedDict[int, Level] = OrderedDict()

    def of(self, line: int) -> Level:
        """The level of a line that is there."""
        known = self._known.get(line)
        if known is not None:
            return known
        data = self._store.line(line)
        if not continues(data):
            level = level_of(data)
            self._remember(line, level)
            return level
        begin, before = self._head(line)
        for number, level in enumerate(
            levels_of(self._store.lines(begin, line + 1), before), start=begin
        ):
            self._remember(number, level)
        return level

    def before(self, line: int) -> Level | None:
        """The level of the record that a line may go on with; None at the start of the store."""
        return self.of(line - 1) if line > self._store.first else None

    def _head(self, line: int) -> tuple[int, Level | None]:
        """The line from which on levels are to be found out, and the one known before it."""
        least = max(self._store.first, line - LONGEST_RECORD)
        past = line
        while past > least:
            begin = max(least, past - STEP)
            lines = self._store.lines(begin, past)
            for number in range(past - 1, begin - 1, -1):
                known = self._known.get(number)
                if known is not None:
                    return number + 1, known
                if not continues(lines[number - begin]):
                    return number, None
            past = begin
        return least, None

    def _remember(self, line: int, level: Level) -> None:
        if line < self._store.sealed:
            self._known[line] = level
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
