"""Programs of the host, called with argument vectors."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eagletui.hostside.agent.base import Refused

LIMIT = 60.0


class Done(NamedTuple):
    """How a program ended."""

    status: int
    out: str
    err: str


def run(
    argv: Sequence[str], *, extra: Mapping[str, str] | None = None, limit: float = LIMIT
) -> Done:
    """Run it to its end.

    Args:
        extra: variables beside this program's own.

    Raises:
        Refused: it is not there, or does not end within `limit` seconds.
    """
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C", **(extra or {})},
            timeout=limit,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise Refused("tool-hangs", tool=argv[0], seconds=f"{limit:g}") from error
    except OSError as error:
        raise Refused("no-tool", tool=argv[0], detail=error.strerror) from error
    return Done(done.returncode, _text(done.stdout), _text(done.stderr))


def leave(argv: Sequence[str], patience: float) -> Done | None:
    """Start it and leave it to itself; how it ended, where that is known within `patience`."""
    try:
        tool = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise Refused("no-tool", tool=argv[0], detail=error.strerror) from error
    try:
        _, err = tool.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    return Done(tool.returncode, "", _text(err))


def _text(said: bytes) -> str:
    return os.fsdecode(said)
