"""Saved files as they lie around: packed or not, from a pipe, in UTF-16, with holes."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from eagletui.engine.summary import BLOCK
from eagletui.model.errors import EagletuiError
from eagletui.model.text import visible

# First bytes → how such a file is opened.
_PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}
# First bytes → the name of what is packed so, and what unpacks it.
_FOREIGN: dict[bytes, tuple[str, str]] = {
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
    b"PK\x03\x04": ("zip", "unzip -p"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -dc"),
    b"7z\xbc\xaf\x27\x1c": ("7z", "7z x -so"),
}
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@contextmanager
def saved(source: str) -> Iterator[Iterator[bytes]]:
    """The text of a file, or of standard input for `-`, in blocks of bytes (UTF-8).

    Every source is opened and read once, from its beginning: pipes and `<(…)` work as files do.

    Raises:
        EagletuiError: it cannot be read, is damaged, or is packed in a way that is not read here.
    """
    name = "standard input" if source == "-" else visible(source)
    try:
        if source == "-":
            yield _text(sys.stdin.buffer, name)
        else:
            with Path(source).open("rb", buffering=0) as file:
                yield _text(cast(BinaryIO, file), name)
    except OSError as error:
        raise EagletuiError(
            f"{name} cannot be read: {error.strerror or error}.",
            advice="Give a file that you may read, or - for standard input.",
        ) from error
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise EagletuiError(f"{name} is no name of a file.", advice="Check the path.") from error


def _text(stream: BinaryIO, name: str) -> Iterator[bytes]:
    blocks = _unpacked(stream, name)
    first = next(blocks, b"")
    coding = next((c for bom, c in _UTF16.items() if first.startswith(bom)), None)
    if coding is None:
        yield from (block for block in _chain(first, blocks) if block)
        return
    # What PowerShell's `>` and some editors write.
    decoder = codecs.getincrementaldecoder(coding)("replace")
    for block in _chain(first[2:], blocks):
        if text := decoder.decode(block):
            yield text.encode("utf-8", "replace")


def _unpacked(stream: BinaryIO, name: str) -> Iterator[bytes]:
    head = b""
    while len(head) < BLOCK and (more := stream.read(BLOCK - len(head))):
        head += more
    for magic, (kind, tool) in _FOREIGN.items():
        if head.startswith(magic):
            raise EagletuiError(
                f"{name} is packed with {kind}, which is not read here.",
                advice=f"Unpack it on the way: `{tool} FILE` into `-`.",
            )
    opener = next((o for magic, o in _PACKED.items() if head.startswith(magic)), None)
    if opener is None:
        yield from _chain(head, _blocks(stream))
        return
    try:
        yield from _blocks(opener(io.BufferedReader(_Again(head, stream))))
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the archive's
        raise EagletuiError(
            f"{name} is a damaged archive: {error}.",
            advice="Copy it again, or unpack what is left of it first.",
        ) from error


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(BLOCK):
        yield block


def _chain(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from blocks


class _Again(io.RawIOBase):
    """A stream whose beginning was read already; it cannot seek, as a pipe cannot."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._stream.read(len(buffer)) or b""
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
