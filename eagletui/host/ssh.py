"""A machine reached over SSH."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Sequence

import aiohttp
import asyncssh

from eagletui.host import hops, shell
from eagletui.host.auth import KeyRing
from eagletui.host.base import Completed
from eagletui.host.config import default_files
from eagletui.host.http import ChannelConnector
from eagletui.host.session import Session, lost
from eagletui.host.shellhost import ShellHost
from eagletui.host.target import parse_target
from eagletui.host.within import within
from eagletui.model.ask import Asker
from eagletui.model.errors import CommandTimeout, ConnectionLost, HostError

# sshd allows ten sessions a connection; followers, streams and the spare one need some.
_COMMANDS_AT_ONCE = 4
_STARTING = 15.0
_PLACES_FREED = (0.05, 0.2, 0.5)


class SshHost(ShellHost):
    """A machine over SSH, perhaps through others. See `eagletui.host.base.Host`."""

    def __init__(
        self,
        target: str,
        *,
        asker: Asker,
        config: Sequence[str] | None = None,
        connect_timeout: float = 15.0,
    ) -> None:
        super().__init__()
        self.name = target
        self._target = parse_target(target)
        self._asker = asker
        self._files = default_files() if config is None else list(config)
        self._timeout = connect_timeout
        self._ring = KeyRing()
        self._link: hops.Link | None = None
        self._spare: asyncio.Task[Session] | None = None
        self._slots = asyncio.Semaphore(_COMMANDS_AT_ONCE)

    # --- the connection -----------------------------------------------------------------------

    async def connect(self) -> None:
        """Connect hop by hop. Answers given before are used again, in memory only."""
        await self.close()
        route = await hops.plan(self._target, self._files)
        self._link = await hops.connect(route, self._files, self._asker, self._ring, self._timeout)
        self._keep_spare()

    async def close(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.cancel()
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    @property
    def address(self) -> str:
        """Where the connection goes: address and port, "" when not connected."""
        if self._link is None:
            return ""
        return f"{self._link.config.host}:{self._link.config.port}"

    async def wait_lost(self) -> str:
        """Wait until the connection is gone; says why."""
        if self._link is None:
            return "not connected"
        error = await asyncio.shield(self._link.client.lost)
        return str(error) if error is not None else "the connection was closed"

    def connection(self) -> asyncssh.SSHClientConnection:
        """The live connection.

        Raises:
            ConnectionLost: there is none.
        """
        if self._link is None:
            raise ConnectionLost(f"{self.name} is not connected.")
        if self._link.client.lost.done():
            raise lost(self._link.client.lost.result())
        return self._link.connection

    # --- commands -----------------------------------------------------------------------------

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 10.0,
        limit: int = 8 << 20,
    ) -> Completed:
        """Run one command; one that takes too long is killed on the host.

        Raises:
            CommandTimeout: it did not end in its time.
            HostError: it wrote more than `limit` bytes.
        """
        async with self._slots:
            session: Session | None = None
            try:
                session = await within(self._session(), _STARTING)
                session.begin(argv)
                session.write(stdin)
                session.write_eof()
                await within(session.wait_began(), _STARTING)
                return await within(_collect(session, limit), timeout)
            except asyncio.TimeoutError as error:
                await self._kill(session)
                if session is None or session.pid is None:
                    raise self._no_shell() from error
                raise CommandTimeout(
                    f"`{argv[0]}` did not end within {timeout:g} s on {self.name}.",
                    meaning="The host is overloaded, or the command hangs.",
                    advice="It was ended; eagletui goes on without its answer.",
                ) from error
            except _TooMuch as error:
                await self._kill(session)
                raise HostError(
                    f"`{argv[0]}` wrote more than {limit} bytes on {self.name}.",
                    advice="It was ended; eagletui goes on without its answer.",
                ) from error
            finally:
                if session is not None:
                    session.close()

    async def start(self, argv: Sequence[str]) -> Session:
        try:
            session = await within(self._session(), _STARTING)
        except asyncio.TimeoutError as error:
            raise self._no_shell() from error
        session.begin(argv)
        return session

    def _no_shell(self) -> CommandTimeout:
        return CommandTimeout(
            f"The login shell on {self.name} did not start within {_STARTING:g} s.",
            meaning="The host is overloaded, or a start-up file (~/.bashrc) waits.",
            advice="Try `ssh HOST true` by hand; it should take well under a second.",
        )

    def http(self, limit: int = 8) -> aiohttp.BaseConnector:
        return ChannelConnector(self.connection, limit)

    # --- sessions -----------------------------------------------------------------------------

    async def _session(self) -> Session:
        """A shell that waits for its command: the spare one, while the next is being started.

        A login shell can take 125 ms to start; and a connection without any session open
        delays what it forwards by 40 ms.
        """
        spare, self._spare = self._spare, None
        session: Session | None = None
        if spare is not None:
            # Not awaited itself: when `close` cancels it, the caller is not cancelled.
            await asyncio.wait({spare})
            if not spare.cancelled() and spare.exception() is None:
                session = spare.result()
        if session is None or session.closed:
            session = await self._open_patiently()
        self._keep_spare()
        return session

    async def _open_patiently(self) -> Session:
        """A new session; one that has just ended frees its place a moment later."""
        for pause in _PLACES_FREED:
            try:
                return await self._open()
            except _NoPlace:  # noqa: PERF203 - it runs three times
                await asyncio.sleep(pause)
        return await self._open()

    def _keep_spare(self) -> None:
        if self._link is not None and self._spare is None:
            self._spare = asyncio.create_task(self._open())
            self._spare.add_done_callback(_ignore)

    async def _open(self) -> Session:
        session = Session(secrets.token_hex(8))
        connection = self.connection()
        try:
            await connection.create_session(
                lambda: session, shell.LAUNCHER, encoding=None, env=(), send_env=()
            )
        except asyncssh.ChannelOpenError as error:
            self.connection()
            raise _NoPlace(
                f"{self.name} opens no more sessions: {error.reason}.",
                meaning="sshd limits the sessions of one connection (MaxSessions, 10 if not set).",
                advice="Raise MaxSessions in sshd_config, or close what else uses the connection.",
            ) from error
        except (OSError, asyncssh.Error) as error:
            raise lost(error) from error
        return session

    async def _kill(self, session: Session | None) -> None:
        """End a command's whole process group; closing the channel alone would not."""
        if session is None or session.pid is None or session.closed:
            return
        argv = shell.script(
            'kill -s KILL -- "-$1" 2>/dev/null || kill -s KILL "$1"', str(session.pid)
        )
        with contextlib.suppress(HostError, asyncio.TimeoutError):
            killer = await within(self.start(argv), 5.0)
            killer.write_eof()
            await within(killer.wait_closed(), 5.0)


class _NoPlace(HostError):
    """The host has as many sessions as it allows."""


class _TooMuch(Exception):
    """A command wrote more than it may."""


async def _collect(session: Session, limit: int) -> Completed:
    parts: list[bytes] = []
    size = 0
    while data := await session.read():
        parts.append(data)
        size += len(data)
        if size > limit:
            raise _TooMuch
    await session.wait_closed()
    if session.error is not None:
        raise lost(session.error)
    return Completed(status=session.status, stdout=b"".join(parts), stderr=bytes(session.stderr))


def _ignore(task: asyncio.Task[Session]) -> None:
    if not task.cancelled():
        task.exception()
