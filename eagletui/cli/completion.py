"""`eagletui completion SHELL`: a script that completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from eagletui.cli.options import json_option
from eagletui.cli.output import echo_json

SHELLS = {
    "bash": 'eval "$(eagletui completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(eagletui completion zsh)" in ~/.zshrc',
    "fish": "eagletui completion fish > ~/.config/fish/completions/eagletui.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print a completion script for SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "eagletui", "_EAGLETUI_COMPLETE").source()
    if as_json:
        echo_json({"shell": shell, "install": SHELLS[shell], "script": script})
    else:
        click.echo(script)
