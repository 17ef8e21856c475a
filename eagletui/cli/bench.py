"""`eagletui bench`: measure what is running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from eagletui.cli.errors import INTERRUPTED
from eagletui.cli.options import (
    Number,
    Whole,
    Wholes,
    api_key_from,
    host_options,
    json_option,
    pid_option,
)
from eagletui.cli.output import echo_json
from eagletui.model.benchmarking import MOST_CONCURRENT
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.refused import unwritable, unwritten
from eagletui.model.text import visible

MOST_SEED = 2**62
"""It is kept with the run, as JSON of whole numbers of 64 bits."""
ENDPOINTS = ("/v1/chat/completions", "/v1/completions", "/generate")


@click.command()
@host_options
@click.option(
    "--url", metavar="URL", help="The server's address as seen from the host, overrides discovery."
)
@pid_option("The server to measure where there are several.")
@click.option(
    "--api-key-env", metavar="NAME", help="The environment variable that holds the API key."
)
@click.option(
    "--concurrency",
    "concurrencies",
    type=Wholes(1, MOST_CONCURRENT),
    default="1",
    show_default=True,
    metavar="LIST",
    help="Requests at once: a number, or cells such as 1,8,32.",
)
@click.option(
    "--prompts",
    default="chat",
    show_default=True,
    metavar="SET|FILE",
    help="chat, code, maths or summary; or a file: JSONL, ShareGPT, one prompt a line.",
)
@click.option(
    "--output-tokens", type=Whole(2, 1 << 20), default=256, show_default=True,
    help="Of each request, exactly: the end-of-text token is ignored.",
)  # fmt: skip
@click.option(
    "--input-tokens",
    type=Whole(1, 1 << 24),
    help="Cut or repeat each prompt to exactly so many, by the server's tokenizer.",
)
@click.option(
    "--requests",
    type=Whole(1, 1 << 20),
    help="Of each cell. Without it: 4 for each at once, 32 at least.",
)
@click.option("--repeats", type=Whole(1, 100), default=3, show_default=True,
              help="Of all cells, interleaved.")  # fmt: skip
@click.option(
    "--rate",
    type=Number(0.0, min_open=True),
    metavar="R",
    help="Begin R requests a second at random moments (Poisson), --concurrency at once at most. "
    "Without it each next request begins when one is over.",
)
@click.option("--temperature", type=Number(0.0, 2.0), default=0.0, show_default=True)
@click.option("--endpoint", type=click.Choice(ENDPOINTS), default=ENDPOINTS[0], show_default=True)
@click.option(
    "--on-host",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Send from the host's own Python; auto does where the round trip is over 2 ms.",
)
@click.option("--warmup", type=Whole(0, 100), default=1, show_default=True,
              help="Rounds thrown away before each concurrency's first cell.")  # fmt: skip
@click.option(
    "--seed",
    type=Whole(-MOST_SEED, MOST_SEED),
    default=1,
    show_default=True,
    help="Of --rate's moments.",
)
@click.option("--flush-cache", is_flag=True, help="Empty the prefix cache before each cell.")
@click.option(
    "--keep-going",
    is_flag=True,
    help="End nothing where output loops, the KV cache is full, others send: only say so.",
)
@click.option("--name", default="", metavar="N", help="Of the run.")
@click.option("--keep/--no-keep", default=True, show_default=True,
              help="Keep the run: `eagletui runs` lists it.")  # fmt: skip
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the run as JSON, after each cell; the file must not be there yet.",
)
@click.option("--force", is_flag=True, help="Write over a file of --out that is there.")
@click.option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.jsonl",
    help="Add a line a cell with bench_serving's field names.",
)
@json_option
@click.pass_context
def bench(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Measure what is running: tok/s, TTFT, TPOT, accept length, times of a step.

    Cells run in turn, each concurrency in each repeat. Ctrl-C keeps what was measured. The exit
    status is 1 where a cell ended early or a request failed, and 130 after Ctrl-C.
    """
    import msgspec

    from eagletui.bench.measure import CANCELLED
    from eagletui.cli.bench_out import OutFile
    from eagletui.cli.bench_words import Teller, notes, table
    from eagletui.cli.benching import Asked, measure

    asked = _asked(Asked, options)
    _check_writable(options["export"])
    out = OutFile(options["out"], force=options["force"]) if options["out"] else None
    teller = Teller(sys.stderr, live=sys.stderr.isatty())
    run, said, _ = asyncio.run(_attended(measure, asked, teller, out))
    teller.close()
    unwritten = _written(run, out)
    if as_json:
        echo_json(_document(run, said))
    elif unwritten is not None:
        click.echo(msgspec.json.encode(run).decode())
    else:
        for line in (*table(run), *notes(run, said)):
            click.echo(visible(line))
    unexported = _exported(run, options["export"]) if options["export"] else None
    if problem := unwritten or unexported:
        raise problem
    if CANCELLED in said:
        ctx.exit(INTERRUPTED)
    if run.partial or any(sent.error for cell in run.cells for sent in cell.requests):
        ctx.exit(1)


