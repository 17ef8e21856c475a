"""`eagletui launch`: start a server, in the place of the one that runs on its port."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from eagletui.cli.controlling import (
    chosen_server,
    confirm,
    connected,
    control_options,
    finish,
    narrate,
    plan_lines,
    refuse_read_only,
    run_attended,
    running_servers,
)
from eagletui.cli.options import chosen_target
from eagletui.cli.output import echo_json
from eagletui.model.errors import UsageError
from eagletui.model.profile import Guard, RollBack, StartPlan
from eagletui.model.secrets import mask_argv, mask_environment
from eagletui.model.text import visible_value

if TYPE_CHECKING:
    from eagletui.control.restart import Restart

_COMMAND = "eagletui.command"


class WordsAfterDashes(click.Command):
    """What stands after `--` is a command of its own, not more arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set those words aside."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(cls=WordsAfterDashes)
@click.argument("profiles", nargs=-1, metavar="[PROFILE...] [-- COMMAND...]")
@control_options
@click.option("--dry-run", is_flag=True, help="Check and show everything, change nothing.")
@click.option(
    "--wait/--no-wait", default=True, show_default=True, help="Stay until the server serves."
)
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set a variable.")
@click.option("--log", "log_path", metavar="PATH", help="The new server's log on the host.")
@click.option("--workdir", metavar="PATH", help="The folder it is started in.")
@click.option(
    "--roll-back",
    type=click.Choice(["ask", "always", "never"]),
    help="Whether a launch that fails gives way to what ran before.",
)
@click.option("--resume", metavar="LAUNCH", help="Go on with a launch that was left.")
@click.pass_context
def launch(
    ctx: click.Context,
    profiles: tuple[str, ...],
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    pid: int | None,
    yes: bool,
    read_only: bool,
    break_lock: bool,
    settle: float,
    as_json: bool,
    dry_run: bool,
    wait: bool,
    variables: tuple[str, ...],
    log_path: str | None,
    workdir: str | None,
    roll_back: RollBack | None,
    resume: str | None,
) -> None:
    """Start a server, in the place of the one that runs on its port.

    PROFILE names what to start; further ones are laid over it. Or give the command itself after
    `--`. Ctrl-C detaches: the host goes on, and --resume picks it up.
    """
    target = chosen_target(host, local)
    if not dry_run:
        refuse_read_only(ctx, read_only)
    command = ctx.meta.get(_COMMAND, ())
    if bool(resume) + bool(command) + bool(profiles) != 1:
        raise UsageError(
            "Nothing to launch, or too much.",
            advice="Give a PROFILE, a command after --, or --resume LAUNCH.",
        )
    plan = None
    if not resume:
        plan = _plan(profiles, command, variables, log_path, workdir, roll_back)
    driven: list[Restart] = []

    async def run() -> Any:
        from eagletui.control.api import Limits, Owner, refuse_what_cannot_be
        from eagletui.control.restart import Restart

        limits = Limits(settle=settle, answer=None)
        async with connected(target, ssh_config) as machine:
            if plan is None:
                assert resume is not None
                owner = Owner.here("a launch that was left")
                driven.append(
                    await Restart.resume(
                        machine, resume, owner=owner, limits=limits, break_lock=break_lock
                    )
                )
                return await narrate(driven[0], yes=yes, wait=wait)
            refuse_what_cannot_be(plan)
            servers = await running_servers(machine)
            old = chosen_server(servers, pid=pid, port=plan.port)
            lines = plan_lines(plan, old)
            restart = Restart(
                machine,
                plan,
                replaces=old,
                owner=Owner.here(f"launching {plan.profile or 'a command'} on :{plan.port}"),
                limits=limits,
                break_lock=break_lock,
            )
            driven.append(restart)
            if dry_run:
                problem = await restart.check_only()
                return {
                    "command": list(visible_value(mask_argv(plan.argv))),
                    "environment": visible_value(mask_environment(plan.environment)),
                    "port": plan.port,
                    "replaces": old.pid if old is not None else None,
                    "problem": None if problem is None else problem.title,
                    "lines": lines,
                }
            confirm(lines, yes=yes, guard=plan.guard, host=host or "localhost")
            return await narrate(restart, yes=yes, wait=wait)

    result = run_attended(run, restart=lambda: driven[0] if driven else None)
    if dry_run:
        _show_dry(result, as_json)
        return
    finish(driven[0], result, as_json=as_json, wait=wait)


def _show_dry(result: dict[str, Any], as_json: bool) -> None:
    lines = result.pop("lines")
    if as_json:
        echo_json({"ok": result["problem"] is None, **result})
    else:
        for line in lines:
            click.echo(line)
        click.echo(result["problem"] or "Nothing stands in the way. Nothing was changed.")
    if result["problem"] is not None:
        raise SystemExit(1)


def _plan(
    profiles: tuple[str, ...],
    command: tuple[str, ...],
    variables: tuple[str, ...],
    log_path: str | None,
    workdir: str | None,
    roll_back: RollBack | None,
) -> StartPlan:
    from msgspec.structs import replace

    from eagletui.engine.command import parse_command

    if profiles:
        plan = _from_profiles(profiles)
    else:
        plan = StartPlan(argv=command, port=parse_command(command).port)
    environment = {**plan.environment, **dict(_pair(text) for text in variables)}
    guard: Guard = plan.guard if roll_back is None else replace(plan.guard, roll_back=roll_back)
    return replace(
        plan,
        environment=environment,
        log=log_path or plan.log,
        workdir=workdir or plan.workdir,
        guard=guard,
    )


def _from_profiles(names: tuple[str, ...]) -> StartPlan:
    from eagletui.engine.flagwords import same_flag
    from eagletui.engine.start_plan import start_plan
    from eagletui.store.places import profiles_folder, shipped_profiles_folder
    from eagletui.store.profiles.shelf import Profiles

    shelf = Profiles([profiles_folder(), shipped_profiles_folder()], same_flag)
    now = datetime.now().astimezone()
    return start_plan(shelf.load(*names), now=now, variables=os.environ)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--env {text!r} is no NAME=VALUE.")
    return name, value
