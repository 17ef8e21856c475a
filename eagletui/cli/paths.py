"""`eagletui paths`: where files live."""

from __future__ import annotations

import click

from eagletui.cli.options import json_option
from eagletui.cli.output import echo_json
from eagletui.store.places import PLACES


@click.command()
@json_option
def paths(as_json: bool) -> None:
    """Print the folders and files the program uses, and whether they are there."""
    rows = {name: place() for name, place in PLACES.items()}
    if as_json:
        echo_json(
            {name: {"path": str(path), "exists": path.exists()} for name, path in rows.items()}
        )
        return
    width = max(map(len, rows))
    for name, path in rows.items():
        click.echo(f"{name:<{width}}  {path}{'' if path.exists() else '  (not there yet)'}")
