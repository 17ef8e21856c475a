"""Asking a host what matters before a start: one call of its Python, and once SGLang's `--help`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eagletui.host.base import Host
from eagletui.model.base import Data
from eagletui.model.errors import HostError
from eagletui.model.finding import ModelFiles
from eagletui.model.safe import safe

LOOK_SECONDS = 30.0
HELP_SECONDS = 120.0
"""Importing SGLang takes 15 s on a busy machine."""

_SCRIPT = Path(__file__).resolve().parent.parent / "hostside" / "preflight.py"
_NOT_FOUND = 127


class Look(Data, frozen=True):
    """What a host's Python answered.

    Attributes:
        python: the interpreter as the host resolves it.
        version: SGLang's, "" where it was not asked or is missing.
        changed: when SGLang was installed, seconds since the epoch.
        problem: why there was no answer.
        sglang_problem: why there is no SGLang.
        port_taken: whether somebody listens on the port; None for unknown.
    """

    python: str = ""
    version: str = ""
    changed: float = 0.0
    problem: str = ""
    sglang_problem: str = ""
    target: ModelFiles | None = None
    draft: ModelFiles | None = None
    port_taken: bool | None = None
    port_pid: int | None = None
    port_holder: str = ""
    log_free: int | None = None
    readable: dict[str, bool] = {}
    names: dict[str, str] = {}

    def key(self, host: str) -> str:
        """What tells one installation from another, on any host."""
        return f"{host}|{self.python}|{self.version}|{self.changed:.3f}"


async def look_at(
    host: Host,
    python: str,
    asked: Mapping[str, Any],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float = LOOK_SECONDS,
) -> Look:
    """Ask the host's Python; a host without one says so in `problem`.

    Args:
        asked: the fields of `engine.check.asked.Question`.
        environment: variables to call it with; they are seen in the host's list of processes.

    Raises:
        HostError: the connection is gone, or the host does not answer in time.
    """
    argument = msgspec.json.encode(asked).decode()
    command = [*_within(environment), python, "-", argument]
    done = await host.run(command, stdin=_SCRIPT.read_bytes(), timeout=timeout)
    if done.ok:
        try:
            return msgspec.json.decode(done.stdout.strip().rpartition(b"\n")[2], type=Look)
        except msgspec.MsgspecError:
            pass
    if done.status == _NOT_FOUND:
        return Look(problem=f"There is no {python} on the host.")
    said = safe(_last_line(done.stderr) or _last_line(done.stdout))
    return Look(problem=f"{python} does not run on the host: {said or 'it says nothing'}.")


async def read_help(
    host: Host,
    python: str,
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float = HELP_SECONDS,
) -> str:
    """`python -m sglang.launch_server --help`; it imports torch and takes seconds.

    Raises:
        HostError: the connection is gone, or SGLang does not start.
    """
    command: Sequence[str] = [python, "-m", "sglang.launch_server", "--help"]
    done = await host.run([*_within(environment), *command], timeout=timeout)
    if not done.ok:
        raise HostError(
            f"SGLang's --help fails on {host.name}: {safe(_last_line(done.stderr))}",
            meaning="Flags are checked by the table of releases instead.",
            advice=f"Try `{' '.join(command)}` on the host.",
        )
    return done.stdout.decode("utf-8", "replace")


def _within(environment: Mapping[str, str] | None) -> list[str]:
    """The words before a command that set its variables."""
    return (
        ["env", *(f"{name}={value}" for name, value in environment.items())] if environment else []
    )


def _last_line(output: bytes) -> str:
    lines = output[-4000:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""
