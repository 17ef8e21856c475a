"""`eagletui demo`: the live screen on a simulated host. No GPU, no SSH server, no settings."""

from __future__ import annotations

import asyncio
import contextlib

import click

from eagletui.cli.options import Number, record_option
from eagletui.model.errors import UsageError
from eagletui.simulator.releases import RELEASES
from eagletui.simulator.scenarios import DEFAULT_SCENARIO, SCENARIOS

DEFAULT_SPEED = 30.0


@click.command()
@click.option(
    "--scenario",
    metavar="NAME",
    default=DEFAULT_SCENARIO,
    show_default=True,
    help="What is simulated; --list shows all.",
)
@click.option(
    "--speed",
    type=Number(0.1, 1000.0),
    default=DEFAULT_SPEED,
    show_default=True,
    help="How many times faster than life it loads.",
)
@click.option("--release", metavar="VERSION", help="The SGLang release that is simulated.")
@click.option("--theme", metavar="NAME", help="The theme to start with.")
@record_option
@click.option("--list", "show_list", is_flag=True, help="List scenarios and releases.")
@click.option("--serve", is_flag=True, help="No screen: start the host, say how to reach it.")
def demo(
    scenario: str,
    speed: float,
    release: str | None,
    theme: str | None,
    record_to: str | None,
    show_list: bool,
    serve: bool,
) -> None:
    """Show the live screen on a simulated host.

    A real SSH server, real processes and a real HTTP server on this machine behave like a host
    that runs SGLang; all of it is gone when you leave.
    """
    if show_list:
        _list()
        return
    if scenario not in SCENARIOS:
        raise UsageError(
            f"There is no scenario called {scenario}.", advice=f"Known: {', '.join(SCENARIOS)}."
        )
    if release is not None and release not in RELEASES:
        raise UsageError(
            f"SGLang {release} cannot be simulated.", advice=f"Known: {', '.join(RELEASES)}."
        )
    if serve:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(scenario, speed, release))
    else:
        _show(scenario, speed, release, theme, record_to or "")


def _list() -> None:
    width = max(map(len, SCENARIOS))
    for name, scenario in SCENARIOS.items():
        click.echo(f"{name:<{width}}  {scenario.summary}")
    click.echo(f"\nReleases: {', '.join(RELEASES)}")


def _show(scenario: str, speed: float, release: str | None, theme: str | None, record: str) -> None:
    """Paint first; the host starts in a process of its own meanwhile."""
    from eagletui.cli.screen import ScreenOptions, open_screen
    from eagletui.simulator.outside import HostProcess

    process: list[HostProcess] = []

    async def before() -> tuple[str | None, ScreenOptions]:
        host = HostProcess(scenario, speed=speed, release=release)
        process.append(host)
        up = await host.ready()
        return up.name, ScreenOptions(ssh_config=(up.ssh_config,), under=up.folder)

    try:
        options = ScreenOptions(theme=theme, record=record)
        open_screen(None, options, before=before, name=f"demo: {scenario}")
    finally:
        for host in process:
            host.end()


async def _serve(scenario: str, speed: float, release: str | None) -> None:
    """Only the host, until Ctrl-C."""
    from eagletui.simulator.host import SimulatedHost

    async with SimulatedHost(scenario, speed=speed, release=release, usual_ports=True) as host:
        click.echo(f"eagletui --ssh-config {host.ssh_config} --host {host.name}")
        click.echo(f"ssh -F {host.ssh_config} {host.name}")
        for server in host.servers:
            click.echo(f"{server.plan.model}: pid {server.pid}, port {server.port}, {server.log}")
        click.echo("Ctrl-C ends it.", err=True)
        await asyncio.Event().wait()
