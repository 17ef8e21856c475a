"""`eagletui launch`: start a server, in the place of the one that runs on its port."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from eagletui.cli.check import WordsAfterDashes, check_document, check_lines, plan_of_words
from eagletui.cli.controlling import (
    chosen_server,
    confirm,
    control_options,
    finish,
    narrate,
    permitted,
    plan_lines,
    run_attended,
    running_servers,
)
from eagletui.cli.options import chosen_target
from eagletui.cli.output import echo_json
from eagletui.cli.reaching import connected, facts_for
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.permission import Permission
from eagletui.model.profile import Profile, RollBack, StartPlan
from eagletui.model.text import visible

if TYPE_CHECKING:
    from eagletui.control.restart import Restart
    from eagletui.host.base import Host
    from eagletui.model.finding import Finding


class StartRefused(EagletuiError):
    """The check says that the server would refuse or fail."""


@click.command(cls=WordsAfterDashes)
@click.argument("profiles", nargs=-1, metavar="[PROFILE...] [-- COMMAND...]")
@control_options
@click.option("--force", is_flag=True, help="Start even where the check finds errors.")
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
    force: bool,
    dry_run: bool,
    wait: bool,
    variables: tuple[str, ...],
    log_path: str | None,
    workdir: str | None,
    roll_back: RollBack | None,
    resume: str | None,
) -> None:
    """Start a server, in the place of the one that runs on its port.

    PROFILE names what to start; further ones are laid over it. One that says no server by itself,
    a speculative setting for one, is laid over the server that runs. Or give the command itself
    after `--`. Ctrl-C detaches: the host goes on, and --resume picks it up; before the old server
    is told to stop, it takes everything back.
    """
    target = chosen_target(host, local)
    command = ctx.meta.get("command line", ())
    if bool(resume) + bool(command) + bool(profiles) != 1:
        raise UsageError(
            "Nothing to launch, or too much.",
            advice="Give a PROFILE, a command after --, or --resume LAUNCH.",
        )
    completed = _completing(variables, log_path, workdir, roll_back)
    part = _part(profiles) if profiles else None
    plans = None if resume or part is not None else _plans(profiles, command)
    needs = Permission()
    if not dry_run:
        guard = part.guard if part is not None else plans[0].guard if plans is not None else None
        needs = permitted(ctx, host, read_only=read_only, guard=guard)
    driven: list[Restart] = []

    async def run() -> Any:
        from eagletui.control.api import Limits, Owner, refuse_what_cannot_be
        from eagletui.control.restart import Restart

        limits = Limits(settle=settle, answer=None)
        async with connected(target, ssh_config) as machine:
            if resume is not None:
                owner = Owner.here("a launch that was left")
                await confirm([f"go on with launch {visible(resume)}"], yes=True, needs=needs)
                driven.append(
                    await Restart.resume(
                        machine, resume, owner=owner, limits=limits, break_lock=break_lock
                    )
                )
                return await narrate(driven[0], yes=yes, wait=wait)
            over = plans if plans is not None else await _over_what_runs(machine, profiles, pid)
            plan, shown = map(completed, over)
            refuse_what_cannot_be(plan)
            servers = await running_servers(machine)
            old = chosen_server(servers, pid=pid, port=plan.port)
            restart = Restart(
                machine,
                plan,
                replaces=old,
                owner=Owner.here(f"launching {plan.profile or 'a command'} on :{plan.port}"),
                limits=limits,
                break_lock=break_lock,
            )
            driven.append(restart)
            problem = await restart.check_only()
            findings = (*await _findings(machine, shown), *restart.notes)
            wrong = [finding for finding in findings if finding.severity == "error"]
            lines = [*plan_lines(shown, old, guard=shown.guard), *check_lines(findings, "check")]
            if dry_run:
                return {
                    **check_document(shown, findings),
                    "port": plan.port,
                    "replaces": old.pid if old is not None else None,
                    "problem": None if problem is None else problem.title,
                    "lines": lines,
                }
            if wrong and not force:
                raise StartRefused(
                    f"{wrong[0].message} [{wrong[0].code}]",
                    meaning="Nothing was changed.",
                    advice=f"{wrong[0].advice} --force starts it all the same.".strip(),
                )
            await confirm(lines, yes=yes, needs=needs, problem=problem)
            return await narrate(restart, yes=yes, wait=wait)

    result = run_attended(run, restart=lambda: driven[0] if driven else None)
    if dry_run:
        _show_dry(result, as_json)
        return
    finish(driven[0], result, as_json=as_json, wait=wait)


def _show_dry(result: dict[str, Any], as_json: bool) -> None:
    lines = result.pop("lines")
    result["ok"] = result["ok"] and result["problem"] is None
    if as_json:
        echo_json(result)
    else:
        for line in lines:
            click.echo(visible(line))
        if result["problem"]:
            click.echo(result["problem"])
        click.echo("Nothing was changed.")
    if not result["ok"]:
        raise SystemExit(1)


async def _findings(machine: Host, plan: StartPlan) -> tuple[Finding, ...]:
    from eagletui.engine.check.run import check

    return check(plan, facts=await facts_for(machine, plan))


def _completing(
    variables: tuple[str, ...],
    log_path: str | None,
    workdir: str | None,
    roll_back: RollBack | None,
) -> Callable[[StartPlan], StartPlan]:
    """A plan with what the command's options say."""
    from msgspec.structs import replace

    given = dict(_pair(text) for text in variables)

    def completed(plan: StartPlan) -> StartPlan:
        guard = plan.guard if roll_back is None else replace(plan.guard, roll_back=roll_back)
        return replace(
            plan,
            environment={**plan.environment, **given},
            log=log_path or plan.log,
            workdir=workdir or plan.workdir,
            guard=guard,
        )

    return completed


_Plans = tuple[StartPlan, StartPlan]
"""What is started, and the same with its secrets only named, to be checked and shown."""


def _plans(profiles: tuple[str, ...], command: tuple[str, ...]) -> _Plans:
    if not profiles:
        plan = plan_of_words(command)
        return plan, plan
    from eagletui.cli.running_base import exact
    from eagletui.cli.shelf import all_profiles

    profile = all_profiles().load(*profiles)
    return exact(profile), exact(profile, secrets=False)


def _part(profiles: tuple[str, ...]) -> Profile | None:
    """What these profiles say together, where that is no server by itself."""
    from eagletui.cli.running_base import is_whole
    from eagletui.cli.shelf import all_profiles

    profile = all_profiles().load(*profiles)
    return None if is_whole(profile) else profile


async def _over_what_runs(machine: Host, profiles: tuple[str, ...], pid: int | None) -> _Plans:
    from eagletui.cli.running_base import base_on, exact
    from eagletui.cli.shelf import all_profiles
    from eagletui.store.profiles.shelf import JOIN

    base, known = await base_on(machine, pid), all_profiles()
    parts = [part for names in profiles for part in names.split(JOIN)]
    return (
        exact(known.over(base.profile, *parts)),
        exact(known.over(base.shown, *parts), secrets=False),
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--env {text!r} is no NAME=VALUE.")
    return name, value
