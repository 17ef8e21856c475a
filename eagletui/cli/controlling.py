"""What launch, stop and restart have in common: options, questions, and telling what happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from eagletui.cli.asking import somebody_is_there, typed, yes_or_no
from eagletui.cli.errors import INTERRUPTED
from eagletui.cli.options import Number, host_options, json_option, pid_option
from eagletui.cli.output import echo_json
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.events import Diagnosed, PhaseBegan, PhaseEnded
from eagletui.model.permission import Permission, permission
from eagletui.model.profile import Guard, StartPlan
from eagletui.model.references import mask_start, mask_start_environment
from eagletui.model.restart import Standing, account
from eagletui.model.text import visible

if TYPE_CHECKING:
    from eagletui.control.api import Progress, Running
    from eagletui.control.restart import Restart
    from eagletui.host.base import Host

_F = TypeVar("_F", bound=Callable[..., Any])


class NotPermitted(EagletuiError):
    """Nothing may be changed there, by the session, the host's settings or the profile's guard."""


class InTheWay(EagletuiError):
    """What was asked for cannot be done now."""


def control_options(command: _F) -> _F:
    """The host, which server, and how sure the person is."""
    for option in (
        json_option,
        click.option(
            "--settle",
            type=Number(0.0, 3600.0),
            default=60.0,
            show_default=True,
            help="Seconds a server that serves is watched before it counts as started.",
        ),
        click.option(
            "--break-lock", is_flag=True, help="Take the host's lock away from whoever has it."
        ),
        click.option("--yes", "-y", is_flag=True, help="Ask nothing."),
        pid_option("The server that is meant, where there are several."),
        click.option("--read-only", is_flag=True, help="Refuse: nothing is changed."),
    ):
        command = option(command)
    return host_options(command)


def permitted(
    ctx: click.Context, host: str | None, *, read_only: bool, guard: Guard | None = None
) -> Permission:
    """What has to be said before this host is changed.

    Args:
        host: as it was given; None is this machine.
        read_only: whether the command itself was given `--read-only`.

    Raises:
        NotPermitted: nothing may be changed there.
        ConfigError: `config.toml` cannot be read, and so does not say.
    """
    from eagletui.tui.config import load_settings

    name = host or "localhost"
    settings = load_settings().host(name)
    found = permission(
        name,
        session_read_only=read_only or bool(ctx.find_root().params.get("read_only")),
        host_read_only=settings.read_only,
        host_protected=settings.protected,
        guard=guard,
    )
    if found.refusal:
        raise NotPermitted(found.refusal, advice=found.advice)
    return found


async def running_servers(host: Host) -> dict[int, Running]:
    """The servers on the host by pid, workers' parents only."""
    from eagletui.control.api import Running
    from eagletui.engine.command import parse_command
    from eagletui.host.processes import find_servers

    found = await find_servers(host)
    return {
        raw.pid: Running.of(raw, parse_command(raw.argv).port, found.servers)
        for raw in found.servers
    }


def chosen_server(
    servers: Mapping[int, Running], *, pid: int | None, port: int | None
) -> Running | None:
    """The server that is meant: by id, by port, or the only one.

    Raises:
        UsageError: there is no such process, or there are several to choose from.
    """
    if pid is not None:
        if pid not in servers:
            raise UsageError(f"No SGLang server has pid {pid}.", advice=listed(servers))
        return servers[pid]
    fitting = [s for s in servers.values() if port is None or s.port == port]
    if len(fitting) > 1:
        raise UsageError(
            f"{len(fitting)} servers could be meant.",
            advice=f"Choose one with --pid: {listed(servers)}",
        )
    return fitting[0] if fitting else None


def listed(servers: Mapping[int, Running]) -> str:
    rows = (f"{server.pid} on :{server.port}" for server in servers.values())
    return "Running: " + (", ".join(rows) or "none") + "."


