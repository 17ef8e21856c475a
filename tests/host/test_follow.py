# ruff: noqa: ASYNC240 - small files in a temporary folder
"""Following a file: nothing lost, nothing doubled, whatever happens to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import shutil
import signal
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from eagletui.host import followscript
from eagletui.host import local as local_module
from eagletui.host.base import FileChunk, FilePosition
from eagletui.host.follow import Follower
from eagletui.host.local import LocalHost
from eagletui.host.ssh import SshHost
from eagletui.model.errors import ConnectionLost, HostError
from tests.host.test_commands import gone

AnyHost = LocalHost | SshHost


class Reader:
    """Collects what a follower yields, and checks that its places are adjacent."""

    def __init__(self, host: AnyHost, path: Path | str, **options: object) -> None:
        self.chunks: list[FileChunk] = []
        self._came = asyncio.Event()
        self._follow: AsyncGenerator[FileChunk, None] = host.follow(str(path), **options)  # type: ignore[arg-type]
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with contextlib.aclosing(self._follow) as follow:
            async for chunk in follow:
                self._check(chunk)
                self.chunks.append(chunk)
                self._came.set()

    def _check(self, chunk: FileChunk) -> None:
        assert chunk.data
        assert chunk.position.offset == chunk.start + len(chunk.data)
        if self.chunks and not chunk.gap:
            assert chunk.start == self.chunks[-1].position.offset
            assert chunk.position.inode == self.chunks[-1].position.inode

    @property
    def data(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def gaps(self) -> list[str]:
        return [chunk.gap for chunk in self.chunks if chunk.gap]

    @property
    def position(self) -> FilePosition:
        return self.chunks[-1].position

    async def until(self, ready: Callable[[bytes], bool], within: float = 20.0) -> None:
        """Wait until what was read satisfies a condition."""

        async def wait() -> None:
            while not ready(self.data):
                self._came.clear()
                came = asyncio.ensure_future(self._came.wait())
                await asyncio.wait({came, self.task}, return_when=asyncio.FIRST_COMPLETED)
                came.cancel()
                if self.task.done():
                    await self.task

        try:
            await asyncio.wait_for(wait(), within)
        except asyncio.TimeoutError:
            raise AssertionError(f"read {self.data[-300:]!r}, gaps {self.gaps}") from None

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionLost):
            await self.task


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def test_what_is_there_then_what_comes(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"old\nhalf")
    reader = Reader(host, log)
    await reader.until(lambda data: data == b"old\nhalf")
    append(log, b" a line\r\xff\0\n")
    await reader.until(lambda data: data == b"old\nhalf a line\r\xff\0\n")
    assert [(c.start, c.live) for c in reader.chunks] == [(0, False), (8, True)]
    assert reader.position == FilePosition(inode=log.stat().st_ino, offset=19)
    await reader.stop()


async def test_empty_file_and_file_without_newline(host: AnyHost, log: Path) -> None:
    log.touch()
    reader = Reader(host, log)
    await asyncio.sleep(0.3)
    append(log, b"x" * 100_000)
    await reader.until(lambda data: len(data) == 100_000)
    await reader.stop()


async def test_resume_at_the_byte(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"0123456789")
    position = FilePosition(inode=log.stat().st_ino, offset=4)
    reader = Reader(host, log, position=position)
    await reader.until(lambda data: data == b"456789")
    assert (reader.chunks[0].start, reader.chunks[0].gap) == (4, "")
    await reader.stop()


@pytest.fixture(params=["at once", "late"])
def tail_starts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How soon the child that is to become tail gets the processor: a busy machine lets it wait."""
    when: str = request.param
    if when == "late":
        start = re.search(r'^"\$key" --pid.* 5<&-(?= &)', followscript._SCRIPT, re.MULTILINE)
        assert start is not None
        late = f"{{ sleep 0.3; exec {start[0]}; }}"
        monkeypatch.setattr(followscript, "_SCRIPT", followscript._SCRIPT.replace(start[0], late))
    return when


