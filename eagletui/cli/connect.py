"""From options to a monitor of a host that is not yet connected."""

from __future__ import annotations

from collections.abc import Sequence

from eagletui.cli.benchmarking import HostBenchmarker
from eagletui.cli.options import api_key_from
from eagletui.cli.shelf import all_profiles
from eagletui.cli.switch_measured import MeasuredRuns
from eagletui.cli.switching import HostSwitcher
from eagletui.host.base import Host
from eagletui.host.open import open_host
from eagletui.model.ask import Asker
from eagletui.monitor.api import Wanted
from eagletui.monitor.monitor import Monitor
from eagletui.store.installations import InstallationMemory
from eagletui.store.launches import LaunchMemory
from eagletui.store.places import installations_folder, launches_file


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
        UsageError: the named variable holds no key.
    """
    key = api_key_from(api_key_env) if api_key_env else None
    defaults = Wanted()
    return Wanted(
        log=log or "",
        metrics=metrics or "",
        pid=pid,
        api_key=key,
        under=under,
        interval=interval if interval is not None else defaults.interval,
    )


def make_host(target: str | None, *, asker: Asker, ssh_config: Sequence[str] = ()) -> Host:
    """This target, not yet connected; None is this machine."""
    return open_host(target, asker=asker, config=list(ssh_config) or None)


def make_monitor(
    target: str | None, *, wanted: Wanted, asker: Asker, ssh_config: Sequence[str] = ()
) -> Monitor:
    """A monitor of this target; None is this machine."""
    return monitor_of(make_host(target, asker=asker, ssh_config=ssh_config), wanted=wanted)


def monitor_of(host: Host, *, wanted: Wanted) -> Monitor:
    """A monitor of this host, which it connects and keeps connected."""
    return Monitor(host, wanted=wanted, memory=LaunchMemory(launches_file()))


def make_benchmarker(
    host: Host, *, target: str | None, wanted: Wanted, called: str = ""
) -> HostBenchmarker:
    """What measures the servers of a host that a monitor keeps connected."""
    return HostBenchmarker(host, target=target, api_key=wanted.api_key, called=called)


def make_switcher(host: Host) -> HostSwitcher:
    """What changes the servers of a host that a monitor keeps connected."""
    return HostSwitcher(
        host,
        profiles=all_profiles(),
        installations=InstallationMemory(installations_folder()),
        launches=LaunchMemory(launches_file()),
        measured=MeasuredRuns(host.name),
    )
