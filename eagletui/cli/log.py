"""`eagletui log`: explain a saved server log."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import click

from eagletui.cli.options import json_option
from eagletui.cli.output import echo_json
from eagletui.cli.packed import saved
from eagletui.engine import nolog
from eagletui.engine.summary import Column, LogSummary, summarise
from eagletui.model.phases import Rung
from eagletui.model.text import counted, visible


@click.command()
@click.argument("file", metavar="FILE|-")
@json_option
def log(file: str, as_json: bool) -> None:
    """Explain a saved server log: phases and their times, decoding, what went wrong.

    FILE may be packed (gz, xz, bz2); - reads standard input.
    """
    summary = read_log(file)
    if as_json:
        echo_json(summary.document())
        return
    for line in summary_lines(summary, name=file):
        click.echo(line)


def read_log(file: str) -> LogSummary:
    """Sum up a file or standard input.

    Raises:
        EagletuiError: it cannot be read, or is no log.
    """
    # Blocks make thousands of short-lived tuples and no cycles.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with saved(file) as blocks:
            return summarise(checked(blocks, visible(file) if file != "-" else "standard input"))
    finally:
        if collecting:
            gc.enable()


def checked(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The same blocks, after a look at the first that holds anything."""
    holes = False
    first = b""
    for block in blocks:
        # A log cut short under a server that goes on writing at its old place begins with a hole.
        first = block.lstrip(b"\0")
        if first:
            break
        holes = True
    if not first and not holes:
        raise nolog.empty(name)
    if not first or nolog.looks_binary(first):
        raise nolog.binary(
            name, "Give the file that the server's output goes to; gz, xz and bz2 are unpacked."
        )
    yield first
    yield from blocks


# --- for a person --------------------------------------------------------------------------------


def summary_lines(summary: LogSummary, *, name: str) -> Iterator[str]:
    """The account as text."""
    name = visible(name)
    if not summary.known:
        yield f"{name}: {counted(summary.lines, 'line')}, none of which SGLang writes."
        yield "  No launch, batch or failure was recognised; is it another program's log?"
        return
    version = f"SGLang {summary.version}" if summary.version else "SGLang, release unknown"
    yield f"{name}: {version}, {summary.speculative.short}"
    if summary.launches > 1:
        yield f"  {summary.launches} launches in this file; this is the last."
    model = summary.server_args.get("model_path")
    if model:
        yield f"  model {visible(str(model))}"
    yield f"  {_reached(summary)}"
    if any(rung.status != "pending" for rung in summary.phases):
        yield ""
        yield "  phase                    seconds   count"
        yield from (_phase_line(rung) for rung in summary.phases if rung.name != "ready")
    decode = summary.decode
    if decode.samples:
        yield ""
        yield f"  {decode.samples} decode lines, at most {decode.running_max} running"
        if decode.accept_length is not None:
            yield f"  accept length   {_column(decode.accept_length)}"
        if decode.gen_throughput is not None:
            yield f"  tok/s           {_column(decode.gen_throughput)}"
    for verdict in summary.diagnosis:
        yield ""
        yield f"  {verdict.severity}: {verdict.title} [{verdict.code}]"
        if verdict.evidence:
            where = f"line {verdict.line}: " if verdict.line is not None else ""
            yield f"    {where}{verdict.evidence[:300]}"
        if verdict.advice:
            yield f"    {verdict.advice}"


def _reached(summary: LogSummary) -> str:
    if summary.ready:
        after = summary.ready_after_s
        return "ready" + (f" after {after:.0f} s" if after is not None else "")
    if summary.phase:
        return f"not ready; the last phase was {summary.phase}"
    return "not ready" if summary.launches else "the start is not in this log"


def _phase_line(rung: Rung) -> str:
    seconds = f"{rung.seconds:.2f}" if rung.seconds is not None else "–"
    count = f"{rung.done}/{rung.total}" if rung.total else ""
    mark = {"failed": "  failed here", "running": "  not finished", "pending": "  not reached"}
    return f"  {rung.title:<22} {seconds:>9}   {count:<9}{mark.get(rung.status, '')}".rstrip()


def _column(column: Column) -> str:
    return (
        f"mean {column.mean:.2f}   min {column.min:.2f}   max {column.max:.2f}"
        f"   last {column.last:.2f}"
    )
