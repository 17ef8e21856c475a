"""What `~/.ssh/config` and `/etc/ssh/ssh_config` say about one machine."""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from asyncssh.config import ConfigParseError, SSHClientConfig, SSHConfig

from eagletui.host.target import Target
from eagletui.model.base import Data
from eagletui.model.errors import ConfigError

Strictness = Literal["ask", "yes", "accept-new"]

_USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_IDENTITIES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")
# `no` and `off` would trust anybody: a person who is there is asked instead.
_STRICT: dict[str, Strictness] = {"yes": "yes", "true": "yes", "accept-new": "accept-new"}

# As OpenSSH's client allows.
_MOST_INCLUDES = 16

# asyncssh 2.24 splits even a quoted word at its `=`, and then looks for a condition in the rest.
_EQUALS = (
    "Match lines cannot have a `=` in a quoted command here, as OpenSSH's may: "
    "put that command into a script."
)


class HostConfig(Data, frozen=True):
    """The options of one machine that eagletui acts upon itself; asyncssh reads the rest.

    Attributes:
        alias: the name that was looked up.
        named_files: those of the identity files that the configuration names itself.
        jump: the machines to go through, as written after ProxyJump.
        keepalive: seconds between signs of life, and how many may stay unanswered.
    """

    alias: str
    host: str
    port: int
    user: str
    jump: str = ""
    proxy_command: str = ""
    identity_files: tuple[str, ...] = ()
    named_files: tuple[str, ...] = ()
    certificate_files: tuple[str, ...] = ()
    identities_only: bool = False
    agent: str = ""
    host_key_alias: str = ""
    host_key_algorithms: str = ""
    ciphers: str = ""
    known_hosts: tuple[str, ...] = ()
    global_known_hosts: tuple[str, ...] = ()
    hash_known_hosts: bool = False
    strict: Strictness = "ask"
    connect_timeout: float | None = None
    keepalive: tuple[float, int] = (10.0, 3)

    @property
    def trust_name(self) -> str:
        """The name under which known_hosts files keep the machine's key."""
        if self.host_key_alias:
            return self.host_key_alias.lower()
        host = self.host.lower()
        return host if self.port == 22 else f"[{host}]:{self.port}"


class _Config(SSHClientConfig):
    """asyncssh's own reader, with options it would skip, and an end to files in files."""

    _depth = 0

    def _include(self, option: str, args: list[str]) -> None:
        if self._depth == _MOST_INCLUDES:
            self._error(
                f"Include leads more than {_MOST_INCLUDES} files deep: does a file include itself?"
            )
        self._depth += 1
        super()._include(option, args)
        self._depth -= 1

    _handlers = {
        **SSHClientConfig._handlers,
        "include": ("Include", _include),
        "stricthostkeychecking": ("StrictHostKeyChecking", SSHConfig._set_string),
        "hashknownhosts": ("HashKnownHosts", SSHConfig._set_bool),
    }


def default_files() -> list[str]:
    """The configuration files OpenSSH's client reads, as far as they can be read."""
    files = (Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config"))
    return [str(file) for file in files if os.access(file, os.R_OK)]


def load_config(target: Target, files: Sequence[str]) -> HostConfig:
    """Look one machine up. May run `Match exec` commands: call it in a thread.

    Raises:
        ConfigError: a file cannot be read as an OpenSSH configuration.
    """
    arguments = (
        getpass.getuser(),
        target.user if target.user is not None else (),
        target.host,
        target.port if target.port is not None else (),
    )
    try:
        config = _Config.load(None, list(files), False, False, False, *arguments)
        if config.has_match_final():
            config = _Config.load(config, list(files), True, False, True, *arguments)
    except (ConfigParseError, OSError, UnicodeError, ValueError) as error:
        raise ConfigError(
            f"The SSH configuration cannot be used: {error}",
            meaning=_EQUALS if "Invalid match condition" in str(error) else "",
            advice=f"Correct it; `ssh -G {target.host}` shows how OpenSSH reads it.",
        ) from error
    return _host_config(target, config)


def _host_config(target: Target, config: SSHConfig) -> HostConfig:
    def text(option: str) -> str:
        value = config.get(option)
        return value if isinstance(value, str) else ""

    def paths(option: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = config.get(option)
        names = default if value is None else cast("list[str]", value)
        return tuple(os.path.expanduser(name) for name in names)

    def number(option: str) -> int:
        return int(cast(Any, config.get(option, 0)) or 0)

    identities = tuple(f"~/.ssh/{name}" for name in _IDENTITIES)
    agent = config.get("IdentityAgent", os.environ.get("SSH_AUTH_SOCK", ""))
    interval = number("ServerAliveInterval")
    return HostConfig(
        alias=target.host,
        host=text("Hostname") or target.host,
        port=number("Port") or 22,
        user=text("User") or getpass.getuser(),
        jump=text("ProxyJump"),
        proxy_command=text("ProxyCommand"),
        identity_files=paths("IdentityFile", identities),
        named_files=paths("IdentityFile", ()),
        certificate_files=paths("CertificateFile", ()),
        identities_only=bool(config.get("IdentitiesOnly")),
        agent=_agent_path(agent if isinstance(agent, str) else ""),
        host_key_alias=text("HostKeyAlias"),
        host_key_algorithms=text("HostKeyAlgorithms"),
        ciphers=text("Ciphers"),
        known_hosts=paths("UserKnownHostsFile", _USER_KNOWN_HOSTS),
        global_known_hosts=paths("GlobalKnownHostsFile", _GLOBAL_KNOWN_HOSTS),
        hash_known_hosts=bool(config.get("HashKnownHosts")),
        strict=_STRICT.get(text("StrictHostKeyChecking").lower(), "ask"),
        connect_timeout=float(number("ConnectTimeout")) or None,
        keepalive=(float(interval), number("ServerAliveCountMax") or 3) if interval else (10.0, 3),
    )


def _agent_path(path: str) -> str:
    if path == "SSH_AUTH_SOCK":
        path = os.environ.get("SSH_AUTH_SOCK", "")
    elif path.startswith("$"):
        path = os.environ.get(path[1:].strip("{}"), "")
    return os.path.expanduser(path) if path else ""
