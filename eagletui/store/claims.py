"""One benchmark at a time on one server: whoever measures holds a claim, by name.

A claim is a locked file in the data folder. It goes with its process, however that ends, so that
none is ever left behind. It is this person's: what others do is seen as other traffic.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eagletui.model.errors import EagletuiError
from eagletui.model.jsontext import read_json
from eagletui.model.text import visible


class AlreadyMeasured(EagletuiError):
    """Another benchmark has this server."""


@contextmanager
def claimed(folder: Path, server: str, name: str) -> Iterator[None]:
    """Hold a server while it is measured. A folder that cannot be written holds nothing back.

    Args:
        server: what tells it from every other: host and address.
        name: of this benchmark, for whoever comes second.

    Raises:
        AlreadyMeasured: another benchmark has it, named.
    """
    path = folder / f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.claim"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refused(server, os.pread(handle, 4096, 0)) from None
        holder = {"name": name, "pid": os.getpid(), "since": time.strftime("%H:%M:%S")}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(handle)


def _refused(server: str, holder: bytes) -> AlreadyMeasured:
    try:
        found = read_json(holder)
    except ValueError:
        found = {}
    found = found if isinstance(found, dict) else {}
    name, pid, since = (visible(str(found.get(key, "?"))) for key in ("name", "pid", "since"))
    return AlreadyMeasured(
        f"{visible(server)} is being measured: benchmark {name!r} (pid {pid}, since {since}).",
        meaning="Two at once would measure each other.",
        advice=f"Wait for it, or end it: kill -INT {pid} keeps what it measured.",
    )
