"""One SSH connection after the other, from here to the machine, all under the same trust rule.

asyncssh can follow ProxyJump itself, but gives the hop neither our questions nor our rule about
host keys; so every hop is connected here, through the one before it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import asyncssh
from asyncssh.public_key import get_default_certificate_algs, get_default_public_key_algs

from eagletui.host import trust
from eagletui.host.auth import Client, KeyRing, Patience
from eagletui.host.config import HostConfig, load_config
from eagletui.host.explain import explain
from eagletui.host.target import Target, parse_target
from eagletui.host.within import within
from eagletui.model.ask import Asker, HostKeyQuestion
from eagletui.model.base import Data
from eagletui.model.errors import AuthenticationFailed, ConfigError, HostError, UsageError

_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
_PREFERRED = (b"ssh-ed25519", b"ecdsa-sha2", b"rsa-sha2", b"sk-")
_MOST_HOPS = 8


class Link(Data, frozen=True):
    """A machine connected, with the connections that lead there (first hop first)."""

    connection: asyncssh.SSHClientConnection
    client: Client
    config: HostConfig
    through: tuple[asyncssh.SSHClientConnection, ...] = ()

    def abort(self) -> None:
        """Drop everything at once, the farthest connection first."""
        for connection in (self.connection, *reversed(self.through)):
            connection.abort()

    async def close(self) -> None:
        """Say goodbye on every hop; a dead one is dropped after a moment."""
        for connection in (self.connection, *reversed(self.through)):
            connection.close()
            with contextlib.suppress(asyncio.TimeoutError, OSError, asyncssh.Error):
                await within(connection.wait_closed(), 2.0)
            connection.abort()


async def plan(target: Target, files: Sequence[str]) -> list[HostConfig]:
    """The machines to go through, in order, the target last.

    Raises:
        ConfigError: the configuration cannot be read, or its jumps lead in a circle.
    """
    route: list[HostConfig] = []
    wanted = [target]
    while wanted:
        config = await asyncio.to_thread(load_config, wanted.pop(), files)
        route.insert(0, config)
        if len(route) > _MOST_HOPS:
            names = " → ".join(hop.alias for hop in route[:4])
            raise ConfigError(
                f"ProxyJump leads in a circle: {names} …",
                advice="Correct ProxyJump in ~/.ssh/config.",
            )
        # Only the first jump may have jumps of its own; a list says all the others.
        if config.jump and not wanted:
            wanted = _jumps(config)
            while len(wanted) > 1:
                hop = await asyncio.to_thread(load_config, wanted.pop(), files)
                route.insert(0, hop)
    return route


def _jumps(config: HostConfig) -> list[Target]:
    try:
        return [parse_target(jump) for jump in config.jump.split(",")]
    except UsageError as error:
        raise ConfigError(
            f"ProxyJump of {config.alias}: {error.what}", advice="Correct it in ~/.ssh/config."
        ) from error


async def connect(
    route: Sequence[HostConfig],
    files: Sequence[str],
    asker: Asker,
    ring: KeyRing,
    timeout: float,
) -> Link:
    """Connect hop by hop.

    Raises:
        HostError: with what happened, what it means and what to do.
    """
    opened: list[asyncssh.SSHClientConnection] = []
    try:
        for hop in route[:-1]:
            connection, _ = await _connect_hop(hop, files, opened, asker, ring, timeout)
            opened.append(connection)
        connection, client = await _connect_hop(route[-1], files, opened, asker, ring, timeout)
    except BaseException:
        for connection in reversed(opened):
            connection.abort()
        raise
    return Link(connection=connection, client=client, config=route[-1], through=tuple(opened))


async def _connect_hop(
    hop: HostConfig,
    files: Sequence[str],
    opened: Sequence[asyncssh.SSHClientConnection],
    asker: Asker,
    ring: KeyRing,
    timeout: float,
) -> tuple[asyncssh.SSHClientConnection, Client]:
    certificates = True
    while True:
        known = await asyncio.to_thread(
            trust.look_up, hop.trust_name, (*hop.known_hosts, *hop.global_known_hosts)
        )
        clock = Patience(hop.connect_timeout or timeout)
        client = Client(hop, known, asker, ring, clock)
        options = _options(hop, files, opened, known, client, certificates=certificates)
        try:
            return await clock.limit(asyncssh.connect(hop.alias, **options)), client
        except asyncssh.HostKeyNotVerifiable as error:
            if client.ca_refused and certificates:
                # Signed by an authority we do not know: the plain key has to speak for itself.
                certificates = False
                continue
            await _judge(hop, known, client, asker, error)
        except (OSError, asyncio.TimeoutError, asyncssh.Error, ValueError) as error:
            problem = explain(error, hop, client, timeout)
            if isinstance(problem, AuthenticationFailed):
                # Whoever tries again after this wants to be asked again, about this hop alone.
                ring.refused -= client.unopened
            raise problem from error


def _options(
    hop: HostConfig,
    files: Sequence[str],
    opened: Sequence[asyncssh.SSHClientConnection],
    known: trust.Known,
    client: Client,
    *,
    certificates: bool,
) -> dict[str, Any]:
    authorities = known.keys("cert-authority")
    options: dict[str, Any] = {
        "config": list(files),
        "port": hop.port,
        "username": hop.user,
        "tunnel": opened[-1] if opened else None,
        "proxy_command": None,
        "client_factory": lambda: client,
        "known_hosts": lambda *_: ([], authorities, known.keys("revoked")),
        "client_keys": None,
        "agent_forwarding": False,
        "x11_forwarding": False,
        "request_pty": False,
        "command": None,
        "connect_timeout": None,
        "login_timeout": 0,
        "keepalive_interval": hop.keepalive[0],
        "keepalive_count_max": hop.keepalive[1],
    }
    if hop.proxy_command and not opened:
        # asyncssh takes what the command says on standard error for the protocol, and the end of
        # that pipe for the end of the connection: keep it open, and unused.
        silent = f"exec 9>&2 2>/dev/null; {hop.proxy_command}"
        options["proxy_command"] = ["/bin/sh", "-c", silent]
    if not hop.ciphers:
        options["encryption_algs"] = _CIPHERS
    if not hop.host_key_algorithms:
        options["server_host_key_algs"] = _host_key_algorithms(
            known, certificates=certificates and bool(authorities)
        )
    return options


def _host_key_algorithms(known: trust.Known, *, certificates: bool) -> list[str]:
    """What we can verify first, so that a host with several keys shows the one on file."""
    plain = [alg for alg in get_default_public_key_algs() if b"webauthn" not in alg]
    plain.sort(key=lambda alg: next((i for i, p in enumerate(_PREFERRED) if alg.startswith(p)), 9))
    ours = [alg for key in known.keys("") for alg in key.sig_algorithms if alg in plain]
    algorithms = [*(get_default_certificate_algs() if certificates else ()), *ours, *plain]
    return [alg.decode() for alg in dict.fromkeys(algorithms)]


async def _judge(
    hop: HostConfig,
    known: trust.Known,
    client: Client,
    asker: Asker,
    error: asyncssh.HostKeyNotVerifiable,
) -> None:
    """Return when the key became trusted; raise otherwise."""
    if "revoked" in str(error):
        entry = next(iter(known.of("revoked")), None)
        raise trust.revoked(hop, entry) from error
    key = client.shown
    if key is None:
        raise HostError(
            f"The host certificate of {hop.alias} is not valid: {error.reason}",
            meaning="An authority that you trust signed it, but not for this machine or this time.",
            advice="Ask who runs the machine for a new host certificate.",
        ) from error
    if entries := known.of(""):
        same = [entry for entry in entries if trust.key_type(entry.key) == trust.key_type(key)]
        raise trust.changed(hop, (same or entries)[0], key) from error
    if hop.strict == "yes":
        raise trust.unknown(
            hop, key, "StrictHostKeyChecking is on, so that nobody is asked."
        ) from error
    if hop.strict == "ask":
        question = HostKeyQuestion(
            host=hop.alias,
            address=f"{hop.host}:{hop.port}" if ":" not in hop.host else f"[{hop.host}]:{hop.port}",
            key_type=trust.key_type(key),
            fingerprint=key.get_fingerprint(),
            file=hop.known_hosts[0] if hop.known_hosts else "",
        )
        if not await asker.host_key(question):
            raise trust.unknown(hop, key, "It was not accepted.") from error
    await asyncio.to_thread(trust.remember, hop, key)
    if not hop.known_hosts:
        raise HostError(
            f"The key of {hop.alias} cannot be kept: UserKnownHostsFile is none.",
            advice="Name a file with UserKnownHostsFile in ~/.ssh/config.",
        )
