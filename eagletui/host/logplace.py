# ruff: noqa: ARG001 - the rows of a table have one signature
"""Where a process's output goes, from what its file descriptors 1 and 2 point to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from eagletui.model.base import Data
from eagletui.model.server import LogPlace
from eagletui.model.text import visible

Problem = Literal["", "redirect-lost", "deleted", "discarded", "terminal", "hidden"]


class Reader(Data, frozen=True):
    """A process at the other end of a pipe."""

    pid: int
    argv: tuple[str, ...]
    cwd: str | None = None
    stdout: str | None = None


class Output(Data, frozen=True):
    """Everything that is known of a process's output.

    Attributes:
        fd1, fd2: what the descriptors point to; None where that may not be read.
        readers: who reads a pipe, by its name `pipe:[N]`.
        container: id of the container the process lives in.
        unit: its systemd unit, and whether that is the user's own manager's.
        tmux: socket and pane from its environment.
    """

    pid: int
    fd1: str | None = None
    fd2: str | None = None
    readers: Mapping[str, tuple[Reader, ...]] = {}
    container: str = ""
    unit: str = ""
    user_unit: bool = False
    tmux: tuple[str, str] | None = None
    screen: bool = False
    user: str = ""
    uid: int | None = None


class Placed(Data, frozen=True):
    """A log's place, and what is wrong with it in one word for programs."""

    place: LogPlace
    problem: Problem = ""


_TERMINAL_ADVICE = (
    "nothing can be read from a terminal; start it with `… > FILE 2>&1`, in tmux, or give --log"
)


def find_log(output: Output) -> Placed:
    """Where to read what a server says. SGLang logs to standard error (every release)."""
    if output.fd1 is None and output.fd2 is None and not output.container:
        detail = f"the files of {output.user or 'another user'}'s process cannot be seen"
        return Placed(place=LogPlace(kind="none", detail=detail), problem="hidden")
    err = _end(output, output.fd2)
    if output.fd1 == output.fd2:
        return err
    out = _end(output, output.fd1)
    if err.place.kind == "terminal" or err.problem == "discarded":
        if out.place.kind in ("file", "tee"):
            return _redirect_lost(out, err)
        return err if err.place.readable or not out.place.readable else out
    if err.place.kind == "tmux" and out.place.kind in ("file", "tee"):
        lost = f"{err.place.detail}; standard output alone goes to {visible(out.place.target)}"
        return Placed(place=_with(err.place, lost), problem="redirect-lost")
    if not err.place.readable:
        return out if out.place.readable else err
    if out.place.readable and out.place != err.place:
        detail = f"{err.place.detail} (standard error; output goes to {visible(out.place.target)})"
        return Placed(place=_with(err.place, detail), problem=err.problem)
    return err


def _redirect_lost(out: Placed, err: Placed) -> Placed:
    where = "a terminal" if err.place.kind == "terminal" else "/dev/null"
    detail = (
        f"only standard output goes to {visible(out.place.target)}; the log goes to {where}: "
        "redirect with `> FILE 2>&1`, in this order"
    )
    return Placed(place=_with(out.place, detail), problem="redirect-lost")


def _with(place: LogPlace, detail: str) -> LogPlace:
    return msgspec.structs.replace(place, detail=detail)


# --- one descriptor ------------------------------------------------------------------------------


def _end(output: Output, link: str | None) -> Placed:
    """What stands at the end of one descriptor: the first row that knows it."""
    if link is None:
        if output.container:
            return _docker(output)
        return Placed(place=LogPlace(kind="none", detail="not to be seen"), problem="hidden")
    for pattern, place in _ENDS:
        if re.match(pattern, link):
            return place(output, link)
    return _file(output, link)


def _docker(output: Output) -> Placed:
    detail = f"container {output.container[:12]}, read with docker logs"
    return Placed(place=LogPlace(kind="docker", target=output.container, detail=detail))


def _null(output: Output, link: str) -> Placed:
    detail = "thrown away: it was started with its output to /dev/null"
    return Placed(place=LogPlace(kind="none", detail=detail), problem="discarded")


def _terminal(output: Output, link: str) -> Placed:
    if output.container:
        return _docker(output)
    if output.tmux is not None:
        socket, pane = output.tmux
        detail = f"tmux pane {pane}, read from its screen: what scrolled away long ago is lost"
        return Placed(place=LogPlace(kind="tmux", target=f"{socket} {pane}", detail=detail))
    kind = "a screen window" if output.screen else "the terminal"
    detail = f"{kind} {link}: {_TERMINAL_ADVICE}"
    return Placed(place=LogPlace(kind="terminal", detail=detail), problem="terminal")


