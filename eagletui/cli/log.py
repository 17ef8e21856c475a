"""`eagletui log`: explain a saved server log."""

from __future__ import annotations

import bz2
import gc
import gzip
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click

from eagletui.cli.options import json_option
from eagletui.cli.output import echo_json
from eagletui.engine.summary import BLOCK, Column, LogSummary, summarise
from eagletui.model.errors import EagletuiError
from eagletui.model.phases import Rung
from eagletui.model.text import visible

# First bytes → how such a file is opened.
_PACKED: dict[bytes, Callable[[Path, str], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}
_MAGIC_BYTES = 6
# A log has some lines of text; this share of NUL bytes in its beginning has none.
_BINARY_NULS = 0.01


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
        if file == "-":
            return summarise(_checked(_blocks(sys.stdin.buffer), "standard input"))
        with _opened(Path(file)) as stream:
            return summarise(_checked(_blocks(stream), file))
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise EagletuiError(
            f"{file} is a damaged archive: {error}.",
            advice="Copy it again, or unpack what is left of it first.",
        ) from error
    except OSError as error:
        raise EagletuiError(
            f"{file} cannot be read: {error.strerror or error}.",
            advice="Check the path and that you may read it.",
        ) from error
    finally:
        if collecting:
            gc.enable()


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        magic = stream.read(_MAGIC_BYTES)
    for start, opener in _PACKED.items():
        if magic.startswith(start):
            packed: IO[bytes] = opener(path, "rb")
            return packed
    return path.open("rb", buffering=0)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(BLOCK):
        yield block


def _checked(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The same blocks, after a look at the first."""
    first = next(blocks, b"")
    if not first:
        raise EagletuiError(
            f"{name} is empty.",
            meaning="Nothing was logged: SGLang writes to standard error, which goes elsewhere "
            "when only standard output is redirected.",
            advice="Start the server with `> FILE 2>&1`, in this order.",
        )
    if first.count(0) > _BINARY_NULS * len(first):
        raise EagletuiError(
            f"{name} is a binary file, no log.",
            advice="Give the file that the server's output goes to; gz, xz and bz2 are unpacked.",
        )
    yield first
    yield from blocks


# --- for a person --------------------------------------------------------------------------------


def summary_lines(summary: LogSummary, *, name: str) -> Iterator[str]:
    """The account as text."""
    if not summary.known:
        yield f"{name}: {summary.lines} lines, none of which SGLang writes."
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
