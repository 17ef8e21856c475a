"""Bytes of a followed file, exactly placed: what the script on the host says, understood."""

from __future__ import annotations

from collections.abc import Iterator

from eagletui.host import followscript
from eagletui.host.base import FileChunk, FilePosition
from eagletui.model.errors import HostError

# By path: where reading stopped and the bytes before it. A file that has others there was
# written anew, even when its inode and its size would fit.
Fingerprints = dict[str, tuple[FilePosition, bytes]]

_FINGERPRINT = 64
_ALIGN_WITHIN = 1 << 20
_FRUITLESS = 5

_PROBLEMS = {
    "missing": ("There is no file {path}.", "Check the path; a glob finds the newest match."),
    "denied": ("{path} may not be read.", "Ask its owner for permission to read it."),
    "directory": ("{path} is a folder.", "Name a file in it, or a glob such as {path}/*.log."),
    "special": ("{path} is not an ordinary file.", "Name the file that the log is written to."),
}


class Splitter:
    """A stream taken apart into bytes of files and control lines."""

    def __init__(self) -> None:
        self._buffer = b""
        self._mark = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, str]]:
        """Pairs of (bytes, ""), or (b"", control line)."""
        buffer = self._buffer + data if self._buffer else data
        self._buffer = b""
        if not self._mark:
            line, newline, buffer = buffer.partition(b"\n")
            if not newline:
                self._buffer = line
                return
            self._mark = line + b": "
        while buffer:
            at = buffer.find(self._mark)
            if at < 0:
                keep = self._possible_mark(buffer)
                if keep < len(buffer):
                    yield buffer[: len(buffer) - keep], ""
                self._buffer = buffer[len(buffer) - keep :]
                return
            if at:
                yield buffer[:at], ""
            end = buffer.find(b"\n", at)
            if end < 0:
                self._buffer = buffer[at:]
                return
            yield b"", buffer[at + len(self._mark) : end].decode("utf-8", "replace")
            buffer = buffer[end + 1 :]

    def _possible_mark(self, buffer: bytes) -> int:
        """How many of the last bytes could be the beginning of a control line."""
        start = max(0, len(buffer) - len(self._mark) + 1)
        at = buffer.find(self._mark[:1], start)
        while at >= 0:
            if self._mark.startswith(buffer[at:]):
                return len(buffer) - at
            at = buffer.find(self._mark[:1], at + 1)
        return 0