def _socket(output: Output, link: str) -> Placed:
    if output.container:
        return _docker(output)
    if output.unit:
        return _journal(output)
    return Placed(place=LogPlace(kind="none", detail="a socket of an unknown program"))


def _journal(output: Output) -> Placed:
    whose = "user unit" if output.user_unit else "unit"
    place = LogPlace(
        kind="journal",
        target=output.unit,
        detail=f"journal of the {whose} {output.unit}",
        user_unit=output.user_unit,
        uid=output.uid if output.user_unit else None,
    )
    return Placed(place=place)


def _pipe(output: Output, link: str) -> Placed:
    seen: set[str] = set()
    pipe: str | None = link
    names: list[str] = []
    while pipe is not None and pipe.startswith("pipe:") and pipe not in seen:
        seen.add(pipe)
        readers = output.readers.get(pipe, ())
        for reader in readers:
            if files := tee_files(reader.argv, reader.cwd):
                detail = f"written by tee (PID {reader.pid})"
                return Placed(place=LogPlace(kind="tee", target=files[0], detail=detail))
        names += [posixpath.basename(reader.argv[0]) for reader in readers if reader.argv]
        pipe = next((reader.stdout for reader in readers), None)
    if pipe is not None and names and pipe.startswith("/") and not pipe.startswith("/dev/"):
        made = _file(output, pipe)
        return Placed(place=_with(made.place, f"written by {visible(names[-1])}"))
    if output.container:
        return _docker(output)
    if output.unit:
        return _journal(output)
    by = f"read by {visible(', '.join(names))}" if names else "whose reader cannot be seen"
    detail = f"a pipe {by}; give the file it writes with --log"
    return Placed(place=LogPlace(kind="none", detail=detail))


def _deleted(output: Output, link: str) -> Placed:
    path = link.removesuffix(" (deleted)")
    detail = f"{visible(path)} was deleted while it is written to"
    # The kernel still gives the bytes to whoever may look.
    fd = 2 if link == output.fd2 else 1
    target = f"/proc/{output.pid}/fd/{fd}"
    return Placed(place=LogPlace(kind="file", target=target, detail=detail), problem="deleted")


def _file(output: Output, link: str) -> Placed:
    if not link.startswith("/"):
        return Placed(place=LogPlace(kind="none", detail=f"{visible(link)}, not a file"))
    if output.container:
        target = f"/proc/{output.pid}/root{link}"
        detail = f"{visible(link)} in container {output.container[:12]}"
        return Placed(place=LogPlace(kind="file", target=target, detail=detail))
    return Placed(place=LogPlace(kind="file", target=link, detail="where its output goes"))


_ENDS: tuple[tuple[str, Callable[[Output, str], Placed]], ...] = (
    (r"/dev/null\Z", _null),
    (r"/dev/(pts/|tty|console|vc/)", _terminal),
    (r"socket:", _socket),
    (r"pipe:", _pipe),
    (r"/.* \(deleted\)\Z", _deleted),
)


def tee_files(argv: Sequence[str], cwd: str | None) -> list[str]:
    """The files a `tee` writes, absolute; empty for any other program."""
    if not argv or posixpath.basename(argv[0]) != "tee":
        return []
    files: list[str] = []
    options = True
    for word in argv[1:]:
        if options and word == "--":
            options = False
        elif not (options and word.startswith("-") and word != "-"):
            files.append(word)
    return [posixpath.normpath(posixpath.join(cwd or "/", name)) for name in files if name != "-"]


# --- cgroups -------------------------------------------------------------------------------------

_CONTAINER = re.compile(
    r"(?:docker|libpod|cri-containerd|crio|containerd|lxc|kubepods|garden|buildkit|default)"
    r"[^\n]*?(?P<id>[0-9a-f]{64})"
)


def container_of(cgroup: str) -> str:
    """The container's id from `/proc/PID/cgroup` (v1 and v2), "" outside of one."""
    found = _CONTAINER.search(cgroup)
    return found["id"] if found else ""


def unit_of(cgroup: str) -> tuple[str, bool]:
    """The systemd unit and whether it is a user's own; ("", False) for a login session."""
    for line in cgroup.splitlines():
        path = line.split(":", 2)[-1]
        units = [part for part in path.split("/") if part.endswith(".service")]
        user = any(unit.startswith("user@") for unit in units)
        units = [unit for unit in units if not unit.startswith("user@")]
        if units:
            return units[-1], user
    return "", False
