"""A recording as it is read: block by block, up to its end or to where it is cut or damaged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple

import msgspec

from eagletui.model.errors import EagletuiError
from eagletui.model.text import visible
from eagletui.store.recording import blocks
from eagletui.store.recording.codec import About, Ending, Frame, decode_frames

_about = msgspec.msgpack.Decoder(About)
_ending = msgspec.msgpack.Decoder(Ending)
_ADVICE = "Give a file that `eagletui record` or `--record` wrote."


class _Place(NamedTuple):
    offset: int
    head: blocks.Head


class Recording:
    """A recording that is open. Use it in `with`; not for two threads at once.

    Attributes:
        about: what it is of.
        begin, end: when its first and last events came, seconds since the epoch.
        events: how many there are.
        ending: its last words; None where it has none (a crash, or it is still being written).
        problem: why it can't be read to its end, for a person; "" so far.
        skipped: events read so far that come from a newer eagletui and mean nothing here.

    Raises:
        EagletuiError: it can't be read, or is no recording.
    """

    def __init__(self, path: Path) -> None:
        self.name = visible(str(path))
        self.problem = ""
        self.skipped = 0
        self.ending: Ending | None = None
        self._seen: set[int] = set()
        try:
            self._file: BinaryIO = path.open("rb")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise EagletuiError(f"{self.name} cannot be read: {why}.", advice=_ADVICE) from error
        try:
            self.about = self._opening()
            self._places = list(self._walk())
        except OSError as error:
            self.close()
            why = error.strerror or str(error)
            raise EagletuiError(f"{self.name} cannot be read: {why}.", advice=_ADVICE) from error
        except BaseException:
            self.close()
            raise
        self._lasts = [place.head.last for place in self._places]
        self.begin = self._places[0].head.first if self._places else self.about.began
        self.end = self._lasts[-1] if self._lasts else self.begin
        self.events = sum(place.head.events for place in self._places)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def count(self) -> int:
        """How many blocks of events there are."""
        return len(self._places)

    def block_at(self, at: float) -> int:
        """The number of the block with the first event after this moment; `count` past the end."""
        return bisect_right(self._lasts, at)

    def frames(self, number: int) -> list[Frame] | None:
        """The frames of one block; None where it can't be read, which `problem` says then."""
        place = self._places[number]
        self._file.seek(place.offset)
        payload = blocks.unpack(place.head, self._file.read(place.head.size))
        found = decode_frames(payload) if payload is not None else None
        if found is None:
            self.problem = f"damaged at byte {place.offset:,}: what comes after is left out"
            return None
        if number not in self._seen:
            self._seen.add(number)
            self.skipped += found.skipped
        return found.frames

    def __iter__(self) -> Iterator[Frame]:
        """Every frame, from the beginning up to where it can be read."""
        for number in range(self.count):
            frames = self.frames(number)
            if frames is None:
                return
            yield from frames

    def _opening(self) -> About:
        begun = self._file.read(len(blocks.MAGIC))
        if not begun:
            raise EagletuiError(f"{self.name} is empty.", advice=_ADVICE)
        if begun != blocks.MAGIC:
            cut = blocks.MAGIC.startswith(begun)
            what = "ends in its first line" if cut else "is no recording"
            raise EagletuiError(f"{self.name} {what}.", advice=_ADVICE)
        head = blocks.read_head(self._file.read(blocks.HEAD))
        payload = blocks.unpack(head, self._file.read(head.size)) if head is not None else None
        if head is None or payload is None or head.kind != blocks.ABOUT:
            raise EagletuiError(
                f"{self.name} is cut or damaged in its first block.",
                meaning="Nothing of it can be read.",
                advice="Copy it again from where it was recorded.",
            )
        try:
            about = _about.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise EagletuiError(
                f"{self.name} says nothing that is known here of what it is.", advice=_ADVICE
            ) from error
        if about.format > blocks.FORMAT:
            raise EagletuiError(
                f"{self.name} was written by eagletui {visible(about.version)}, which is newer.",
                meaning=f"Its format is {about.format}; {blocks.FORMAT} is the newest known here.",
                advice="Update eagletui.",
            )
        return about

    def _walk(self) -> Iterator[_Place]:
        """Where the blocks of events are; only heads are read."""
        offset, latest = self._file.tell(), float("-inf")
        self._file.seek(0, 2)
        size = self._file.tell()
        while offset < size and self.ending is None:
            self._file.seek(offset)
            data = self._file.read(blocks.HEAD)
            head = blocks.read_head(data)
            offset += blocks.HEAD
            if head is None or offset + head.size > size:
                cut = head is not None or len(data) < blocks.HEAD
                self.problem = (
                    f"cut at byte {size:,}, in the middle of a block"
                    if cut
                    else f"damaged at byte {offset - blocks.HEAD:,}: what comes after is left out"
                )
                return
            if head.kind == blocks.EVENTS and latest <= head.first <= head.last:
                yield _Place(offset, head)
                latest = head.last
            elif head.kind == blocks.END:
                self.ending = self._last_words(head)
            offset += head.size

    def _last_words(self, head: blocks.Head) -> Ending | None:
        payload = blocks.unpack(head, self._file.read(head.size))
        try:
            return _ending.decode(payload) if payload is not None else None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
