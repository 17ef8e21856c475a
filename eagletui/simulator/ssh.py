"""The SSH server of a simulated host: commands run for real, channels reach loopback only."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncssh

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_GRACE = 2.0
_CHUNK = 1 << 16


class SshServer:
    """Accepts one user with one key.

    Args:
        home: working directory of commands.
        environment: all that commands get.
        note: told of each process group that came (True) or went.
    """

    def __init__(
        self, home: Path, environment: Mapping[str, str], note: Callable[[int, bool], None]
    ) -> None:
        self._home = home
        self._environment = dict(environment)
        self._note = note
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()

    async def start(self, host: str, user: str, folder: Path) -> int:
        """Make the keys, listen on a free port and say which."""
        import asyncssh

        host_key = asyncssh.generate_private_key("ssh-ed25519")
        client_key = asyncssh.generate_private_key("ssh-ed25519")
        private = folder / "id_ed25519"
        private.touch(mode=0o600)
        private.write_bytes(client_key.export_private_key("openssh"))

        connections = self._connections

        class Gate(asyncssh.SSHServer):
            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                self._connection = conn
                connections.add(conn)

            def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
                connections.discard(self._connection)

            def begin_auth(self, username: str) -> bool:  # noqa: ARG002
                return True

            def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
                return username == user and key.public_data == client_key.public_data

            def public_key_auth_supported(self) -> bool:
                return True

            def connection_requested(
                self,
                dest_host: str,
                dest_port: int,  # noqa: ARG002
                orig_host: str,  # noqa: ARG002
                orig_port: int,  # noqa: ARG002
            ) -> bool:
                return dest_host in _LOOPBACK

        self._acceptor = await asyncssh.create_server(
            Gate,
            host,
            0,
            server_host_keys=[host_key],
            process_factory=self._run,
            encoding=None,
            allow_pty=True,
            line_editor=False,
            agent_forwarding=False,
        )
        port = self._acceptor.get_port()
        public = host_key.export_public_key("openssh").decode().split()
        (folder / "known_hosts").write_text(f"[{host}]:{port} {public[0]} {public[1]}\n")
        return port

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._acceptor is None:
            return
        self._acceptor.close()
        for connection in tuple(self._connections):
            connection.abort()
        # From Python 3.12 this waits for connections, too.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._acceptor.wait_closed(), _GRACE)

    async def _run(self, session: asyncssh.SSHServerProcess[bytes]) -> None:
        """One command, as sshd runs it: `$SHELL -c COMMAND`, pipes closed with the channel."""
        words = ["/bin/sh", "-c", session.command] if session.command else ["/bin/sh"]
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._home,
            env=self._environment,
            start_new_session=True,
        )
        self._note(process.pid, True)
        feeding = asyncio.ensure_future(_feed(session, process.stdin))
        writing = asyncio.gather(
            _pump(process.stdout, session.stdout), _pump(process.stderr, session.stderr)
        )
        ended = asyncio.ensure_future(self._end(process, writing))
        dropped = asyncio.ensure_future(session.channel.wait_closed())
        try:
            await asyncio.wait({ended, dropped}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                await self._hang_up(process)
            status = await ended
            if status < 0:
                session.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
            else:
                session.exit(status)
        finally:
            for task in (feeding, dropped):
                task.cancel()
            self._note(process.pid, False)

    @staticmethod
    async def _end(process: asyncio.subprocess.Process, writing: asyncio.Future[Any]) -> int:
        """The exit status, once all output is on its way or nobody wants it."""
        status = await process.wait()
        with contextlib.suppress(asyncio.TimeoutError, OSError):
            await asyncio.wait_for(writing, _GRACE)
        return status

    @staticmethod
    async def _hang_up(process: asyncio.subprocess.Process) -> None:
        """The channel is gone: the command's input ends; what stays is hung up, then killed."""
        if process.stdin is not None:
            process.stdin.close()
        for number in (signal.SIGHUP, signal.SIGKILL):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), _GRACE)
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)


async def _feed(
    session: asyncssh.SSHServerProcess[bytes], stdin: asyncio.StreamWriter | None
) -> None:
    """The person's side to the command, end of input included."""
    assert stdin is not None
    with contextlib.suppress(OSError):
        while data := await session.stdin.read(_CHUNK):
            stdin.write(data)
            await stdin.drain()
    stdin.close()


async def _pump(source: asyncio.StreamReader | None, sink: asyncssh.SSHWriter[bytes]) -> None:
    """The command's output to the person, no faster than it is taken."""
    assert source is not None
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
