"""A server's log followed, wherever it goes."""

from __future__ import annotations

import asyncio
import contextlib
import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from eagletui.host import shell
from eagletui.host.base import FileChunk, FilePosition, Host
from eagletui.host.logentries import Entry, docker_entries, journal_entries
from eagletui.model.errors import HostError
from eagletui.model.safe import safe
from eagletui.model.server import LogPlace

_GLOB = re.compile(r"[*?\[]")
_QUIET = 5.0
_TMUX_INTERVAL = 1.0
_BYTES_A_LINE = 200


def follow_log(
    host: Host,
    place: LogPlace,
    *,
    position: FilePosition | None = None,
    history: int | None = None,
) -> AsyncGenerator[FileChunk, None]:
    """Follow a log for ever; resumes at `position` with nothing lost or doubled.

    For what is no file, `FilePosition.inode` is the moment (µs since the epoch) of the last line
    and `offset` counts the bytes that were read.

    Raises:
        HostError: it cannot be followed, in words.
    """
    follow = _FOLLOWERS.get(place.kind)
    if follow is None or not place.readable:
        raise HostError(
            "There is no log to follow.", meaning=place.detail, advice="Give one with --log."
        )
    return follow(host, place, position, history)


async def newest_match(host: Host, pattern: str) -> str:
    """The newest file a glob matches.

    Raises:
        HostError: it matches none.
    """
    script = "ls -1td -- $1 2>/dev/null | head -n 1"
    # The pattern is expanded by sh, which splits words first: IFS is emptied.
    done = await host.run(
        shell.script("IFS=; case $1 in '~/'*) set -- \"$HOME/${1#??}\";; esac; " + script, pattern)
    )
    path = done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")
    if not path:
        raise HostError(
            f"No file matches {pattern}.", advice="Check the folder; `*` matches any characters."
        )
    return path


# --- files ---------------------------------------------------------------------------------------


async def _file(
    host: Host, place: LogPlace, position: FilePosition | None, history: int | None
) -> AsyncGenerator[FileChunk, None]:
    if not _GLOB.search(place.target):
        async with contextlib.aclosing(
            _closable(host.follow(place.target, position=position, history=history))
        ) as follow:
            async for chunk in follow:
                yield chunk
        return
    path = await newest_match(host, place.target)
    gap = ""
    while True:
        newer = ""
        async with contextlib.aclosing(
            _until_newer(host, place.target, path, position, history)
        ) as follow:
            async for item in follow:
                if isinstance(item, str):
                    newer = item
                    break
                yield _with_gap(item, gap) if gap else item
                gap = ""
        path, position, gap = newer, None, "replaced"


async def _until_newer(
    host: Host,
    pattern: str,
    path: str,
    position: FilePosition | None,
    history: int | None,
) -> AsyncGenerator[FileChunk | str, None]:
    """Chunks of one match; then the path of a newer one, once this one is quiet."""
    follow = host.follow(path, position=position, history=history)
    coming = asyncio.ensure_future(anext(follow))
    try:
        while True:
            await asyncio.wait({coming}, timeout=_QUIET)
            if coming.done():
                yield coming.result()
                coming = asyncio.ensure_future(anext(follow))
                continue
            newest = await newest_match(host, pattern)
            if newest != path:
                yield newest
                return
    finally:
        coming.cancel()
        await asyncio.wait({coming})
        await _close(follow)


def _with_gap(chunk: FileChunk, gap: str) -> FileChunk:
    return FileChunk(
        start=chunk.start,
        data=chunk.data,
        position=chunk.position,
        live=chunk.live,
        gap=gap,
        skipped=chunk.skipped,
    )


# --- programs that keep logs ---------------------------------------------------------------------


async def _journal(
    host: Host, place: LogPlace, position: FilePosition | None, history: int | None
) -> AsyncGenerator[FileChunk, None]:
    """journald: every line carries its own time, by which it is taken up again."""
    argv = ["journalctl", "--follow", "--quiet", "--output=export"]
    if position is not None:
        argv += [f"--since=@{position.inode // 1_000_000}", "--no-tail"]
    elif history is None:
        argv += ["--no-tail"]
    else:
        argv += [f"--lines={history // _BYTES_A_LINE}"]
    argv += _of_unit(place)
    async for chunk in _stamped(host, argv, journal_entries, position):
        yield chunk


def _of_unit(place: LogPlace) -> list[str]:
    """What journalctl is to show. Its `--user-unit` knows only units of who asks, not others'."""
    if not place.user_unit:
        return [f"--unit={place.target}"]
    if place.uid is None:
        return [f"--user-unit={place.target}"]
    owner = f"_UID={place.uid}"
    return [owner, f"_SYSTEMD_USER_UNIT={place.target}", "+", owner, f"USER_UNIT={place.target}"]


