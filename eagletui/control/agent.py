"""Asks the small program of `hostside` to look, stop and start on the host."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from eagletui.control.conversation import AgentRefused, Conversation
from eagletui.control.owner import is_gone
from eagletui.control.problems import problem
from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.host.python import IS_NEW, interpreters
from eagletui.model.diagnosis import Diagnosis

__all__ = ["AGENT", "Agent", "AgentRefused", "asked_once", "sent"]

_FIND = r"""
s=$1 size=$2 new=$3; shift 3
for p in "$@"; do
  if command -v "$p" >/dev/null 2>&1 && "$p" -I -S -c "$new" </dev/null; then
    exec "$p" -I -S -X utf8 -c "$s" "$size"
  fi
done
exit 127
"""
_PATIENCE = 20.0
AGENT = "eagletui.hostside.agent"


class Agent:
    """A program on a host that answers for as long as its channel is open.

    It is started with the first request, and again where it, or the connection, is gone. It ends
    with `close`, with the connection, with this process, and a minute after the last request.
    What is asked travels on its standard input, so that no secret stands in a command line.

    Args:
        pythons: interpreters to try after the system's own, as `host.python.interpreters` does.
    """

    def __init__(self, host: Host, pythons: Sequence[str] = ()) -> None:
        self._host = host
        self._pythons = interpreters(pythons)
        self._talk: Conversation | None = None
        self._starting = asyncio.Lock()

    def know(self, pythons: Sequence[str]) -> None:
        """Further interpreters to try, where it has to be started."""
        self._pythons = tuple(dict.fromkeys((*self._pythons, *interpreters(pythons))))

    async def ask(self, do: str, *, patience: float = 0.0, **request: Any) -> dict[str, Any]:
        """The agent's answer.

        Requests may be made side by side: none waits for another, but for what the host does one
        at a time. What nobody waits for any more the host brings to its end, as it would after a
        lost connection.

        Args:
            do: a row of the agent's `REQUESTS`.
            patience: seconds that the request itself may wait.

        Raises:
            AgentRefused: the agent said why it does not do it, or ended without an answer.
            HostError: the host did not answer.
        """
        async with self._starting:
            if self._talk is None or self._talk.over:
                self._talk = await self._started()
        told = await self._talk.ask({"do": do, **request}, _PATIENCE + patience)
        if "error" in told:
            raise AgentRefused(_refusal(told))
        return told

    def close(self) -> None:
        """End it; a further request starts another."""
        if self._talk is not None:
            self._talk.close()
        self._talk = None

    async def _started(self) -> Conversation:
        modules = sent()
        channel = await self._host.start(
            shell.script(_FIND, _bootstrap(), str(len(modules)), IS_NEW, *self._pythons)
        )
        channel.write(modules)
        return Conversation(channel)


async def asked_once(host: Host, do: str, **request: Any) -> dict[str, Any]:
    """The answer to the only request there is; see `Agent.ask`."""
    agent = Agent(host)
    try:
        return await agent.ask(do, **request)
    finally:
        agent.close()


def _refusal(answer: Mapping[str, Any]) -> Diagnosis:
    held = answer.get("held")
    if isinstance(held, dict):
        held["gone"] = is_gone(held, socket.gethostname())
    return problem(str(answer["error"]), answer)


@functools.cache
def sent() -> bytes:
    """What goes to the bootstrap: the agent's modules."""
    packages = [AGENT[: i or None] for i in (*_dots(AGENT), 0)]
    modules = {
        f"{AGENT}.{entry.name[:-3]}": entry.read_text("utf-8")
        for entry in resources.files(AGENT).iterdir()
        if entry.name.endswith(".py") and entry.name not in ("__init__.py", "bootstrap.py")
    }
    sources = {**dict.fromkeys(packages, ""), **modules}
    return json.dumps({"sources": sources, "main": f"{AGENT}.service"}).encode("ascii")


@functools.cache
def _bootstrap() -> str:
    return resources.files(AGENT).joinpath("bootstrap.py").read_text("utf-8")


def _dots(name: str) -> list[int]:
    return [i for i, letter in enumerate(name) if letter == "."]
