"""Asks the small program of `hostside` to look, stop and start on the host."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from eagletui.control.problems import GARBLED, problem
from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.host.python import IS_NEW, interpreters
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import EagletuiError

_FLAGS = ("-I", "-S", "-X", "utf8", "-c")
_NO_PYTHON = 127
_FIND = r"""
s=$1 new=$2; shift 2
for p in "$@"; do
  if command -v "$p" >/dev/null 2>&1 && "$p" -I -S -c "$new"; then
    exec "$p" -I -S -X utf8 -c "$s"
  fi
done
exit 127
"""
_PATIENCE = 20.0
AGENT = "eagletui.hostside.agent"


class AgentRefused(EagletuiError):
    """The host's agent did not do what it was asked, for the reason in `diagnosis`."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.title, advice=diagnosis.advice)
        self.diagnosis = diagnosis


class Agent:
    """One request at a time to a host.

    What is asked travels on standard input, so that no secret stands in a command line.

    Args:
        pythons: interpreters to try after the system's own, as `host.python.interpreters` does.
    """

    def __init__(self, host: Host, pythons: Sequence[str] = ()) -> None:
        self._host = host
        self._pythons = interpreters(pythons)
        self._found = ""

    async def ask(self, do: str, *, patience: float = 0.0, **request: Any) -> dict[str, Any]:
        """The agent's answer.

        Args:
            do: a row of the agent's `REQUESTS`.
            patience: seconds that the request itself may wait.

        Raises:
            AgentRefused: the agent said why it does not do it.
            HostError: the host did not answer.
        """
        done = await self._host.run(
            [self._found, *_FLAGS, _bootstrap()]
            if self._found
            else shell.script(_FIND, _bootstrap(), IS_NEW, *self._pythons),
            stdin=sent({"do": do, **request}),
            timeout=_PATIENCE + patience,
        )
        if done.status == _NO_PYTHON and not done.stdout:
            raise AgentRefused(problem("no-python", {}))
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-300:]
            raise AgentRefused(problem(GARBLED, {"detail": said or f"status {done.status}"}))
        self._found = str(answer.pop("python", ""))
        if "error" in answer:
            raise AgentRefused(_refusal(answer))
        return answer


def _refusal(answer: Mapping[str, Any]) -> Diagnosis:
    return problem(str(answer["error"]), answer)


def sent(ask: Mapping[str, Any]) -> bytes:
    """What goes to the bootstrap: the agent's modules and one request."""
    return b'{"sources": %s, "main": "%s.requests", "ask": %s}' % (
        _sources(),
        AGENT.encode(),
        json.dumps(ask).encode("ascii"),
    )


@functools.cache
def _bootstrap() -> str:
    return resources.files(AGENT).joinpath("bootstrap.py").read_text("utf-8")


@functools.cache
def _sources() -> bytes:
    packages = [AGENT[: i or None] for i in (*_dots(AGENT), 0)]
    modules = {
        f"{AGENT}.{entry.name[:-3]}": entry.read_text("utf-8")
        for entry in resources.files(AGENT).iterdir()
        if entry.name.endswith(".py") and entry.name not in ("__init__.py", "bootstrap.py")
    }
    return json.dumps({**dict.fromkeys(packages, ""), **modules}).encode("ascii")


def _dots(name: str) -> list[int]:
    return [i for i, letter in enumerate(name) if letter == "."]