async def _docker(
    host: Host, place: LogPlace, position: FilePosition | None, history: int | None
) -> AsyncGenerator[FileChunk, None]:
    """Docker (or podman): `--timestamps` tells where to go on. Both of its streams are one."""
    argv = ["logs", "--follow", "--timestamps"]
    if position is not None:
        argv += ["--since", f"{position.inode // 1_000_000}"]
    elif history is not None:
        argv += ["--tail", str(history // _BYTES_A_LINE)]
    script = (
        'for d in docker podman nerdctl; do command -v $d >/dev/null 2>&1 && exec $d "$@" 2>&1; '
        "done; echo 'no docker, podman or nerdctl here'; exit 127"
    )
    command = shell.script(script, *argv, place.target)
    async for chunk in _stamped(host, command, docker_entries, position):
        yield chunk


async def _stamped(
    host: Host,
    argv: list[str],
    parse: Callable[[bytes], tuple[list[Entry], bytes]],
    position: FilePosition | None,
) -> AsyncIterator[FileChunk]:
    """Lines with times; what was read before the position is left out."""
    after = position.inode if position else 0
    offset = position.offset if position else 0
    began = await _now(host)
    said = rest = b""
    async for data in host.stream(argv):
        entries, rest = parse(rest + data)
        said += b"".join(line for moment, line in entries if not moment)
        fresh = [entry for entry in entries if entry[0] > after]
        if not fresh:
            continue
        text = b"".join(line for _, line in fresh)
        at = max(moment for moment, _ in fresh)
        start, offset = offset, offset + len(text)
        position = FilePosition(inode=at, offset=offset)
        yield FileChunk(start=start, data=text, position=position, live=at >= began)
    words = safe((said + rest).decode("utf-8", "replace").strip())[:300]
    raise HostError(
        f"What shows the log ended: {words or argv[0]}",
        meaning="The unit or container may be gone, or may not be read by this account.",
        advice="Log in as its owner, or join the group systemd-journal or docker.",
    )


async def _now(host: Host) -> int:
    done = await host.run(["date", "+%s"])
    return int(done.stdout) * 1_000_000 if done.stdout.strip().isdigit() else 0


# --- tmux ----------------------------------------------------------------------------------------


async def _tmux(
    host: Host, place: LogPlace, position: FilePosition | None, history: int | None
) -> AsyncGenerator[FileChunk, None]:
    """A tmux pane, read from its screen once a second: the only place that is polled.

    tmux tells nobody that a pane has new text without being attached to it. Lines longer than
    the pane are joined again (`-J`); what was redrawn in place (bars) is seen as it stood.
    """
    socket, _, pane = place.target.partition(" ")
    argv = ["tmux", "-S", socket, "capture-pane", "-p", "-J", "-t", pane, "-S", "-"]
    before: list[bytes] = []
    offset = position.offset if position else 0
    first = True
    while True:
        done = await host.run(argv)
        if not done.ok:
            raise HostError(
                f"The tmux pane {pane} cannot be read.",
                meaning=done.stderr.decode("utf-8", "replace").strip()[:300],
                advice="Log in as the user whose tmux it is, or give the log with --log.",
            )
        lines = done.stdout.rstrip(b"\n").split(b"\n")
        lines = [line.rstrip() for line in lines]
        # The last line may still grow; it is told once another follows it.
        complete = lines[:-1]
        fresh = new_lines(before, complete) if not (first and position) else []
        if fresh:
            text = b"".join(line + b"\n" for line in fresh)
            if first and history is not None:
                text = text[-history:]
            start, offset = offset, offset + len(text)
            yield FileChunk(
                start=start,
                data=text,
                position=FilePosition(inode=zlib.crc32(place.target.encode()), offset=offset),
                live=not first,
            )
        before, first = complete, False
        await asyncio.sleep(_TMUX_INTERVAL)


def new_lines(before: list[bytes], now: list[bytes]) -> list[bytes]:
    """The lines of `now` that follow those of `before`, which may have scrolled off its top."""
    if not before:
        return now
    # The longest end of `before` that `now` holds from some line on; usually all of it.
    for drop in range(len(before)):
        kept = before[drop:]
        if now[: len(kept)] == kept:
            return now[len(kept) :]
    return now


# --- which is which ------------------------------------------------------------------------------

_Follow = Callable[
    [Host, LogPlace, "FilePosition | None", "int | None"], AsyncGenerator[FileChunk, None]
]
_FOLLOWERS: dict[str, _Follow] = {
    "file": _file,
    "tee": _file,
    "given": _file,
    "journal": _journal,
    "docker": _docker,
    "tmux": _tmux,
}


async def _close(iterator: object) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(iterator, "aclose", None)
    if close is not None:
        await close()


async def _closable(chunks: AsyncIterator[FileChunk]) -> AsyncGenerator[FileChunk, None]:
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        await _close(chunks)
