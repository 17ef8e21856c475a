"""The one way to a host. asyncssh and aiohttp (0.4 s to import) are imported on the first call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eagletui.model.ask import Asker

if TYPE_CHECKING:
    from eagletui.host.base import Host


def open_host(
    target: str | None,
    *,
    asker: Asker,
    config: Sequence[str] | None = None,
    connect_timeout: float = 15.0,
) -> Host:
    """A host, not yet connected.

    Args:
        target: a name from `~/.ssh/config`, `user@host:port`, …; None is this machine.
        config: SSH configuration files; None reads those OpenSSH would.
        connect_timeout: seconds for each hop, questions to the person not counted.

    Raises:
        UsageError: the target names no machine.
    """
    if target is None:
        from eagletui.host.local import LocalHost

        return LocalHost()
    from eagletui.host.ssh import SshHost

    return SshHost(target, asker=asker, config=config, connect_timeout=connect_timeout)
