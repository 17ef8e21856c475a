"""`eagletui stop` and `eagletui restart`: end a server, or start it again as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from eagletui.cli.check import check_lines
from eagletui.cli.controlling import (
    chosen_server,
    confirm,
    control_options,
    finish,
    listed,
    narrate,
    permitted,
    plan_lines,
    run_attended,
    running_servers,
)
from eagletui.cli.options import Number, Whole, chosen_target
from eagletui.cli.reaching import connected
from eagletui.model.errors import UsageError
from eagletui.model.profile import Guard, StartPlan

if TYPE_CHECKING:
    from eagletui.control.restart import Restart

_port = click.option("--port", type=Whole(1, 65535), help="The server's port.")
_drain = click.option(
    "--drain",
    type=Number(0.0),
    default=Guard().drain_seconds,
    show_default=True,
    help="Seconds requests in flight may take before they are aborted.",
)
_patience = click.option(
    "--patience",
    type=Number(0.0),
    default=Guard().stop_seconds,
    show_default=True,
    help="Seconds the server may take to stop before it is killed.",
)


@click.command()
@control_options
@_port
@_drain
@_patience
@click.pass_context
def stop(ctx: click.Context, /, **options: Any) -> None:
    """End a server, its workers included, and wait until port and GPU memory are free."""
    _end(ctx, again=False, **options)


@click.command()
@control_options
@_port
@_drain
@_patience
@click.pass_context
def restart(ctx: click.Context, /, **options: Any) -> None:
    """Start a server again: the same command, environment and folder."""
    _end(ctx, again=True, **options)


def _end(
    ctx: click.Context,
    *,
    again: bool,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    pid: int | None,
    port: int | None,
    drain: float,
    patience: float,
    yes: bool,
    read_only: bool,
    break_lock: bool,
    settle: float,
    as_json: bool,
) -> None:
    target = chosen_target(host, local)
    guard = Guard(drain_seconds=drain, stop_seconds=patience, roll_back="never")
    needs = permitted(ctx, host, read_only=read_only, guard=guard)
    driven: list[Restart] = []

    async def run() -> Any:
        from eagletui.control.api import Limits, Owner
        from eagletui.control.restart import Restart

        async with connected(target, ssh_config) as machine:
            servers = await running_servers(machine)
            old = chosen_server(servers, pid=pid, port=port)
            if old is None:
                raise UsageError("No such SGLang server runs on this host.", advice=listed(servers))
            plan = StartPlan(argv=old.argv, port=old.port, guard=guard) if again else None
            what = "restarting" if again else "stopping"
            driven.append(
                Restart(
                    machine,
                    plan,
                    replaces=old,
                    owner=Owner.here(f"{what} :{old.port}"),
                    limits=Limits(settle=settle),
                    guard=guard,
                    again=again,
                    break_lock=break_lock,
                )
            )
            problem = await driven[0].check_only()
            notes = check_lines(driven[0].notes, "check") if driven[0].notes else []
            await confirm(
                [*plan_lines(plan, old, guard=guard, again=again), *notes],
                yes=yes,
                needs=needs,
                problem=problem,
            )
            return await narrate(driven[0], yes=yes)

    standing = run_attended(run, restart=lambda: driven[0] if driven else None)
    finish(driven[0], standing, as_json=as_json)