def _asked(kind: Any, options: dict[str, Any]) -> Any:
    host, local, url = options["host"], options["local"], options["url"]
    if host and local:
        raise UsageError("Both --host and --local were given.", advice="Choose one of them.")
    if not host and not local and not url:
        raise UsageError(
            "No host was given.",
            advice="Say --host NAME for a machine reached by SSH, --local for this one, or --url.",
        )
    key_name = options["api_key_env"]
    return kind(
        target=host,
        url=url or "",
        api_key=api_key_from(key_name) if key_name else None,
        **{
            name: options[name]
            for name in (
                "ssh_config", "pid", "concurrencies", "prompts", "output_tokens", "input_tokens",
                "requests", "repeats", "rate", "temperature", "endpoint", "on_host", "warmup",
                "seed", "flush_cache", "keep_going", "name", "keep",
            )
        },
    )  # fmt: skip


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def _attended(measure: Any, asked: Any, teller: Any, out: Any) -> Any:
    """Ctrl-C, or being told to end, cancels the measuring once it runs; before, or a second time,
    it ends the program."""
    loop = asyncio.get_running_loop()

    def let_go() -> None:
        for number in _ENDING:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)

    def started(measuring: Any) -> None:
        def interrupt() -> None:
            let_go()
            measuring.cancel()
            teller.say("Ending; what was measured is kept. Ctrl-C again drops it.")

        for number in _ENDING:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, interrupt)

    async def so_far(run: Any) -> None:
        if out is not None:
            await out.so_far(run, teller.say)

    try:
        return await measure(
            asked, told=teller.progress, said=teller.say, started=started, so_far=so_far
        )
    finally:
        let_go()


def _check_writable(path: Path | None) -> None:
    """Say that a file cannot be written before an hour is measured for it."""
    if path is None:
        return
    try:
        path.open("ab").close()
    except OSError as error:
        raise unwritable(path, error) from None


def _written(run: Any, out: Any) -> EagletuiError | None:
    """Write the file of --out; what kept it from being written."""
    try:
        if out is not None:
            out.write(run)
    except OSError as error:
        meaning = "The run stands on standard output instead, as JSON."
        return unwritten(out.name, error, meaning=meaning)
    return None


def _exported(run: Any, export: Path) -> EagletuiError | None:
    """Add its lines to a file, all or none of them; what kept them from it."""
    import msgspec

    from eagletui.bench.export import rows

    data = b"".join(msgspec.json.encode(row) + b"\n" for row in rows(run))
    try:
        with export.open("ab", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            try:
                _write_all(file, data)
            except OSError:
                with contextlib.suppress(OSError):
                    file.truncate(size)
                raise
    except OSError as error:
        return unwritten(export, error, meaning="It is as it was before.")
    return None


def _write_all(file: Any, data: bytes) -> None:
    """All of it: a disk that becomes full takes a part first."""
    while data:
        data = data[file.write(data) :]


def _document(run: Any, said: list[str]) -> dict[str, Any]:
    """`bench --json`: the run, its figures by concurrency and by cell."""
    import msgspec

    from eagletui.model.figures import cell_figures, figures_document, figures_of

    return {
        "run": msgspec.to_builtins(run),
        "figures": [figures_document(figures) for figures in figures_of(run)],
        "cells": [
            {
                "repeat": cell.repeat,
                **figures_document(cell_figures(run, cell)),
                "stopped": cell.stopped,
                "doubt": cell.doubt,
                "why": cell.why,
            }
            for cell in run.cells
        ],
        "notes": said,
    }
