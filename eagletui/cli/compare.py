"""`eagletui compare`: runs side by side."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import click

from eagletui.cli.options import json_option
from eagletui.cli.output import echo_json
from eagletui.cli.run_store import open_runs
from eagletui.model.compare import Comparison as Found
from eagletui.model.compare import compare as compared
from eagletui.model.compare import comparison_document, natural_baseline
from eagletui.model.errors import UsageError
from eagletui.model.gone import Gone, gone_words
from eagletui.model.near import nearest
from eagletui.model.run import Run
from eagletui.model.text import visible
from eagletui.store.runs.database import Database
from eagletui.store.runs.errors import RunNotFound, RunsDamaged
from eagletui.store.runs.runs import Comparison, Names, Runs

FORMATS = ("table", "json", "csv", "md", "html")


@click.command()
@click.argument("words", metavar="A B...", nargs=-1)
@click.option(
    "--baseline",
    metavar="RUN",
    help="Measure against this one; without it, against the first that does not speculate.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="md can be pasted into an issue; html is one file without scripts.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write this file instead of standard output; it must not be there yet.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--save", metavar="NAME", help="Keep this comparison; NAME alone shows it again.")
@click.option("--forget", metavar="NAME", help="Forget a saved comparison; its runs stay.")
@json_option
def compare(
    words: tuple[str, ...],
    baseline: str | None,
    form: str,
    output: Path | None,
    force: bool,
    save: str | None,
    forget: str | None,
    as_json: bool,
) -> None:
    """Put runs side by side: what differs, what is faster, what is a tie.

    A and B are runs (an id, the beginning of one, a name), a saved comparison, or files:
    eagletui's export, bench_serving's JSONL, /generate replies. A file's runs are not kept.
    """
    if forget is not None:
        _forget(forget, words, as_json=as_json)
        return
    if save is not None and not save.strip():
        raise UsageError("A comparison needs a name.", advice="Write it behind --save.")
    if not words:
        raise UsageError("Which runs?", advice="Name two, a saved comparison, or files.")
    with open_runs() as (database, kept):
        runs, against, gone = _chosen(kept, words, baseline)
        if save is not None:
            _save(kept, save, runs, against)
        found = compared(runs, against)._replace(gone=gone)
        form = "json" if as_json else form
        if form == "json" and output is None:
            echo_json(comparison_document(found))
            return
        text = report_text(form, found, database)
    if gone and form == "csv":  # every other form says so itself
        click.echo(visible(gone_words(gone)), err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    from eagletui.cli.run_export import write_export

    write_export(output, [text.encode()], force=force)
    click.echo(visible(str(output)), err=True)


def report_text(form: str, found: Found, database: Database) -> str:
    """A comparison in one of `FORMATS`."""
    from eagletui.store.reports.text import csv_text, markdown_lines, table_lines

    if form == "csv":
        return csv_text(found)
    if form == "html":
        from eagletui.store.reports.page import DRAWN, page
        from eagletui.store.runs.series import SeriesStore

        ids = [side.run.id for side in found.sides]
        return page(found, SeriesStore(database).overviews(ids, DRAWN))
    if form == "json":
        import msgspec

        document = msgspec.json.encode(comparison_document(found))
        return msgspec.json.format(document, indent=2).decode() + "\n"
    lines = markdown_lines(found) if form == "md" else map(visible, table_lines(found))
    return "".join(f"{line}\n" for line in lines).lstrip("\n")


def forgetting(name: str) -> str:
    """How a saved comparison is taken away."""
    return f"`eagletui compare --forget {shlex.quote(visible(name))}` takes it away."


def nothing_left(gone: Sequence[Gone], name: str = "") -> RunNotFound:
    """That none of a comparison's runs is kept any more; `name` where it was saved."""
    return RunNotFound(
        "Nothing is left of this comparison.",
        meaning=gone_words(gone),
        advice=forgetting(name) if name else "`eagletui runs list` shows what is kept.",
    )


def _chosen(
    kept: Runs, words: Sequence[str], baseline: str | None
) -> tuple[list[Run], str | None, tuple[Gone, ...]]:
    """The runs that are meant, each once, the id of the baseline where one is named, and those of a
    saved comparison that were removed since."""
    called = kept.names()
    gone: tuple[Gone, ...] = ()
    saved = kept.comparison(words[0]) if len(words) == 1 else None
    if saved is not None and not _is_run(called, words[0]):
        if not saved.runs:
            raise RunsDamaged(
                f"Comparison {saved.name} can't be read.",
                meaning="Its row is damaged; the runs are not.",
                advice=f"Name the runs; {forgetting(saved.name)}",
            )
        gone = kept.gone(saved.runs, saved.baseline)
        lost = {one.id for one in gone}
        if lost >= set(saved.runs):
            raise nothing_left(gone, saved.name)
        words = [run for run in saved.runs if run not in lost]
        if baseline is None and saved.baseline not in lost:
            baseline = saved.baseline
    runs: dict[str, Run] = {}
    named: dict[str, list[str]] = {}
    for word in words:
        found = _meant(kept, called, word)
        named[word] = [run.id for run in found]
        runs.update((run.id, run) for run in found)
    against = None
    if baseline is not None:
        ids = named.get(baseline)
        old = _meant(kept, called, baseline) if ids is None else tuple(runs[id_] for id_ in ids)
        if len(old) != 1:
            raise UsageError(f"{baseline} holds {len(old)} runs, and a baseline is one.")
        runs = {old[0].id: old[0], **runs} if old[0].id not in runs else runs
        against = old[0].id
    if len(runs) < 2 and not gone:
        raise UsageError(
            "A comparison is of two runs or more.",
            advice="Name another one; `eagletui runs list` shows them all.",
        )
    return list(runs.values()), against, gone


def _is_run(called: Names, word: str) -> bool:
    try:
        called.meant(word)
    except RunNotFound:
        return False
    return True


def _meant(kept: Runs, called: Names, word: str) -> tuple[Run, ...]:
    """A run of the database, or those of a file of that name."""
    try:
        return (kept.get(called.meant(word)),)
    except RunNotFound:
        path = Path(word)
        # `os.path` calls a name that no file can have absent; `Path` fails.
        if not (os.path.isfile(path) or os.path.islink(path)):
            raise
    from eagletui.cli.run_files import read_runs

    return tuple(one.run for one in read_runs(path))


def _save(kept: Runs, name: str, runs: Sequence[Run], baseline: str | None) -> None:
    known = kept.names()
    strange = [run.name or run.id for run in runs if run.id not in known]
    if strange:
        raise UsageError(
            f"These runs are not kept: {', '.join(strange)}.",
            advice="Keep them with `eagletui runs import FILE` first.",
        )
    kept.save_comparison(
        Comparison(
            name=name,
            saved=time.time(),
            runs=tuple(run.id for run in runs),
            baseline=baseline or natural_baseline(runs).id,
        )
    )


def _forget(name: str, words: Sequence[str], *, as_json: bool) -> None:
    if words:
        raise UsageError(
            "--forget compares nothing.", advice="Leave the runs out, or leave --forget out."
        )
    with open_runs() as (_, kept):
        if not kept.remove_comparison(name):
            near = nearest(name, [one.name for one in kept.comparisons()], cutoff=0.6)
            raise RunNotFound(
                f"No comparison is called {name}.",
                advice=f"Did you mean {near}?" if near else "`eagletui runs list` shows them all.",
            )
    if as_json:
        echo_json({"forgotten": name})
    else:
        click.echo(visible(f"forgot {name}; its runs are kept"))
