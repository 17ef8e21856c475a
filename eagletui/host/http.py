# ruff: noqa: ARG002 - the signatures are those of the library that calls
"""HTTP connections that start on the host: direct-tcpip channels as aiohttp's transports."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterable
from typing import Any

import aiohttp
import asyncssh
from aiohttp.client_proto import ResponseHandler

from eagletui.host.within import within
from eagletui.model.errors import HostError

_WINDOW = 4 << 20


class _Transport(asyncio.Transport):
    """An asyncio transport over an SSH channel."""

    # Lets asyncio put TLS on top, for servers with --ssl-certfile.
    _start_tls_compatible = True

    def __init__(self, channel: asyncssh.SSHTCPChannel[bytes], tunnel: _Tunnel) -> None:
        super().__init__()
        self._channel = channel
        self._tunnel = tunnel

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._tunnel.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._tunnel.protocol
        return protocol

    def is_closing(self) -> bool:
        return self._channel.is_closing()

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._channel.is_closing():
            self._channel.write(bytes(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._channel.write_eof()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._channel.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._channel.get_write_buffer_size()

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()


class _Tunnel(asyncssh.SSHTCPSession[bytes]):
    """Hands what a channel receives to an asyncio protocol."""

    def __init__(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol: Any = protocol
        self.transport: _Transport | None = None

    def connection_made(self, chan: asyncssh.SSHTCPChannel[bytes]) -> None:
        self.transport = _Transport(chan, self)
        self.protocol.connection_made(self.transport)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self.protocol.data_received(data)

    def eof_received(self) -> bool:
        return bool(self.protocol.eof_received())

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not isinstance(exc, OSError):
            exc = ConnectionResetError(errno.ECONNRESET, str(exc))
        self.protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        self.protocol.resume_writing()


class ChannelConnector(aiohttp.BaseConnector):
    """aiohttp's connections as channels of an SSH connection: no local port is opened.

    `connection` gives the live SSH connection, also after a reconnect.
    """

    def __init__(
        self, connection: Callable[[], asyncssh.SSHClientConnection], limit: int = 8
    ) -> None:
        super().__init__(keepalive_timeout=60.0, limit=limit)
        self._connection = connection

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        protocol: ResponseHandler = self._factory()
        host = (req.url.raw_host or "").strip("[]")
        port = req.url.port or (443 if req.is_ssl() else 80)
        try:
            session = _Tunnel(protocol)
            opening = self._connection().create_connection(
                lambda: session, host, port, window=_WINDOW
            )
            await within(opening, timeout.sock_connect or timeout.connect)
            if req.is_ssl():
                await self._secure(req, protocol, session)
        except asyncio.TimeoutError:
            raise
        except asyncssh.ChannelOpenError as error:
            raise aiohttp.ClientConnectorError(req.connection_key, _refusal(error)) from error
        except (HostError, asyncssh.Error) as error:
            reset = ConnectionResetError(errno.ECONNRESET, str(error))
            raise aiohttp.ClientConnectorError(req.connection_key, reset) from error
        except OSError as error:
            raise aiohttp.ClientConnectorError(req.connection_key, error) from error
        return protocol

    async def _secure(
        self, req: aiohttp.ClientRequest, protocol: ResponseHandler, session: _Tunnel
    ) -> None:
        import ssl

        context = req.ssl if isinstance(req.ssl, ssl.SSLContext) else ssl.create_default_context()
        if req.ssl is False:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        assert session.transport is not None
        secured = await self._loop.start_tls(
            session.transport, protocol, context, server_hostname=req.url.raw_host
        )
        assert secured is not None
        protocol.connection_made(secured)


def _refusal(error: asyncssh.ChannelOpenError) -> OSError:
    if error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
        return PermissionError(
            errno.EACCES,
            "the SSH server forwards no connections; AllowTcpForwarding in its sshd_config is off",
        )
    if "timed out" in error.reason.lower():
        return TimeoutError(errno.ETIMEDOUT, error.reason)
    return ConnectionRefusedError(errno.ECONNREFUSED, error.reason)
