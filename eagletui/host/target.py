"""What a person types to name a machine: `NAME`, `user@host:port`, `[::1]:22`, `fe80::1%eth0`."""

from __future__ import annotations

import re

from eagletui.model.base import Data
from eagletui.model.errors import UsageError
from eagletui.model.numerals import shortened

_BRACKETED = re.compile(r"\[(?P<host>[^\[\]]+)\](?::(?P<port>.*))?\Z")
_NAME = re.compile(r"[A-Za-z0-9_.%:-]+\Z")
_FORMS = "Write NAME, user@host, user@host:port, or user@[IPv6]:port."


class Target(Data, frozen=True):
    """A machine as named by the person; None is left to `~/.ssh/config`."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        if self.port is None:
            return user + self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}:{self.port}"


def parse_target(text: str) -> Target:
    """Read a machine's name.

    Raises:
        UsageError: the text names no machine, or its port is no port.
    """
    given = text.strip().removeprefix("ssh://").rstrip("/")
    user, at, rest = given.rpartition("@")
    if at and not user:
        raise UsageError(f"{text!r} has no user before the @.", advice=_FORMS)
    host, port = _host_and_port(text, rest)
    # A leading dash would be read as an option by a ProxyCommand.
    if not host or host.startswith("-") or user.startswith("-") or not _NAME.match(host):
        raise UsageError(f"{text!r} names no machine.", advice=_FORMS)
    return Target(host=host, user=user or None, port=port)


def _host_and_port(text: str, rest: str) -> tuple[str, int | None]:
    if bracketed := _BRACKETED.match(rest):
        return bracketed["host"], _port(text, bracketed["port"])
    if rest.count(":") == 1:
        host, _, port = rest.partition(":")
        return host, _port(text, port)
    return rest, None


def _port(text: str, port: str | None) -> int | None:
    if port is None:
        return None
    if re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65536:
        return int(port)
    raise UsageError(
        f"{shortened(text)!r}: {shortened(port)!r} is no port.",
        advice="A port is a number from 1 to 65535.",
    )