@pytest.mark.usefixtures("tail_starts")
async def test_rotation_by_renaming(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(host, log)
    await reader.until(lambda data: data == b"one\n")
    writer = log.open("ab", buffering=0)
    log.rename(log.with_name("server.log.1"))
    log.write_bytes(b"")
    # The process still writes to the renamed file.
    writer.write(b"two\n")
    await reader.until(lambda data: data == b"one\ntwo\n")
    append(log, b"three\n")
    await reader.until(lambda data: data == b"one\ntwo\nthree\n")
    assert reader.gaps == ["rotated"]
    append(log, b"four\n")
    await reader.until(lambda data: data.endswith(b"three\nfour\n"))
    assert all(chunk.live for chunk in reader.chunks[1:])
    writer.close()
    await reader.stop()


async def test_truncation(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"a long first life of this file\n")
    reader = Reader(host, log)
    await reader.until(lambda data: data.endswith(b"file\n"))
    os.truncate(log, 0)
    await asyncio.sleep(0.3)
    append(log, b"second\n")
    await reader.until(lambda data: data.endswith(b"file\nsecond\n"))
    assert reader.gaps == ["truncated"]
    assert reader.position.offset == 7
    await reader.stop()


async def test_a_text_like_tails_own_message_is_only_text(host: AnyHost, log: Path) -> None:
    line = f"tail: {log}: file truncated\n/usr/bin/tail: {log}: file truncated\n".encode()
    log.write_bytes(line)
    reader = Reader(host, log)
    await reader.until(lambda data: data == line)
    append(log, line)
    await reader.until(lambda data: data == line * 2)
    assert reader.gaps == []
    await reader.stop()


@pytest.mark.usefixtures("tail_starts")
async def test_removed_and_written_anew(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"first\n")
    reader = Reader(host, log)
    await reader.until(lambda data: data == b"first\n")
    log.unlink()
    await asyncio.sleep(0.1)
    log.write_bytes(b"second\n")
    await reader.until(lambda data: data == b"first\nsecond\n")
    assert reader.gaps == ["replaced"]
    await reader.stop()


async def test_a_deleted_file_through_the_descriptor_that_writes_it(
    host: AnyHost, log: Path
) -> None:
    """Its name leads nowhere any more; `/proc/PID/fd/N` still opens it."""
    with log.open("ab", buffering=0) as writer:
        writer.write(b"before\n")
        log.unlink()
        reader = Reader(host, f"/proc/{os.getpid()}/fd/{writer.fileno()}")
        await reader.until(lambda data: data == b"before\n")
        writer.write(b"after\n")
        await reader.until(lambda data: data == b"before\nafter\n")
        assert reader.gaps == []
        await reader.stop()


async def test_away_during_two_rotations(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"1")
    reader = Reader(host, log)
    await reader.until(lambda data: data == b"1")
    await reader.stop()
    append(log, b"2")
    log.rename(log.with_name("server.log.2"))
    await asyncio.sleep(0.02)
    log.write_bytes(b"3")
    log.rename(log.with_name("server.log.1"))
    await asyncio.sleep(0.02)
    log.write_bytes(b"4")
    again = Reader(host, log, position=reader.position)
    await again.until(lambda data: data == b"234")
    append(log, b"5")
    await again.until(lambda data: data == b"2345")
    assert [(c.data, c.gap, c.live) for c in again.chunks] == [
        (b"2", "", False),
        (b"3", "rotated", False),
        (b"4", "rotated", False),
        (b"5", "", True),
    ]
    await again.stop()


async def test_away_while_renamed_but_still_written(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"1")
    position = FilePosition(inode=log.stat().st_ino, offset=1)
    moved = log.rename(log.with_name("server.log.1"))
    log.touch()
    reader = Reader(host, log, position=position)
    await asyncio.sleep(0.2)
    append(moved, b"2")
    await reader.until(lambda data: data == b"2")
    append(log, b"3")
    await reader.until(lambda data: data == b"23")
    assert reader.gaps == ["rotated"]
    await reader.stop()


async def test_away_and_the_old_file_is_gone(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"new")
    position = FilePosition(inode=log.stat().st_ino + 10**6, offset=100)
    reader = Reader(host, log, position=position)
    await reader.until(lambda data: data == b"new")
    assert reader.gaps == ["lost"]
    await reader.stop()


@pytest.mark.parametrize(
    ("content", "gap"), [(b"short", "truncated"), (b"quite other bytes\n" * 9, "replaced")]
)
async def test_away_and_written_anew_in_place(
    host: AnyHost, log: Path, content: bytes, gap: str
) -> None:
    log.write_bytes(b"the first life of a file\n")
    reader = Reader(host, log)
    await reader.until(lambda data: data.endswith(b"\n"))
    await reader.stop()
    log.write_bytes(content)
    again = Reader(host, log, position=reader.position)
    await again.until(lambda data: data == content)
    assert again.gaps == [gap]
    await again.stop()


async def test_through_a_link(host: AnyHost, log: Path) -> None:
    first, second = log.with_name("launch-1"), log.with_name("launch-2")
    first.write_bytes(b"1\n")
    log.symlink_to(first)
    reader = Reader(host, log)
    await reader.until(lambda data: data == b"1\n")
    append(first, b"2\n")
    await reader.until(lambda data: data == b"1\n2\n")
    second.write_bytes(b"3\n")
    log.unlink()
    log.symlink_to(second)
    await reader.until(lambda data: data == b"1\n2\n3\n")
    await reader.stop()


async def test_long_history_keeps_head_and_tail_in_whole_lines(host: AnyHost, log: Path) -> None:
    lines = [b"line %06d\n" % i for i in range(20_000)]
    whole = b"".join(lines)
    log.write_bytes(whole)
    reader = Reader(host, log, history=8000)
    await reader.until(lambda data: data.endswith(lines[-1]))
    append(log, b"live\n")
    await reader.until(lambda data: data.endswith(b"live\n"))
    gap = next(i for i, chunk in enumerate(reader.chunks) if chunk.gap)
    head = b"".join(chunk.data for chunk in reader.chunks[:gap])
    tail = b"".join(chunk.data for chunk in reader.chunks[gap:])
    assert head == b"".join(lines[:83])
    assert tail == b"".join(lines[-583:]) + b"live\n"
    skipped = reader.chunks[gap]
    assert skipped.gap == "skipped"
    assert skipped.skipped == skipped.start - len(head) == len(whole) + 5 - len(head) - len(tail)
    await reader.stop()


async def test_short_history_is_read_whole(host: AnyHost, log: Path) -> None:
    log.write_bytes(b"a\n" * 400)
    reader = Reader(host, log, history=800)
    await reader.until(lambda data: data == b"a\n" * 400)
    assert reader.gaps == []
    await reader.stop()


@pytest.mark.parametrize(
    ("name", "words"),
    [("absent", "There is no file"), ("", "is a folder"), ("fifo", "not an ordinary file")],
)
async def test_what_cannot_be_followed(
    host: AnyHost, tmp_path: Path, name: str, words: str
) -> None:
    if name == "fifo":
        os.mkfifo(tmp_path / name)
    with pytest.raises(HostError, match=words):
        await anext(host.follow(str(tmp_path / name)))


@pytest.mark.sshd
async def test_nothing_is_left_behind_on_the_host(ssh: SshHost, log: Path) -> None:
    log.write_bytes(b"x")
    reader = Reader(ssh, log)
    await reader.until(lambda data: data == b"x")
    followers = watchers(log)
    assert len(followers) >= 2
    await reader.stop()
    for pid in followers:
        await gone(pid)


@pytest.mark.sshd
async def test_a_killed_connection_leaves_no_follower(ssh: SshHost, log: Path) -> None:
    log.write_bytes(b"x")
    reader = Reader(ssh, log)
    await reader.until(lambda data: data == b"x")
    followers = watchers(log)
    session = int((await ssh.run(["sh", "-c", "echo $PPID"])).stdout)
    os.kill(session, signal.SIGKILL)
    with pytest.raises(ConnectionLost):
        await reader.task
    for pid in followers:
        await gone(pid)
    append(log, b"y")
    await ssh.connect()
    again = Reader(ssh, log, position=reader.position)
    await again.until(lambda data: data == b"y")
    assert again.gaps == []
    await again.stop()


def watchers(path: Path) -> list[int]:
    """Processes that have the path on their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes()
            if str(path).encode() in words.replace(b"/./", b"/"):
                found.append(int(folder.name))
    return found


class Life:
    """A log with random ups and downs, and what a perfect reader would have seen."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        self.expected = b""
        self.count = 0
        path.touch()

    def append(self) -> None:
        self.count += 1
        size = self.random.choice([0, 5, 100, 5000, 200_000])
        data = b"%d:" % self.count + self.random.randbytes(size) + b"\n"
        append(self.path, data)
        self.expected += data

    def rotate(self) -> None:
        for number in range(20, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.rename(self.path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
        self.path.touch()

    def truncate(self) -> None:
        os.truncate(self.path, 0)


class Watcher:
    """A reader that comes and goes."""

    def __init__(self, host: AnyHost, path: Path) -> None:
        self._host, self._path = host, path
        self._before = b""
        self.reader = Reader(host, path)

    @property
    def data(self) -> bytes:
        return self._before + self.reader.data

    async def caught_up(self, life: Life) -> None:
        before = self._before
        await self.reader.until(lambda data: len(before) + len(data) >= len(life.expected))
        assert self.data == life.expected

    async def leave(self) -> None:
        await self.reader.stop()

    def come_back(self) -> None:
        if not self.reader.chunks:
            return
        self._before = self.data
        self.reader = Reader(self._host, self._path, position=self.reader.position)


# --- hosts without GNU tail ----------------------------------------------------------------------


@pytest.fixture(params=["busybox", "no proc"])
def plain(
    request: pytest.FixtureRequest,
    local: LocalHost,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> LocalHost:
    """This machine as if its tail were not GNU's, or as if it had no /proc."""
    if request.param == "no proc":
        monkeypatch.setattr(local_module, "_PROC", Path("/nowhere"))
        return local
    folder = tmp_path_factory.mktemp("bin")
    tail = folder / "tail"
    tail.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--version*|*-f*) echo "unrecognised option" >&2; exit 1;; esac\n'
        f'exec {shutil.which("tail")} "$@"\n'
    )
    tail.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return local


async def test_without_gnu_tail(plain: LocalHost, log: Path) -> None:
    log.write_bytes(b"one\n")
    reader = Reader(plain, log)
    await reader.until(lambda data: data == b"one\n")
    append(log, b"two\n")
    await reader.until(lambda data: data == b"one\ntwo\n")
    log.rename(log.with_name("server.log.1"))
    append(log.with_name("server.log.1"), b"three\n")
    log.touch()
    await reader.until(lambda data: data == b"one\ntwo\nthree\n")
    append(log, b"four\n")
    await reader.until(lambda data: data.endswith(b"three\nfour\n"))
    os.truncate(log, 0)
    await asyncio.sleep(0.6)
    append(log, b"5\n")
    await reader.until(lambda data: data.endswith(b"four\n5\n"))
    assert reader.gaps == ["rotated", "truncated"]
    assert [chunk.live for chunk in reader.chunks] == [False, True, True, True, True]
    await reader.stop()
    append(log, b"6\n")
    again = Reader(plain, log, position=reader.position)
    await again.until(lambda data: data == b"6\n")
    assert again.gaps == []
    await again.stop()


async def test_history_without_gnu_tail(plain: LocalHost, log: Path) -> None:
    lines = [b"line %06d\n" % i for i in range(20_000)]
    log.write_bytes(b"".join(lines))
    reader = Reader(plain, log, history=8000)
    await reader.until(lambda data: data.endswith(lines[-1]))
    assert reader.data == b"".join(lines[:83]) + b"".join(lines[-583:])
    assert reader.gaps == ["skipped"]
    await reader.stop()


async def test_a_huge_file_is_not_read_through(host: AnyHost, log: Path) -> None:
    with log.open("wb") as file:
        file.write(b"first\n")
        file.truncate(10 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")
    reader = Reader(host, log, history=80_000)
    await reader.until(lambda data: data.endswith(b"\nlast\n"))
    assert reader.data.startswith(b"first\n")
    assert len(reader.data) <= 80_000
    await reader.stop()


@pytest.mark.parametrize("seed", range(4))
async def test_random_lives(host: AnyHost, log: Path, seed: int) -> None:
    life = Life(log, seed)
    life.append()
    watcher = Watcher(host, log)
    await watcher.caught_up(life)
    for _ in range(14):
        act = life.random.choice(["append", "append", "append", "rotate", "truncate", "leave"])
        if act == "append":
            life.append()
        elif act == "rotate":
            life.rotate()
            life.append()
        elif act == "truncate":
            # What is cut off before it was read is nobody's fault.
            await watcher.caught_up(life)
            life.truncate()
            await asyncio.sleep(0.3)
        elif watcher.reader.chunks:
            await watcher.leave()
            life.append()
            if life.random.random() < 0.5:
                life.rotate()
                life.append()
            watcher.come_back()
    life.append()
    await watcher.caught_up(life)
    await watcher.leave()


@pytest.mark.parametrize(
    ("base", "read", "live"),
    [(3, b"abc", True), (3, b"abcd", True), (3, b"ab", False), (3, b"", False), (0, b"", True)],
)
def test_what_comes_while_a_dead_tail_is_started_again_is_live(
    base: int, read: bytes, live: bool
) -> None:
    """Tail was killed on the host: what is written until the next start was not there before us."""
    follower = Follower("/a.log", position=None, history=None, marks={})
    follower.command()
    said = b"/x/tail\n/x/tail: at 5 0 %d\n/x/tail: ok\n" % base
    assert b"".join(chunk.data for chunk in follower.feed(said + read)) == read
    follower.finish()
    follower.command()
    # Everything is sent again from the last bytes that are known, here from the beginning.
    again = b"/x/tail\n/x/tail: at 5 0 9\n/x/tail: ok\n"
    (chunk,) = follower.feed(again + read + b"new")
    assert (chunk.data, chunk.live) == (b"new", live)
