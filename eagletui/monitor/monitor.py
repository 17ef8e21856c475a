"""One host watched: connection, discovery, GPUs, and the selected server's log and metrics.

Readers run as tasks of one connection; when it is lost they end, the connection is made again, and
each goes on where it stopped. Everything leaves through one stream of events.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any

import aiohttp

from eagletui.engine.diagnosis import diagnosis
from eagletui.engine.silence import redirect_lost
from eagletui.engine.verdicts import Watch, live_verdicts
from eagletui.host.base import Host
from eagletui.host.facts import read_facts
from eagletui.host.gpus import GpuReader
from eagletui.host.within import within
from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import (
    AuthenticationFailed,
    ConfigError,
    ConnectionLost,
    EagletuiError,
    HostKeyChanged,
    HostKeyUnknown,
)
from eagletui.model.phases import PhaseExperience
from eagletui.model.server import LogPlace
from eagletui.model.state import ServerState, State, fold
from eagletui.monitor.api import Wanted, clamp_interval
from eagletui.monitor.backoff import delay
from eagletui.monitor.discovery import Discovery
from eagletui.monitor.hub import Hub
from eagletui.monitor.scraper import HELD_ADVICE, Scraper
from eagletui.monitor.servers import Target, port_held
from eagletui.monitor.tail import Tail
from eagletui.store.launches import LaunchMemory

LOOK_EVERY = 2.0
GPUS_EVERY = 2.0
GPUS_AGAIN = 30.0
JUDGE_EVERY = 1.0
LAST_WORDS = 0.5
STEADY = 10.0
CATCH_UP_LIMIT = 20.0
HTTP_TIMEOUT = aiohttp.ClientTimeout(total=8.0, sock_connect=5.0)
# Trying again by itself would only lock an account or weaken a warning.
_FINAL = (AuthenticationFailed, ConfigError, HostKeyChanged, HostKeyUnknown)


class Monitor:
    """The live feed of one host (a `model.feed.Feed`).

    Args:
        host: not yet connected.
        wanted: what the person gave by hand.
        memory: where phase durations are learned, or None to learn nothing.
        wall: the user's clock, seconds since the epoch.
    """

    def __init__(
        self,
        host: Host,
        *,
        wanted: Wanted | None = None,
        memory: LaunchMemory | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._wanted = wanted or Wanted()
        self._memory = memory
        self._wall = wall
        self._hub = Hub()
        self._state = State()
        self._interval = clamp_interval(self._wanted.interval)
        self._again = asyncio.Event()
        self._discovery = Discovery(self._wanted)
        self._targets: dict[str, Target] = {}
        self._tails: dict[str, Tail] = {}
        self._watch = Watch()
        self._session: aiohttp.ClientSession | None = None
        self._following: asyncio.Task[None] | None = None
        self._scraping: asyncio.Task[None] | None = None
        self._followed: tuple[str, int | None, LogPlace, str] | None = None
        self._fault: BaseException | None = None
        self._learning: set[asyncio.Future[None]] = set()
        self._chosen_by_person = self._wanted.pid is not None
        self.refusal: EagletuiError | None = None
        """Why the last try to connect failed; None once connected."""

    # --- what a screen may wish --------------------------------------------------------------

    def select(self, server: str) -> None:
        """Follow this server's log and metrics from now on."""
        self._chosen_by_person = True
        self._choose(server)

    def set_interval(self, seconds: float) -> None:
        """Scrape this often, 0.2 to 30 s; from the next scrape on."""
        self._interval = clamp_interval(seconds)

    def follow_log(self, path: str) -> None:
        """Follow this file for the selected server, or alone where there is none."""
        self._discovery.give_log(path)
        self._discovery.hurry()

    def follow_metrics(self, url: str) -> None:
        """Read metrics from this address, as seen from the host."""
        self._discovery.give_metrics(url)
        self._discovery.hurry()

    def reconnect(self) -> None:
        """Try again now."""
        self._again.set()

    @property
    def state(self) -> State:
        """What is true as far as the events put so far say."""
        return self._state

    def caught_up(self, server: str) -> bool:
        """Whether the log of this server was read up to its end at least once."""
        tail = self._tails.get(server)
        return tail is not None and tail.caught_up

    # --- the stream --------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[Sequence[ev.Event]]:
        """Connect and read until the iteration is closed."""
        runner = asyncio.ensure_future(self._run())
        try:
            async for batch in self._hub.batches():
                yield batch
            if self._fault is not None:
                raise self._fault
        finally:
            runner.cancel()
            try:
                with contextlib.suppress(asyncio.CancelledError):
                    await runner
            finally:
                await self._host.close()

    def _emit(self, *events: ev.Event) -> None:
        for event in events:
            self._note(event)
        self._hub.put(*events)

    def _note(self, event: ev.Event) -> None:
        self._state = fold(self._state, event)
        if isinstance(event, ev.ServerReady):
            self._learn(event.server)
        elif isinstance(event, ev.InfoRead):
            self._answered(event)

    def _answered(self, event: ev.InfoRead) -> None:
        """A server that answers and whose log shows no phase under way is ready."""
        server = self._state.servers.get(event.server)
        if server is None or server.ready or server.ended:
            return
        if not any(rung.status == "running" for rung in server.ladder):
            self._emit(ev.ServerReady(at=event.at, server=event.server))

    async def _run(self) -> None:
        try:
            await self._connections()
        finally:
            self._hub.close()

    async def _connections(self) -> None:
        attempt = 0
        while True:
            self._emit(ev.LinkChanged(at=self._wall(), link="connecting", attempt=attempt))
            try:
                await self._host.connect()
                facts = await read_facts(self._host)
            except EagletuiError as error:
                attempt += 1
                self.refusal = error
                await self._wait(error, attempt)
                continue
            self.refusal = None
            self._emit(ev.LinkChanged(at=self._wall(), link="connected"), facts)
            began = time.monotonic()
            reason = await self._connected()
            # A connection that is lost at once again and again is tried less and less often.
            attempt = 1 if time.monotonic() - began > STEADY else attempt + 1
            await self._pause("lost", reason, "", "", attempt)

    async def _wait(self, error: EagletuiError, attempt: int) -> None:
        if isinstance(error, _FINAL):
            self._again.clear()
            self._emit(self._link("failed", error.what, error.meaning, error.advice, attempt, None))
            await self._again.wait()
            return
        await self._pause("failed", error.what, error.meaning, error.advice, attempt)

    async def _pause(
        self, link: ev.Link, detail: str, meaning: str, advice: str, attempt: int
    ) -> None:
        self._again.clear()
        seconds = delay(attempt)
        retry_at = self._wall() + seconds
        self._emit(self._link(link, detail, meaning, advice, attempt, retry_at))
        with contextlib.suppress(asyncio.TimeoutError):
            await within(self._again.wait(), seconds)

    def _link(
        self,
        link: ev.Link,
        detail: str,
        meaning: str,
        advice: str,
        attempt: int,
        retry_at: float | None,
    ) -> ev.LinkChanged:
        return ev.LinkChanged(
            at=self._wall(),
            link=link,
            detail=detail,
            meaning=meaning,
            advice=advice,
            attempt=attempt,
            retry_at=retry_at,
        )

    async def _connected(self) -> str:
        """Read until the connection is lost; returns the reason."""
        self._session = aiohttp.ClientSession(connector=self._host.http(), timeout=HTTP_TIMEOUT)
        self._followed = None
        self._discovery.forget()
        readers: list[Coroutine[Any, Any, None]] = [
            self._look(),
            self._read_gpus(),
            self._judge(),
        ]
        tasks = [asyncio.ensure_future(reader) for reader in readers]
        lost = asyncio.ensure_future(self._host.wait_lost())
        try:
            done, _ = await asyncio.wait([*tasks, lost], return_when=asyncio.FIRST_COMPLETED)
            if lost in done:
                return str(lost.result())
            for task in done:
                task.result()
            return "a reader ended"
        except EagletuiError as error:
            return error.what
        finally:
            self._stop_following()
            for task in (*tasks, lost):
                task.cancel()
            await asyncio.gather(*tasks, lost, return_exceptions=True)
            await self._session.close()
            self._session = None

    # --- discovery ---------------------------------------------------------------------------

    async def _look(self) -> None:
        before: ev.ServersFound | None = None
        while True:
            targets, looked_at = await self._discovery.look(self._host)
            self._targets = {target.process.key: target for target in targets}
            found = ev.ServersFound(
                at=self._wall(),
                servers=tuple(target.process for target in targets),
                looked_at=looked_at,
            )
            gone = self._missing(found)
            changed = (
                before is None
                or before.servers != found.servers
                or before.looked_at != found.looked_at
            )
            for key in gone:
                self._emit(ev.ServerGone(at=found.at, server=key))
                self._conclude(key)
            if changed:
                told = {key: server.restarts for key, server in self._state.servers.items()}
                self._emit(found)
                self._begin_anew(told)
            before = found
            self._choose_by_itself()
            await self._discovery.pause(LOOK_EVERY)

    def _begin_anew(self, restarts: Mapping[str, int]) -> None:
        """Where a new process goes on in an old log, what comes is not the old launch's."""
        for key, before in restarts.items():
            server, tail = self._state.servers[key], self._tails.get(key)
            if server.restarts != before and tail is not None and tail.place == server.process.log:
                tail.begin_anew(server.process.started_at)

    def _conclude(self, key: str) -> None:
        """Judge what the log of a server that is gone said last, once all of it was read."""
        if self._scraping is not None and self._followed is not None and self._followed[0] == key:
            # Whoever answers on its port from now on is another server.
            self._scraping.cancel()
        tail = self._tails.get(key)
        if tail is not None:
            asyncio.get_running_loop().call_later(LAST_WORDS, self._hear_out, key, tail)

    def _hear_out(self, key: str, tail: Tail) -> None:
        server = self._state.servers.get(key)
        if server is not None and server.gone_at is not None and self._tails.get(key) is tail:
            self._emit(*tail.finish())

    def _missing(self, found: ev.ServersFound) -> list[str]:
        present = {process.key for process in found.servers}
        return [
            key
            for key, server in self._state.servers.items()
            if key not in present and server.gone_at is None and server.process.pid is not None
        ]

    def _choose_by_itself(self) -> None:
        """Go straight to the one a log or an address was given for, or to the only server.

        The chosen one is stayed with over its restarts; one that the person picked, by hand or by
        an address among several, is left for no other.
        """
        selected = self._state.selected
        if self._wanted.pid is not None and not selected:
            for key, target in self._targets.items():
                if target.process.pid == self._wanted.pid:
                    self._choose(key)
                    return
            return
        if selected in self._targets:
            self._follow(selected)
            return
        if selected and self._chosen_by_person:
            return
        given = next((key for key, target in self._targets.items() if target.given), None)
        if given is not None:
            self._chosen_by_person = len(self._targets) > 1
            self._choose(given)
        elif len(self._targets) == 1:
            self._choose(next(iter(self._targets)))

    def _choose(self, key: str) -> None:
        if self._state.selected != key:
            self._emit(ev.ServerSelected(at=self._wall(), server=key))
        self._follow(key)

    # --- the selected server -----------------------------------------------------------------

    def _follow(self, key: str) -> None:
        target = self._targets.get(key)
        if target is None or self._session is None:
            return
        identity = (key, target.process.pid, target.process.log, target.url)
        running = self._following is not None and not self._following.done()
        if identity == self._followed and running:
            return
        self._stop_following()
        self._followed = identity
        self._following = asyncio.ensure_future(self._follow_target(target))
        self._following.add_done_callback(self._followed_to_the_end)

    def _followed_to_the_end(self, task: asyncio.Task[None]) -> None:
        """A fault of ours must be seen: it ends the stream in place of a silent screen."""
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
            self._hub.close()

    def _stop_following(self) -> None:
        if self._following is not None:
            self._following.cancel()
            self._following = None

    async def _follow_target(self, target: Target) -> None:
        self._recall(target)
        tail = self._tail(target)
        following = asyncio.ensure_future(tail.run(self._host, self._hub, self._note))
        scraping = self._scraping = asyncio.ensure_future(self._scrape(target, tail))
        try:
            await asyncio.gather(following, _unless_cancelled(scraping))
        except EagletuiError as error:
            self._emit(
                ev.LogUnavailable(
                    at=self._wall(),
                    server=target.process.key,
                    detail=error.what,
                    advice=error.advice,
                )
            )
        finally:
            for task in (following, scraping):
                task.cancel()
            await asyncio.gather(following, scraping, return_exceptions=True)

    def _tail(self, target: Target) -> Tail:
        """The tail of this server's log: the one at work before, unless the log is another."""
        process, host = target.process, self._state.host
        tail = self._tails.get(process.key)
        if tail is None or tail.place != process.log:
            clock = host.clock_offset - host.utc_offset if host is not None else 0.0
            tail = self._tails[process.key] = Tail(
                server=process.key,
                place=process.log,
                clock=clock,
                history=self._wanted.history,
                wall=self._wall,
                started_at=process.started_at,
            )
        tail.hide(target.secrets)
        return tail

    async def _scrape(self, target: Target, tail: Tail) -> None:
        if not target.url or self._session is None:
            return
        # Charts grow forwards only: what the log remembers comes first.
        with contextlib.suppress(asyncio.TimeoutError):
            await within(tail.whole.wait(), CATCH_UP_LIMIT)
        scraper = Scraper(
            self._session,
            server=target.process.key,
            url=target.url,
            api_key=target.api_key,
            secrets=target.secrets,
            wall=self._wall,
            held=lambda: self._port_held(target.process.key),
        )
        await scraper.run(self._emit, lambda: self._interval)

    def _port_held(self, key: str) -> str:
        """Words about who listens on this server's port in its place; "" for nobody."""
        target = self._targets.get(key)
        return "" if target is None else port_held(target)

    def _recall(self, target: Target) -> None:
        if self._memory is None:
            return
        known: dict[str, PhaseExperience] = {}
        with contextlib.suppress(OSError):
            known = self._memory.experience(self._host.name, target.process.model)
        if known:
            self._emit(
                ev.ExperienceLoaded(at=self._wall(), server=target.process.key, phases=known)
            )

    def _learn(self, key: str) -> None:
        server = self._state.servers[key]
        if self._memory is None or server.launched is None:
            return
        taken = {
            rung.key: rung.seconds
            for rung in server.ladder
            if rung.status == "done" and rung.seconds is not None
        }
        launch = f"{server.launched:.0f}"
        learning = asyncio.ensure_future(
            asyncio.to_thread(
                self._memory.learn, self._host.name, server.process.model, launch, taken
            )
        )
        self._learning.add(learning)
        learning.add_done_callback(self._learned)

    def _learned(self, task: asyncio.Future[None]) -> None:
        """A disk that refuses costs later guesses, never the watching."""
        self._learning.discard(task)
        if not task.cancelled():
            task.exception()

    # --- GPUs and verdicts -------------------------------------------------------------------

    async def _read_gpus(self) -> None:
        reader = GpuReader(self._host)
        said = ""
        while True:
            try:
                async with contextlib.aclosing(reader.stream(GPUS_EVERY)) as readings:
                    async for gpus in readings:
                        said = ""
                        self._emit(ev.GpusRead(at=self._wall(), gpus=gpus))
            except ConnectionLost:
                raise
            except EagletuiError as error:
                if error.what != said:
                    said = error.what
                    self._emit(ev.GpusUnavailable(at=self._wall(), detail=error.what))
            await asyncio.sleep(GPUS_AGAIN)

    async def _judge(self) -> None:
        said: dict[str, object] = {}
        while True:
            await asyncio.sleep(JUDGE_EVERY)
            for key, server in self._judged():
                now = self._wall()
                alerts = (
                    *live_verdicts(server, self._state, now, self._watch),
                    *self._about_log(server, now),
                    *self._about_port(key),
                )
                gist = (server.restarts, *((alert.code, alert.title) for alert in alerts))
                if said.get(key) != gist:
                    said[key] = gist
                    self._emit(ev.Alerted(at=self._wall(), server=key, alerts=alerts))

    def _about_log(self, server: ServerState, now: float) -> tuple[Diagnosis, ...]:
        """What discovery knows of the log's place and the log itself cannot."""
        target = self._targets.get(server.process.key)
        started = server.process.started_at
        if target is None or target.log_problem != "redirect-lost" or started is None:
            return ()
        lost = redirect_lost(
            size=server.log.received,
            process_age=now - started,
            stderr_elsewhere=True,
            file=server.process.log.target,
        )
        return () if lost is None else (lost,)

    def _about_port(self, key: str) -> tuple[Diagnosis, ...]:
        words = self._port_held(key)
        return (diagnosis("port-in-use", "error", words, advice=HELD_ADVICE),) if words else ()

    def _judged(self) -> list[tuple[str, ServerState]]:
        selected = self._state.selected
        return [(key, s) for key, s in self._state.servers.items() if key == selected]


async def _unless_cancelled(task: asyncio.Task[None]) -> None:
    """Wait for a task that may be cancelled by itself; its faults are ours."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
