"""From options to a monitor of a host that is not yet connected."""

from __future__ import annotations

import os
from collections.abc import Sequence

from eagletui.host.open import open_host
from eagletui.model.ask import Asker
from eagletui.model.errors import UsageError
from eagletui.monitor.api import Wanted
from eagletui.monitor.monitor import Monitor
from eagletui.store.launches import LaunchMemory
from eagletui.store.places import launches_file


def wanted_from(
    *,
    log: str | None,
    metrics: str | None,
    pid: int | None,
    api_key_env: str | None,
    interval: float | None = None,
    under: str = "",
) -> Wanted:
    """What the person asked for on the command line.

    Raises:
        UsageError: the named variable is not set.
    """
    key = None
    if api_key_env:
        key = os.environ.get(api_key_env)
        if not key:
            raise UsageError(
                f"The environment variable {api_key_env} is not set.",
                advice="Export the server's API key in it, or leave --api-key-env out.",
            )
    defaults = Wanted()
    return Wanted(
        log=log or "",
        metrics=metrics or "",
        pid=pid,
        api_key=key,
        under=under,
        interval=interval if interval is not None else defaults.interval,
    )


def make_monitor(
    target: str | None, *, wanted: Wanted, asker: Asker, ssh_config: Sequence[str] = ()
) -> Monitor:
    """A monitor of this target; None is this machine."""
    host = open_host(target, asker=asker, config=list(ssh_config) or None)
    return Monitor(host, wanted=wanted, memory=LaunchMemory(launches_file()))
