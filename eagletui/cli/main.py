"""The root command. Sub-commands are imported only when they are called."""

from __future__ import annotations

import importlib

import click

from eagletui import __version__

# name → "module:attribute" of its click command; one row a command.
COMMANDS: dict[str, str] = {}


class LazyGroup(click.Group):
    """A group whose commands cost nothing until they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        where = COMMANDS.get(cmd_name)
        if where is None:
            return None
        module, _, attribute = where.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, invoke_without_command=True)
@click.version_option(__version__, prog_name="eagletui")
def main() -> None:
    """Watch and tune SGLang servers with speculative decoding, over SSH."""
