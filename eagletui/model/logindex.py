"""The rows of a filtered log: which line each row shows, found out in slices of time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from eagletui.model.logfilter import LogFilter, Matcher
from eagletui.model.logrecords import Levels
from eagletui.model.logstore import LogStore

CHUNK_LINES = 16 << 10
"""Most lines of a chunk; one stretch that is shown as a whole may have more."""
PIECE_LINES = 1024


class _Chunk:
    """Consecutive lines looked at; `shown` are the offsets of those that pass, None all."""

    __slots__ = ("count", "first", "shown")

    def __init__(self, first: int, count: int, shown: Sequence[int] | None) -> None:
        self.first = first
        self.count = count
        self.shown: array[int] | None = None if shown is None else array("H", shown)

    @property
    def rows(self) -> int:
        return self.count if self.shown is None else len(self.shown)

    def extend(self, count: int, shown: Sequence[int] | None) -> None:
        if shown is not None or self.shown is not None:
            if self.shown is None:
                self.shown = array("H", range(self.count))
            offsets = range(count) if shown is None else shown
            self.shown.extend(array("H", [self.count + at for at in offsets]))
        self.count += count

    def line(self, row: int) -> int:
        return self.first + (row if self.shown is None else self.shown[row])

    def row(self, line: int) -> int:
        """The first row of this chunk whose line is not before `line`."""
        at = min(max(0, line - self.first), self.count)
        return at if self.shown is None else bisect_left(self.shown, at)


class LogIndex:
    """Rows of a store under a filter.

    Looks first at the lines around one of interest (the newest, unless told otherwise) and works
    outwards both ways, while new lines are added at the end. Rows are numbered from 0 for the
    oldest known row, so numbers move; lines keep theirs.
    """

    def __init__(self, store: LogStore, wanted: LogFilter | None = None) -> None:
        self.store = store
        self.levels = Levels(store)
        self.version = 0
        self.set_filter(wanted or LogFilter())

    def set_filter(self, wanted: LogFilter, around: int | None = None) -> None:
        """Begin anew with another filter, looking first at what lies around a line."""
        self.filter = wanted
        self._matcher: Matcher = wanted.matcher()
        self._chunks: list[_Chunk] = []
        self._starts: list[int] = []
        begin = self.store.settled if around is None else around
        self._low = self._high = max(self.store.first, min(begin, self.store.settled))
        self._backward_next = True
        self._mixed_to = 0
        self._rows = 0
        self.version += 1

    @property
    def rows(self) -> int:
        """How many rows are known."""
        return self._rows

    @property
    def complete(self) -> bool:
        """Whether every complete line was looked at."""
        return self._low <= self.store.first and self._high >= self.store.settled

    def advance(self, budget: float, clock: Callable[[], float]) -> bool:
        """Look at more lines for about `budget` seconds; whether more are left."""
        self._forget_dropped()
        until = clock() + budget
        while not self.complete:
            older, newer = self._low > self.store.first, self._high < self.store.settled
            self._backward_next = older and (self._backward_next or not newer)
            if self._backward_next:
                self._backward()
            else:
                self._forward()
            self._backward_next = not self._backward_next
            self.version += 1
            if clock() >= until:
                break
        return not self.complete

    def line_at(self, row: int) -> int:
        """The line of a row.

        Raises:
            IndexError: there is no such row.
        """
        if not 0 <= row < self._rows:
            raise IndexError(row)
        wanted = row + self._starts[0]
        at = bisect_right(self._starts, wanted) - 1
        return self._chunks[at].line(wanted - self._starts[at])

    def row_of(self, line: int) -> int:
        """The row of a line, or of the next shown line behind it; `rows` behind the last."""
        at = bisect_right(self._chunks, line, key=lambda chunk: chunk.first) - 1
        if at < 0:
            return 0
        return self._starts[at] - self._starts[0] + self._chunks[at].row(line)

    def shows(self, line: int) -> bool:
        """Whether a line that was looked at has a row."""
        row = self.row_of(line)
        return row < self._rows and self.line_at(row) == line

    def shows_growing(self) -> bool:
        """Whether the line that still grows passes the filter as it is now.

        It has no row before every line above it was looked at.
        """
        store = self.store
        if store.end == store.sealed or self._high < store.settled:
            return False
        line = store.line(store.sealed)
        shown = self._matcher.shown([line], before=self.levels.before(store.sealed))
        return shown is None or bool(shown)

    def knows(self, line: int) -> bool:
        """Whether a line was looked at."""
        return self._low <= line < self._high

    def passes(self, line: int) -> bool:
        """Whether a complete line passes the filter, looked at or not."""
        if self._low <= line < self._high:
            return self.shows(line)
        piece = self.store.piece(line, 2)
        shown = self._matcher.shown(
            piece.lines[:1],
            after=piece.lines[1] if len(piece.lines) > 1 else self._after(line + 1),
            before=self.levels.before(line),
        )
        return shown is None or 0 in shown

    def _forward(self) -> None:
        first = self._high
        if first >= self._mixed_to:
            stretch = self.store.stretch(first)
            if self._matcher.shows_all(stretch.text):
                self._add(first, min(stretch.lines, self.store.settled - first), None)
                return
            self._mixed_to = first + stretch.lines
        piece = self.store.piece(first, min(PIECE_LINES, self.store.settled - first))
        self._add(first, len(piece.lines), self._shown(first, piece.lines))

    def _add(self, first: int, count: int, shown: Sequence[int] | None) -> None:
        self._high = first + count
        last = self._chunks[-1] if self._chunks else None
        if last and last.first + last.count == first and last.count + count <= CHUNK_LINES:
            before = last.rows
            last.extend(count, shown)
            self._rows += last.rows - before
            return
        chunk = _Chunk(first, count, shown)
        start = self._starts[-1] + last.rows if last else 0
        self._chunks.append(chunk)
        self._starts.append(start)
        self._rows += chunk.rows

    def _backward(self) -> None:
        piece = self.store.piece_before(self._low, PIECE_LINES)
        chunk = _Chunk(piece.first, len(piece.lines), self._shown(piece.first, piece.lines))
        self._low = piece.first
        self._chunks.insert(0, chunk)
        self._starts.insert(0, (self._starts[0] if self._starts else 0) - chunk.rows)
        self._rows += chunk.rows

    def _shown(self, first: int, lines: Sequence[bytes]) -> Sequence[int] | None:
        past = first + len(lines)
        after = self._after(past) if lines[-1].endswith(b"\r") else None
        before = self.levels.before(first) if self.filter.level != "debug" else None
        return self._matcher.shown(lines, after=after, before=before)

    def _after(self, number: int) -> bytes | None:
        return self.store.line(number) if number < self.store.end else None

    def _forget_dropped(self) -> None:
        first = self.store.first
        self._low, self._high = max(self._low, first), max(self._high, first)
        gone = 0
        while gone < len(self._chunks):
            chunk = self._chunks[gone]
            if chunk.first + chunk.count > first:
                break
            self._rows -= chunk.rows
            gone += 1
        if gone:
            del self._chunks[:gone], self._starts[:gone]
            self.version += 1
        if self._chunks and self._chunks[0].first < first:
            self._cut_first(first)

    def _cut_first(self, first: int) -> None:
        chunk = self._chunks[0]
        cut = chunk.row(first)
        skipped = first - chunk.first
        shown = None if chunk.shown is None else [at - skipped for at in chunk.shown[cut:]]
        self._chunks[0] = _Chunk(first, chunk.count - skipped, shown)
        self._starts[0] += cut
        self._rows -= cut
        self.version += 1
