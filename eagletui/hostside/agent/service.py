"""Answers requests for as long as somebody is there to ask.

A request is one line of JSON on standard input, `{"id": 3, "do": "list", …}`, and its answer one
on standard output, `{"id": 3, "answer": {…}}`. Each is done by a child process of its own. So one
that waits holds up no other; what a child starts belongs to nobody here once the child has ended;
and where a child is killed, that can be told: `{"id": 3, "ended": "signal 9"}`. `{"drop": 3}` ends
a child that nobody waits for any more.

When standard input ends, so does this program; what its children are at they bring to an end.
Until then, for as long as who asked waits (`within`, seconds), it shows that the lock is in use.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time

from eagletui.hostside.agent.base import Json
from eagletui.hostside.agent.lock import renew
from eagletui.hostside.agent.requests import answer

IDLE = 60.0
"""Seconds without a request after which nobody is taken to be there: a laptop that was closed
says no good-bye."""
RENEW = 15.0
"""Seconds between two signs of life at the lock while a request of its owner is being done."""
PIECE = 1 << 16
OURS = __name__.rpartition(".")[0] + "."


class Work:
    """A request that is being done, by the child `pid`."""

    def __init__(self, ask: Json, pid: int) -> None:
        self.number: int = ask["id"]
        self.pid = pid
        self.said = b""
        self._launch, self._owner = ask.get("launch", ""), ask.get("owner") or {}
        self._end = time.monotonic() + ask.get("within", 0.0)

    def renew(self) -> None:
        """Show that its owner's lock is in use, where somebody still waits for this."""
        if self._launch and time.monotonic() < self._end:
            renew(self._launch, self._owner)


def serve() -> None:
    """Do it."""
    heard = b""
    works: dict[int, Work] = {}
    renewed = time.monotonic()
    while True:
        ready, _, _ = select.select([0, *works], [], [], RENEW if works else IDLE)
        if not ready and not works:
            return
        if time.monotonic() - renewed >= RENEW:
            renewed = time.monotonic()
            for work in works.values():
                work.renew()
        try:
            for fd in ready:
                data = os.read(fd, PIECE)
                if fd != 0:
                    _hear(works, fd, data)
                elif data:
                    *lines, heard = (heard + data).split(b"\n")
                    for line in lines:
                        _take(works, json.loads(line))
                else:
                    return
        except BrokenPipeError:
            return


def _take(works: dict[int, Work], ask: Json) -> None:
    """Begin what is asked for, or end it."""
    for work in works.values():
        if work.number == ask.get("drop"):
            with contextlib.suppress(OSError):
                os.killpg(work.pid, signal.SIGKILL)
    if "drop" in ask:
        return
    try:
        fd, pid = _begun(ask, list(works))
    except OSError as error:
        _tell({"id": ask["id"], "ended": str(error)})
    else:
        works[fd] = Work(ask, pid)


def _begun(ask: Json, others: list[int]) -> tuple[int, int]:
    """A child that does it, and where its answer is read."""
    out, into = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(out)
        os.close(into)
        raise
    if not pid:
        _do(ask, into, [out, *others])
    os.close(into)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # here too: it may be ended before it came to that itself
    return out, pid


def _do(ask: Json, into: int, others: list[int]) -> None:
    """The child's whole life. It holds nothing of the channel, which may end before it does."""
    status = 1
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(nothing, fd)
        for fd in others:
            os.close(fd)
        known = set(sys.modules)
        told = answer(ask)
        loaded = [name for name in sys.modules if name.startswith(OURS) and name not in known]
        _write(into, json.dumps(loaded).encode("ascii") + b"\n" + json.dumps(told).encode("ascii"))
        status = 0
    finally:
        os._exit(status)


def _hear(works: dict[int, Work], fd: int, data: bytes) -> None:
    """Pass a whole answer on; what of ours the child had to load, the next ones find loaded."""
    work = works[fd]
    work.said += data
    if data:
        return
    del works[fd]
    os.close(fd)
    _, status = os.waitpid(work.pid, 0)
    if status:
        ended = f"signal {status & 0x7F}" if status & 0x7F else f"status {status >> 8}"
        _tell({"id": work.number, "ended": ended})
        return
    loaded, _, told = work.said.partition(b"\n")
    _write(1, b'{"id": %d, "answer": %s}\n' % (work.number, told))
    for name in json.loads(loaded):
        with contextlib.suppress(ImportError):
            __import__(name)


def _tell(reply: Json) -> None:
    _write(1, json.dumps(reply).encode("ascii") + b"\n")


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
