"""Following a file of this machine where it has no `/proc` and no GNU tail (macOS).

The file is looked at ten times a second: kqueue tells of writes, but not which bytes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator

from eagletui.host.base import FileChunk, FilePosition
from eagletui.model.errors import HostError

_INTERVAL = 0.1
_BLOCK = 1 << 20


class _Place:
    """The open file, and what the next chunk has to say."""

    def __init__(self, path: str) -> None:
        self.path = os.path.expanduser(path)
        self.file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - closed by the follower
        self.inode = os.fstat(self.file.fileno()).st_ino
        self.offset = 0
        self.gap = ""
        self.skipped: int | None = None

    def size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def chunk(self, base: int) -> FileChunk | None:
        """The next bytes, None at the end of the file."""
        size = self.size()
        if size < self.offset:
            self.offset, self.gap, base = 0, "truncated", 0
        # What was there before ends a chunk, so that a chunk is live or not as a whole.
        limit = min(_BLOCK, base - self.offset) if self.offset < base else _BLOCK
        data = os.pread(self.file.fileno(), limit, self.offset)
        if not data:
            return None
        start, self.offset = self.offset, self.offset + len(data)
        gap, self.gap = self.gap, ""
        skipped, self.skipped = self.skipped, None
        return FileChunk(
            start=start,
            data=data,
            position=FilePosition(inode=self.inode, offset=self.offset),
            live=start >= base,
            gap=gap,
            skipped=skipped,
        )


async def follow_local(
    path: str, *, position: FilePosition | None = None, history: int | None = None
) -> AsyncGenerator[FileChunk, None]:
    """Follow a file by name for ever; see `eagletui.host.base.Host.follow`.

    Raises:
        HostError: there is no such file, or it may not be read.
    """
    place = _open(path)
    path = place.path
    base = place.size()
    head_end: int | None = None
    if position is not None and position.inode == place.inode and position.offset <= base:
        place.offset = position.offset
    elif position is not None:
        place.gap = "truncated" if position.inode == place.inode else "lost"
    elif history is not None and base > history:
        head_end = history // 8
    try:
        while True:
            if head_end is not None:
                yield _head_and_gap(place, head_end, base, history or 0)
                head_end = None
            while (chunk := place.chunk(base)) is not None:
                yield chunk
                await asyncio.sleep(0)
            await asyncio.sleep(_INTERVAL)
            other = _other(path, place)
            if other is not None:
                # What came between the last look and the renaming.
                while (chunk := place.chunk(base)) is not None:
                    yield chunk
                place.file.close()
                place, base = other, 0
                place.gap = "rotated"
    finally:
        place.file.close()


def _head_and_gap(place: _Place, head_end: int, base: int, history: int) -> FileChunk:
    """The first part of a long history; the place is moved behind the gap."""
    head = os.pread(place.file.fileno(), head_end, 0)
    head = head[: head.rfind(b"\n") + 1] or head
    tail_start = base - history + head_end
    block = os.pread(place.file.fileno(), _BLOCK, tail_start)
    tail_start += block.find(b"\n") + 1
    place.offset, place.gap, place.skipped = tail_start, "skipped", tail_start - len(head)
    position = FilePosition(inode=place.inode, offset=len(head))
    return FileChunk(start=0, data=head, position=position, live=False)


def _open(path: str) -> _Place:
    try:
        if os.path.isdir(os.path.expanduser(path)):
            raise HostError(f"{path} is a folder.", advice="Name a file in it, or a glob.")
        return _Place(path)
    except FileNotFoundError as error:
        raise HostError(
            f"There is no file {path}.", advice="Check the path; a glob finds the newest match."
        ) from error
    except OSError as error:
        raise HostError(
            f"{path} may not be read: {error.strerror}.", advice="Ask its owner for permission."
        ) from error


def _other(path: str, place: _Place) -> _Place | None:
    """The file that has taken the name and was written to."""
    try:
        now = os.stat(path)
        if now.st_ino == place.inode or not now.st_size:
            return None
        return _Place(path)
    except OSError:
        return None