def plan_lines(
    plan: StartPlan | None, old: Running | None, *, guard: Guard, again: bool = False
) -> list[str]:
    """What will happen, for the person; secrets are masked."""
    lines = []
    if old is not None:
        lines.append(f"stop     pid {old.pid} on :{old.port}: {_shown(old.argv)}")
    if again:
        lines.append("start    the same command, environment and folder again")
    elif plan is not None:
        lines.append(f"start    {_shown(plan.argv)}")
        lines += [
            f"         {name}={value}"
            for name, value in mask_start_environment(plan.environment).items()
        ]
        if plan.workdir:
            lines.append(f"in       {plan.workdir}")
        if plan.log:
            lines.append(f"log      {plan.log}")
    if old is not None:
        lines.append(
            f"requests in flight may finish for {guard.drain_seconds:g} s, then they are aborted"
        )
    return [visible(line) for line in lines]


def _shown(argv: Sequence[str]) -> str:
    import shlex

    return shlex.join(mask_start(argv))


async def confirm(
    lines: Sequence[str], *, yes: bool, needs: Permission, problem: Diagnosis | None = None
) -> None:
    """Ask once, unless the person was sure already; a protected host wants its name all the same.

    Args:
        problem: what stands in the way; nobody is asked for what cannot be done.

    Raises:
        click.Abort: the terminal is at its end.
        InTheWay: there is a problem, and somebody would be asked.
        UsageError: nobody is there to be asked, or the answer was no.
    """
    for line in lines:
        click.echo(line, err=True)
    if yes and not needs.name:
        return
    if problem is not None:
        raise InTheWay(problem.title, meaning="Nothing was changed.", advice=problem.advice)
    if not somebody_is_there():
        what = f"{needs.name} is protected" if needs.name else "This needs a yes"
        raise UsageError(
            f"{what}, and nobody is there to be asked.",
            advice="Run it on a terminal." if needs.name else "Say --yes.",
        )
    if needs.name:
        name = await typed(f"{needs.name} is protected; type its name")
        sure = name.strip() == needs.name
    else:
        sure = await yes_or_no("Do it?", default=False)
    if not sure:
        raise UsageError("Nothing was changed.")


async def narrate(restart: Restart, *, yes: bool, wait: bool = True) -> Standing:
    """Drive a restart, telling on standard error what happens; ends when it does.

    Args:
        wait: False leaves once the server was started and loads: nobody watches it then, the
            host's lock is free, and any eagletui goes on with it.
    """
    narrator = _Narrator()
    try:
        async with contextlib.aclosing(restart.progress()) as stream:
            async for progress in stream:
                narrator.hear(progress)
                if progress.standing.state == "asking" and not narrator.asked:
                    narrator.asked = True
                    restart.answer(await _put_back(progress.standing, restart.launch, yes))
                if not wait and progress.standing.state == "loading":
                    break
    except (asyncio.CancelledError, click.Abort, UsageError):  # Ctrl-C, or nobody to be asked
        with contextlib.suppress(EagletuiError):
            await (restart.leave() if restart.standing.state == "asking" else restart.withdraw())
        raise
    if not restart.standing.final:
        with contextlib.suppress(EagletuiError):  # then its lock goes stale by itself
            await restart.leave()
    return restart.standing


async def _put_back(standing: Standing, launch: str, yes: bool) -> bool:
    why = standing.problem.title if standing.problem is not None else "It was cancelled."
    _say(visible(why))
    if yes:
        return True
    if not somebody_is_there():
        raise UsageError(
            "Whether what ran before is put back has to be asked, and nobody is there.",
            meaning="Nothing more was done.",
            advice=f"--resume {launch} --yes puts it back; on a terminal it asks.",
        )
    return await yes_or_no("Put back what ran before?", default=True)