class Follower:
    """One file followed for ever, over as many starts of the script as it takes.

    `command` gives what to start next, `feed` takes its output until `done`, `finish` its end;
    `pause` is how long to wait before the next start.
    """

    def __init__(
        self,
        path: str,
        *,
        position: FilePosition | None,
        history: int | None,
        marks: Fingerprints,
    ) -> None:
        self._path = path
        self._marks = marks
        self._inode = position.inode if position else None
        self._offset = position.offset if position else 0
        known = marks.get(path)
        self._print = known[1] if known and known[0] == position else b""
        self._history = history
        self._live = False
        self._gap = ""
        self._skipped: int | None = None
        self._ended: tuple[int | None, int] | None = None
        self._fruitless = 0
        self._restart()

    def _restart(self) -> None:
        self.done = False
        self.pause = 1.0
        self._splitter = Splitter()
        self._expect = b""
        self._held: list[bytes] | None = None
        self._head: list[bytes] | None = None
        self._base = 0
        self._align = b""
        self._aligning = False
        self._placed = False

    def command(self) -> list[str]:
        """The argument vector of the next start, from where reading stopped."""
        self._restart()
        self._expect = self._print
        return followscript.command(
            self._path,
            inode=self._inode,
            offset=self._offset,
            overlap=len(self._expect),
            history=self._history,
            wait=self._inode is not None,
            live=self._live,
        )

    def feed(self, data: bytes) -> Iterator[FileChunk]:
        """Take output of the script.

        Raises:
            HostError: the file cannot be followed.
        """
        for content, control in self._splitter.feed(data):
            if self.done:
                return
            if control:
                yield from self._control(control)
            elif self._held is not None:
                self._held.append(content)
            elif self._head is not None:
                self._head.append(content)
            else:
                yield from self._content(content)

    def finish(self) -> None:
        """The script ended.

        Raises:
            HostError: it never gets as far as the file.
        """
        # What is written from here to the next start comes after the end was reached: it is live.
        self._live = self._live or (self._placed and self._offset >= self._base)
        self._fruitless = 0 if self._placed else self._fruitless + 1
        if self._fruitless >= _FRUITLESS:
            raise HostError(
                f"{self._path} cannot be followed on this host.",
                meaning="The script that follows it ends at once.",
                advice="It needs sh, tail, head, stat and ls, and /proc.",
            )

    # --- control lines ------------------------------------------------------------------------

    def _control(self, line: str) -> Iterator[FileChunk]:
        word, *numbers = line.split(" ")
        if word in ("at", "head"):
            inode, offset, self._base = (int(number) for number in numbers)
            self._placed = True
            self._enter(inode, offset)
            self._held, self._head = ([], None) if word == "at" else (None, [])
        elif word == "ok":
            held, self._held = self._held or [], None
            for content in held:
                yield from self._content(content)
        elif word == "skip":
            yield from self._end_of_head()
        elif word == "bad":
            self._stop(0.05)
        elif word == "end":
            self._ended = (self._inode, int(numbers[0]))
            self._live = True
            self._stop(0.0)
        elif word == "lost":
            complete = self._ended == (self._inode, self._offset)
            self._gap = "replaced" if complete else "lost"
        elif word == "shrunk" or line.endswith("file truncated"):
            self._offset, self._print, self._gap = 0, b"", "truncated"
            self._expect = b""
        elif word in _PROBLEMS:
            what, advice = _PROBLEMS[word]
            raise HostError(what.format(path=self._path), advice=advice.format(path=self._path))

    def _stop(self, pause: float) -> None:
        self._held = None
        self.done = True
        self.pause = pause

    def _enter(self, inode: int, offset: int) -> None:
        """The bytes that follow belong to this place; say what lies between."""
        expect, self._expect = self._expect, b""
        if inode == self._inode:
            if offset == self._offset - len(expect):
                self._expect = expect
                return
            if offset > self._offset:
                self._gap, self._skipped = "skipped", offset - self._offset
            elif offset < self._offset:
                self._gap = "truncated"
        elif self._inode is not None:
            self._gap = self._gap or "rotated"
        self._inode, self._offset, self._print = inode, offset, b""

    # --- bytes --------------------------------------------------------------------------------

    def _content(self, data: bytes) -> Iterator[FileChunk]:
        if self._expect:
            data = self._compare(data)
        if self._aligning and data:
            data = self._to_line_start(data)
        if data:
            yield from self._emit(data)

    def _compare(self, data: bytes) -> bytes:
        """Drop the bytes that were sent again; start over where they are not the same."""
        count = min(len(self._expect), len(data))
        if data[:count] == self._expect[:count]:
            self._expect = self._expect[count:]
            return data[count:]
        self._offset, self._print, self._gap = 0, b"", "replaced"
        self._stop(0.0)
        return b""

    def _to_line_start(self, data: bytes) -> bytes:
        self._align += data
        newline = self._align.find(b"\n")
        if newline < 0 and len(self._align) < _ALIGN_WITHIN:
            return b""
        data, self._align, self._aligning = self._align, b"", False
        left_out = newline + 1
        self._offset += left_out
        self._skipped = (self._skipped or 0) + left_out
        return data[left_out:]

    def _end_of_head(self) -> Iterator[FileChunk]:
        data = b"".join(self._head or [])
        self._head = None
        self._history = None
        yield from self._content(data[: data.rfind(b"\n") + 1] or data)
        self._aligning = True

    def _emit(self, data: bytes) -> Iterator[FileChunk]:
        assert self._inode is not None
        before = 0 if self._live else min(max(self._base - self._offset, 0), len(data))
        for part, live in ((data[:before], False), (data[before:], True)):
            if not part:
                continue
            start = self._offset
            self._offset += len(part)
            position = FilePosition(inode=self._inode, offset=self._offset)
            self._print = (self._print + part[-_FINGERPRINT:])[-_FINGERPRINT:]
            self._marks[self._path] = (position, self._print)
            self._history = None
            gap, self._gap = self._gap, ""
            skipped, self._skipped = self._skipped, None
            yield FileChunk(
                start=start, data=part, position=position, live=live, gap=gap, skipped=skipped
            )
