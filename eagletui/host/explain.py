"""Why a connection could not be made, in the person's words."""

from __future__ import annotations

import asyncio
import socket

import asyncssh

from eagletui.host.auth import Client
from eagletui.host.config import HostConfig
from eagletui.model.errors import AuthenticationFailed, HostError


def explain(error: BaseException, hop: HostConfig, client: Client, timeout: float) -> HostError:
    """An exception of asyncssh or the system in the person's words."""
    where = f"{hop.alias} ({hop.host}, port {hop.port})"
    if isinstance(error, asyncio.TimeoutError):
        if client.authenticating:
            return HostError(
                f"{where} did not finish the login within {hop.connect_timeout or timeout:g} s.",
                advice="The machine may be overloaded; try again, or raise --connect-timeout.",
            )
        return HostError(
            f"{where} did not answer within {hop.connect_timeout or timeout:g} s.",
            meaning="A firewall drops the packets, the machine is off, or what listens there "
            "is no SSH server.",
            advice="Check the address and whether a VPN or ProxyJump is needed.",
        )
    if isinstance(error, socket.gaierror):
        return HostError(
            f"The name {hop.host} is not known.",
            meaning="No host of this name is in ~/.ssh/config, and DNS knows none.",
            advice="Check the spelling; names from ~/.ssh/config can be used.",
        )
    if isinstance(error, ConnectionRefusedError):
        return HostError(
            f"{where} refused the connection.",
            meaning="The machine is there, but no SSH server listens on this port.",
            advice="Check the port (user@host:port) and that sshd runs.",
        )
    if isinstance(error, asyncssh.ChannelOpenError):
        return HostError(
            f"The machine before {hop.alias} could not reach {hop.host}, port {hop.port}: "
            f"{error.reason}.",
            advice="Check the address as seen from there, and AllowTcpForwarding on it.",
        )
    if isinstance(error, asyncssh.PermissionDenied) or "oo many authentication" in str(error):
        tried = ", ".join(dict.fromkeys(client.tried)) or "nothing: no key, agent or password"
        many = "oo many" in str(error) and any(way.startswith("agent") for way in client.tried)
        return AuthenticationFailed(
            f"{where} did not accept {hop.user}.",
            meaning=f"Tried: {tried}.",
            advice="The agent offers too many keys: set IdentitiesOnly and IdentityFile for this "
            "host in ~/.ssh/config."
            if many
            else "Check the user's name, and that your public key is in ~/.ssh/authorized_keys "
            "there; `ssh -v` shows more.",
        )
    return _rest(error, hop, where, client)


def _rest(error: BaseException, hop: HostConfig, where: str, client: Client) -> HostError:
    if isinstance(error, asyncssh.KeyExchangeFailed):
        return HostError(
            f"{where} and eagletui share no method: {error.reason}.",
            advice="Loosen KexAlgorithms, Ciphers or HostKeyAlgorithms for this host.",
        )
    if isinstance(error, (asyncssh.DisconnectError, ConnectionError)):
        by = "its ProxyCommand" if hop.proxy_command else "it"
        stage = "during the login" if client.authenticating else "before the login"
        return HostError(
            f"The connection to {where} ended {stage}: {error}.",
            meaning=f"Either {by} closed it, or what listens there is no SSH server.",
            advice="Try `ssh` by hand; sshd may limit connections (MaxStartups) or took too "
            "long to be answered (LoginGraceTime).",
        )
    if isinstance(error, OSError):
        return HostError(
            f"There is no way to {where}: {error.strerror or error}.",
            advice="Check the network, the address, and whether a VPN or ProxyJump is needed.",
        )
    return HostError(
        f"The connection to {where} could not be set up: {error}.",
        advice="Check the options for this host in ~/.ssh/config.",
    )
