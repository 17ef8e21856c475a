"""The root command. Sub-commands are imported only when they are called."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from eagletui import __version__
from eagletui.cli.errors import SpokenError
from eagletui.cli.options import Number, host_options, record_option, watch_options
from eagletui.cli.quiet import quiet_libraries
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.text import is_text, visible

# name → "module:attribute" of its click command and its one line of help; one row a command.
COMMANDS: dict[str, tuple[str, str]] = {
    "bench": ("eagletui.cli.bench:bench", "Measure what is running."),
    "check": ("eagletui.cli.check:check", "Check a profile or command before it starts."),
    "compare": ("eagletui.cli.compare:compare", "Put runs side by side."),
    "completion": ("eagletui.cli.completion:completion", "Print a completion script for a shell."),
    "demo": ("eagletui.cli.demo:demo", "Show the live screen on a simulated host."),
    "doctor": ("eagletui.cli.doctor:doctor", "Check this machine, a host and its servers."),
    "launch": ("eagletui.cli.launch:launch", "Start a server in the place of the one that runs."),
    "log": ("eagletui.cli.log:log", "Explain a saved server log."),
    "metrics": ("eagletui.cli.metrics:metrics", "Explain a saved or live /metrics page."),
    "paths": ("eagletui.cli.paths:paths", "Print the folders and files the program uses."),
    "profiles": (
        "eagletui.cli.profiles:profiles",
        "List, show, compare, write and import profiles.",
    ),
    "record": ("eagletui.cli.record:record", "Keep a session in a file, to replay it."),
    "replay": ("eagletui.cli.replay:replay", "Show a recorded session on the live screens."),
    "restart": ("eagletui.cli.stop:restart", "Start a server again as it is."),
    "runs": ("eagletui.cli.runs:runs", "List, show, tag, remove, export and import runs."),
    "status": ("eagletui.cli.status:status", "Look once at a host and its servers."),
    "stop": ("eagletui.cli.stop:stop", "End a server and wait until its GPUs are free."),
}


class LazyGroup(click.Group):
    """A group whose commands cost nothing until they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in alphabetical order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        module, _, attribute = row[0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what is no text, before anything is measured for it; a file may be called so."""
        for arg in args:
            if not is_text(arg) and not any(map(os.path.exists, (arg, arg.partition("=")[2]))):
                refused = UsageError(
                    f"{visible(arg)} is no text in {sys.getfilesystemencoding().upper()}.",
                    advice="Type it in a terminal that writes UTF-8; a file that is called so has "
                    "to be there.",
                )
                raise SpokenError(refused)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run, turning our own errors into words and an exit status."""
        try:
            return super().invoke(ctx)
        except EagletuiError as error:
            raise SpokenError(error) from error


@click.group(cls=LazyGroup, invoke_without_command=True)
@click.version_option(__version__, prog_name="eagletui")
@host_options
@watch_options
@click.option("--interval", type=Number(0.2, 30.0), help="Seconds between scrapes.")
@click.option("--theme", metavar="NAME", help="The theme to start with.")
@record_option
@click.option("--read-only", is_flag=True, help="Refuse everything that would change the host.")
@click.pass_context
def main(
    ctx: click.Context,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    log_path: str | None,
    metrics_url: str | None,
    pid: int | None,
    api_key_env: str | None,
    interval: float | None,
    theme: str | None,
    record_to: str | None,
    read_only: bool,
) -> None:
    """Watch and tune SGLang servers with speculative decoding, over SSH.

    With --host or --local the live screen opens; `eagletui demo` shows it on a simulated host.
    """
    quiet_libraries()
    if ctx.invoked_subcommand is not None:
        return
    if not host and not local:
        click.echo(ctx.get_help())
        ctx.exit(2)
    from eagletui.cli.options import chosen_target
    from eagletui.cli.screen import ScreenOptions, open_screen

    open_screen(
        chosen_target(host, local),
        ScreenOptions(
            ssh_config=ssh_config,
            log=log_path or "",
            metrics=metrics_url or "",
            pid=pid,
            api_key_env=api_key_env,
            interval=interval,
            theme=theme,
            read_only=read_only,
            record=record_to or "",
        ),
    )
