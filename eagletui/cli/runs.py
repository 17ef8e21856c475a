"""`eagletui runs`: what was measured and kept."""

from __future__ import annotations

from pathlib import Path

import click

from eagletui.cli.asking import somebody_is_there
from eagletui.cli.options import json_option
from eagletui.cli.output import echo_json
from eagletui.cli.run_store import open_runs
from eagletui.cli.run_words import list_document, list_lines, show_document, show_lines
from eagletui.model.errors import UsageError
from eagletui.model.text import counted, visible


@click.group()
def runs() -> None:
    """List, show, tag, remove, export and import runs.

    A run is one measurement of one launch. RUN is its id, the beginning of it, or its name. Every
    command has --json.
    """


@runs.command("list")
@click.option("--tag", metavar="TAG", help="Only runs with this tag.")
@click.option("--sessions", is_flag=True, help="The servers that were watched as well.")
@json_option
def list_(tag: str | None, sessions: bool, as_json: bool) -> None:
    """List every run, the newest first."""
    from eagletui.cli.run_shelf import kept_sessions

    with open_runs() as (database, kept):
        rows = [row for row in kept.rows() if tag is None or tag in row.tags]
        saved = kept.comparisons()
        watched = kept_sessions(database) if sessions else None
    if as_json:
        echo_json(list_document(rows, saved, watched))
        return
    for line in list_lines(rows, saved, watched):
        click.echo(visible(line))


@runs.command()
@click.argument("run", metavar="RUN")
@json_option
def show(run: str, as_json: bool) -> None:
    """Show a run: what was asked, of what, and its figures."""
    with open_runs() as (_, kept):
        found = kept.find(run)
    if as_json:
        echo_json(show_document(found))
        return
    for line in show_lines(found):
        click.echo(visible(line))


@runs.command()
@click.argument("run", metavar="RUN")
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--remove", metavar="TAG", multiple=True, help="Take a tag off (may repeat).")
@json_option
def tag(run: str, tags: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Put tags on a run, or take them off."""
    if not tags and not remove:
        raise UsageError("No tag was given.", advice="Name one, or one to --remove.")
    with open_runs() as (_, kept):
        found = kept.id(run)
        now = kept.tag(found, tags, remove)
    if as_json:
        echo_json({"id": found, "tags": now})
    else:
        click.echo(visible(f"{found}: {', '.join(now) or 'no tags'}"))


@runs.command()
@click.argument("run", metavar="RUN")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--name", metavar="NAME", help="Call the run so.")
@json_option
def note(run: str, text: str | None, name: str | None, as_json: bool) -> None:
    """Write notes on a run, in the place of earlier ones; "" takes them away."""
    if text is None and name is None:
        raise UsageError("No text was given.", advice="Write it behind the run, or a --name.")
    with open_runs() as (_, kept):
        found = kept.id(run)
        if text is not None:
            kept.note(found, text)
        if name is not None:
            kept.rename(found, name)
        now = kept.get(found)
    if as_json:
        echo_json({"id": found, "name": now.name, "notes": now.notes})
    else:
        click.echo(visible(f"{found} {now.name}: {now.notes}".rstrip()))


@runs.command()
@click.argument("words", metavar="RUN...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def rm(words: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Remove runs for good."""
    with open_runs() as (_, kept):
        found = {kept.id(word): None for word in words}
        rows = {row.id: row for row in kept.rows()}
        if not yes:
            if not somebody_is_there():
                raise UsageError(
                    "Removing runs has to be confirmed, and nobody is there to ask.",
                    advice="Say --yes.",
                )
            for run in found:
                click.echo(visible(f"  {run}  {rows[run].name}"), err=True)
            if not click.confirm(f"Remove {len(found)} for good?", err=True):
                raise click.Abort
        for run in found:
            kept.remove(run)
    if as_json:
        echo_json({"removed": list(found)})
    else:
        for run in found:
            click.echo(visible(f"removed {run} {rows[run].name}".rstrip()))


@runs.command()
@click.argument("words", metavar="[RUN]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Export every run.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write this file instead of standard output; it must not be there yet.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def export(
    words: tuple[str, ...], everything: bool, output: Path | None, force: bool, as_json: bool
) -> None:
    """Write runs with all their requests and series as JSON, one document a line.

    Another eagletui imports it. With --json and a file it says what was written.
    """
    from eagletui.cli.run_export import write_export
    from eagletui.store.runs.exported import Exported, export_lines
    from eagletui.store.runs.series import SeriesStore

    if bool(words) == everything:
        raise UsageError("Which runs?", advice="Name them, or say --all.")
    with open_runs() as (database, kept):
        found = [row.id for row in kept.rows()] if everything else [kept.id(w) for w in words]
        found = list(dict.fromkeys(found))
        series = SeriesStore(database)
        lines = export_lines(
            Exported(run=kept.get(run), series=series.windows(run)) for run in found
        )
        if output is None:
            for line in lines:
                click.echo(line, nl=False)
            return
        write_export(output, lines, force=force)
    if as_json:
        echo_json({"path": str(output), "runs": found})
    else:
        click.echo(visible(f"{output}: {counted(len(found), 'run')}"))


@runs.command("import")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--name", metavar="NAME", help="Call the run so, where a file holds one.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Put it on all (may repeat).")
@json_option
def import_(
    files: tuple[Path, ...], name: str | None, tags: tuple[str, ...], as_json: bool
) -> None:
    """Keep runs of files: eagletui's export, bench_serving's JSONL, /generate replies.

    A run that is kept already is refused; of a file all runs are kept or none.
    """
    from eagletui.cli.run_import import import_file

    with open_runs() as (database, _):
        kept = [run for file in files for run in import_file(database, file, name, tags)]
    if as_json:
        echo_json({"imported": [{"id": run.id, "name": run.name} for run in kept]})
    else:
        for run in kept:
            click.echo(visible(f"{run.id} {run.name}"))