def _say(line: str) -> None:
    """A line for whoever listens; that nobody does any more stops no restart half-way."""
    try:
        click.echo(line, err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


_SECONDS = re.compile(r"\b\d+ s\b")


class _Narrator:
    """Says what happens, each thing once: not every second of a count-down, nor for every rank."""

    def __init__(self) -> None:
        self._last: tuple[object, ...] = ()
        self._phases: set[tuple[object, ...]] = set()
        self.asked = False

    def hear(self, progress: Progress) -> None:
        """Say what is new in it."""
        standing, event = progress.standing, progress.event
        clock = time.strftime("%H:%M:%S", time.localtime(progress.at))
        if isinstance(event, (PhaseBegan, PhaseEnded)):
            self._phase(clock, standing.rolling_back, event)
        elif isinstance(event, Diagnosed):
            _say(f"{clock}   {visible(event.diagnosis.title)}")
        elif event is None:
            detail = _SECONDS.sub("", progress.detail)
            now = (standing.state, standing.rolling_back, detail)
            if now != self._last:
                line = visible(progress.detail) if progress.detail else standing.title
                _say(f"{clock} {'  ' if progress.detail else ''}{line}")
            self._last = now

    def _phase(self, clock: str, back: bool, event: PhaseBegan | PhaseEnded) -> None:
        line = f"{event.role} {event.name}".strip()
        if isinstance(event, PhaseEnded):
            if event.seconds is None:
                return
            line += f": {event.seconds:.1f} s"
        key = (back, type(event), event.role, event.name)
        if key not in self._phases:
            self._phases.add(key)
            _say(f"{clock}   {line}")


def run_attended(work: Callable[[], Any], *, restart: Callable[[], Restart | None]) -> Any:
    """Run a command's asynchronous part; Ctrl-C leaves the host as it is and says so."""
    try:
        return asyncio.run(work())
    except (KeyboardInterrupt, click.Abort):
        driven = restart()
        if driven is None or driven.standing.state == "checking":
            _say("Interrupted; nothing on the host was changed.")
        elif driven.standing.final:
            _say(f"Interrupted. {visible(account(driven.standing))}")
        else:
            _say(
                f"Detached while {driven.standing.title}. What runs on the host goes on.\n"
                f"  Go on with it: eagletui launch --resume {driven.launch} …"
            )
        raise SystemExit(INTERRUPTED) from None


def finish(restart: Restart, standing: Standing, *, as_json: bool, wait: bool = True) -> None:
    """Print the end, and leave with the status that says it."""
    left = not wait and standing.state == "loading"
    ok = left or standing.state in ("ready", "stopped")
    if as_json:
        echo_json({**restart_document(restart, standing), "unattended": left})
    elif left:
        click.echo(
            "Started; it loads, and nobody watches it: what ran before comes back only when "
            f"somebody goes on with it.\n  eagletui launch --resume {restart.launch} …, or U on "
            "the screen."
        )
    else:
        click.echo(visible(account(standing)))
        if standing.problem is not None and standing.problem.advice:
            click.echo(visible(standing.problem.advice), err=True)
    if not ok:
        raise SystemExit(1)


def restart_document(restart: Restart, standing: Standing) -> dict[str, Any]:
    """The contract of `launch --json`, `stop --json` and `restart --json`."""
    return {
        "launch": restart.launch,
        "state": standing.state,
        "ok": standing.state in ("ready", "stopped", "loading"),
        "account": account(standing),
        "rolled_back": standing.state == "rolled-back",
        "problem": _problem(standing.problem),
        "second_problem": _problem(standing.second),
        "pid": restart.pid,
        "log": restart.log or None,
        "phases": restart.phases,
        "seconds": restart.seconds,
    }


def _problem(diagnosis: Diagnosis | None) -> dict[str, Any] | None:
    if diagnosis is None:
        return None
    return {
        "code": diagnosis.code,
        "title": diagnosis.title,
        "evidence": diagnosis.evidence,
        "advice": diagnosis.advice,
    }
