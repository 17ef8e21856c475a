"""The monitor of a host at work in the background, with everything it said."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from eagletui.host.open import open_host
from eagletui.model import events as ev
from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from eagletui.model.phases import Rung
from eagletui.model.state import ServerState, State, fold
from eagletui.monitor.api import Wanted
from eagletui.monitor.monitor import Monitor
from tests.live.server import WAIT, wait_until

_E = TypeVar("_E")


class Nobody:
    """Answers no question; the tests' keys need none."""

    async def secret(self, question: SecretQuestion) -> str | None:
        return None

    async def host_key(self, question: HostKeyQuestion) -> bool:
        return False


class Watcher:
    """A monitor in a thread of its own.

    Args:
        target: host alias, or None for this machine without SSH.
        config: the ssh configuration that knows it.
        wanted: what a person would have given by hand.
    """

    def __init__(self, target: str | None, config: Path, wanted: Wanted) -> None:
        self.events: list[ev.Event] = []
        self.state = State()
        self.problem: BaseException | None = None
        self._target, self._config, self._wanted = target, config, wanted
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="watcher")
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._watch())
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except BaseException as problem:  # shown by the test that waits
            self.problem = problem
        finally:
            self._loop.close()

    async def _watch(self) -> None:
        host = open_host(self._target, asker=Nobody(), config=[str(self._config)])
        stream = Monitor(host, wanted=self._wanted).events()
        try:
            async for batch in stream:
                for event in batch:
                    self.state = fold(self.state, event)
                    self.events.append(event)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    def of(self, kind: type[_E], begin: int = 0) -> list[_E]:
        """Every event of this kind so far, from this index on."""
        return [event for event in self.events[begin:] if isinstance(event, kind)]

    def server(self, pid: int) -> ServerState:
        """What is known of the server with this process id."""
        for server in self.state.servers.values():
            if server.process.pid == pid:
                return server
        raise KeyError(pid)

    def rung(self, pid: int, key: str) -> Rung:
        """One phase of its ladder, by `Rung.key`."""
        ladder = {rung.key: rung for rung in self.server(pid).ladder}
        return ladder[key]

    def wait(self, what: str, true: Callable[[], bool], limit: float = WAIT) -> None:
        """Wait until it was told something; an unknown server or phase is not yet there."""

        def told() -> bool:
            assert self.problem is None, self.problem
            try:
                return true()
            except KeyError:
                return False

        try:
            wait_until(what, told, limit)
        except AssertionError as late:
            raise AssertionError(f"{late}\nThe last that was said:\n{self.story()}") from None

    def story(self, length: int = 15) -> str:
        """The last events in short, for messages."""
        said = [repr(event)[:300] for event in self.events if not isinstance(event, ev.LogText)]
        return "\n".join(said[-length:])

    def close(self) -> None:
        """Disconnect and end the thread."""
        if self._thread.is_alive() and self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(WAIT)
        assert not self._thread.is_alive(), "the monitor does not end when asked to"
