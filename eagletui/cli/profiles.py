"""`eagletui profiles`: what servers are started with."""

from __future__ import annotations

import click

from eagletui.cli.options import host_options, json_option, pid_option
from eagletui.cli.output import echo_json
from eagletui.cli.profile_words import (
    clear_secrets,
    difference_document,
    difference_lines,
    list_document,
    list_lines,
    profile_document,
    profile_lines,
)
from eagletui.cli.shelf import all_profiles
from eagletui.model.errors import UsageError
from eagletui.model.text import visible
from eagletui.store.places import shipped_profiles_folder
from eagletui.store.profiles.shelf import JOIN

set_option = click.option(
    "--set",
    "sets",
    metavar="KEY=VALUE",
    multiple=True,
    help="server.port=30001, server.flags.tp-size=8, environment.NCCL_ALGO=Ring, … (may repeat).",
)


@click.group()
def profiles() -> None:
    """List, show, compare, write and import profiles.

    A profile is what a server is started with: flags, speculative settings and environment, in one
    TOML file. A+B is profile A with B laid over it. Every command has --json.
    """


@profiles.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List every profile: yours, and those that ship."""
    shelf = all_profiles().shelf()
    if as_json:
        echo_json(list_document(shelf))
        return
    for line in list_lines(shelf):
        click.echo(visible(line))
    for problem in shelf.problems:
        for line in str(problem).splitlines():
            click.echo(visible(line), err=True)


@profiles.command()
@click.argument("profile", metavar="PROFILE")
@json_option
def show(profile: str, as_json: bool) -> None:
    """Show a profile with all it inherits, and the command that comes of it."""
    known = all_profiles()
    loaded = known.load(profile)
    # Of several laid over each other no single file says what is taken away.
    file = known.file(profile) if JOIN not in profile else None
    if as_json:
        echo_json(profile_document(loaded, file))
        return
    for line in profile_lines(loaded, file):
        click.echo(visible(line))
    for where in clear_secrets(loaded):
        click.echo(
            visible(
                f"{where} stands in the file in clear text; write `$env:NAME` and export NAME "
                "where eagletui is started."
            ),
            err=True,
        )


@profiles.command()
@click.argument("before", metavar="PROFILE")
@click.argument("after", metavar="[OTHER]", required=False)
@host_options
@pid_option("The running server where there are several.")
@json_option
def diff(
    before: str,
    after: str | None,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    pid: int | None,
    as_json: bool,
) -> None:
    """Show what exactly changes from one profile to another.

    With --host or --local and one profile: from the server that is running to that profile.
    """
    from datetime import datetime

    from eagletui.engine.start_plan import start_plan

    known, now = all_profiles(), datetime.now().astimezone()
    if (after is None) == (not host and not local):
        raise UsageError(
            "Two things are compared.",
            advice="Name two profiles, or one and a host with --host NAME or --local.",
        )
    if after is None:
        from eagletui.cli.profile_import import running_server

        old = running_server(host, local, ssh_config, pid, name="running").profile
        new = known.load(before)
    else:
        old, new = known.load(before), known.load(after)
    # The same moment in both paths: the time in a log's name is no difference.
    old_plan, new_plan = start_plan(old, now=now), start_plan(new, now=now)
    if as_json:
        echo_json(difference_document(old_plan, new_plan))
        return
    for line in difference_lines(old_plan, new_plan):
        click.echo(visible(line))


@profiles.command()
@click.argument("name", metavar="NAME")
@click.option("--extends", metavar="PROFILE", default="", help="The profile below everything.")
@click.option("--include", metavar="PART", multiple=True, help="Laid over that (may repeat).")
@set_option
@click.option("--edit", "edit_it", is_flag=True, help="Open it in $VISUAL or $EDITOR.")
@json_option
def new(
    name: str,
    extends: str,
    include: tuple[str, ...],
    sets: tuple[str, ...],
    edit_it: bool,
    as_json: bool,
) -> None:
    """Write a new profile, to be filled in."""
    from eagletui.cli.profile_edit import create

    path = create(all_profiles(), name, extends=extends, include=include, sets=sets, edit=edit_it)
    _say_written(name, str(path), as_json=as_json)


@profiles.command()
@click.argument("name", metavar="NAME")
@set_option
@click.option(
    "--remove", metavar="KEY", multiple=True, help="Take a key out of the file (may repeat)."
)
@json_option
def edit(name: str, sets: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Open a profile in $VISUAL or $EDITOR, or change keys with --set and --remove.

    What does not hold together is not saved. One that ships is copied to your folder first.
    """
    from eagletui.cli.profile_edit import change

    path = change(all_profiles(), name, sets=sets, removes=remove)
    _say_written(name, str(path), as_json=as_json)


@profiles.command("import")
@click.argument("name", metavar="[NAME]", required=False)
@host_options
@pid_option("The server to import where there are several.")
@click.option("--force", is_flag=True, help="Write over a profile of that name.")
@click.option("--dry-run", is_flag=True, help="Print the file instead of writing it.")
@json_option
def import_(
    name: str | None,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    pid: int | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write the profile of a running server: launching it gives the same command line.

    Secrets are not written. A variable takes their place, `$env:NAME`, which has to be exported
    where eagletui is started.
    """
    from eagletui.cli.profile_import import (
        import_document,
        import_lines,
        imported_text,
        running_server,
        write_import,
    )

    imported = running_server(host, local, ssh_config, pid, name=name)
    path = None if dry_run else write_import(imported, force=force)
    if as_json:
        echo_json(import_document(imported, path))
        return
    if dry_run:
        click.echo(imported_text(imported), nl=False)
    else:
        click.echo(visible(f"{imported.profile.name}: {path}"))
    for line in import_lines(imported):
        click.echo(visible(line), err=True)
    if (shipped_profiles_folder() / f"{imported.profile.name}.toml").exists():
        click.echo("It hides the profile of that name that ships with eagletui.", err=True)


def _say_written(name: str, path: str, *, as_json: bool) -> None:
    if as_json:
        echo_json({"name": name, "path": path})
    else:
        click.echo(visible(f"{name}: {path}"))
