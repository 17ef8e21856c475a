"""`eagletui record`: a session kept without a screen, or made of a saved log and scrapes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from eagletui.cli.asking import TerminalAsker
from eagletui.cli.options import (
    Number,
    chosen_target,
    host_options,
    json_option,
    watch_options,
)
from eagletui.cli.output import echo_json
from eagletui.cli.recording import LAST_WAIT, open_recorder, open_writer, size_words
from eagletui.host.within import within
from eagletui.model.errors import EagletuiError, HostError, UsageError
from eagletui.model.text import visible
from eagletui.store.recording.recorder import Recorder, ending_words
from eagletui.store.recording.writer import MEGABYTE, Limits, Writer

_WHOLE_DAY = 24 * 3600.0


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@host_options
@watch_options
@click.option("--interval", type=Number(0.2, 30.0), help="Seconds between scrapes.")
@click.option(
    "--for",
    "seconds",
    type=Number(min=0.0, min_open=True),
    default=_WHOLE_DAY,
    show_default=True,
    metavar="SECONDS",
    help="Stop after so long.",
)
@click.option(
    "--max-mb",
    type=Number(0.01, 1e6),
    default=256.0,
    show_default=True,
    metavar="N",
    help="Stop before the file is larger.",
)
@click.option("--from-log", metavar="LOG", help="No host: make it of this saved log (gz, xz, bz2).")
@click.option(
    "--from-metrics",
    metavar="SCRAPES",
    help="No host: make it of these scrapes, each after a line `### unix-time`.",
)
@click.option(
    "--utc-offset",
    type=Number(-18.0, 18.0),
    metavar="HOURS",
    help="How far the saved log's clock is ahead of UTC; found from the scrapes where not given.",
)
@json_option
def record(
    file: str,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    log_path: str | None,
    metrics_url: str | None,
    pid: int | None,
    api_key_env: str | None,
    interval: float | None,
    seconds: float,
    max_mb: float,
    from_log: str | None,
    from_metrics: str | None,
    utc_offset: float | None,
    as_json: bool,
) -> None:
    """Keep a session in FILE, which must be new, until Ctrl-C or a limit.

    `eagletui replay FILE` shows it on the live screens. Secrets are masked before anything is
    written. At a limit it stops: what began it is never thrown away.
    """
    limits = Limits(size=int(max_mb * MEGABYTE), seconds=seconds)
    if from_log or from_metrics:
        if host or local:
            raise UsageError(
                "A host and saved files were given.", advice="Leave --host or --from-… out."
            )
        writer = convert(file, from_log or "", from_metrics or "", utc_offset, limits)
        _tell(writer, ending_words(writer), as_json)
        return
    if utc_offset is not None:
        raise UsageError("--utc-offset is for --from-log.", advice="Leave it out.")
    from eagletui.cli.connect import make_monitor, wanted_from

    target = chosen_target(host, local)
    wanted = wanted_from(
        log=log_path, metrics=metrics_url, pid=pid, api_key_env=api_key_env, interval=interval
    )

    async def run() -> None:
        monitor = make_monitor(target, wanted=wanted, asker=TerminalAsker(), ssh_config=ssh_config)
        await _follow(monitor, recorder, seconds)

    recorder = open_recorder(file, host=host or "localhost", limits=limits)
    try:
        click.echo("Recording; Ctrl-C ends it.", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run())
    finally:
        recorder.close(LAST_WAIT)
    _tell(recorder.writer, recorder.words, as_json)


async def _follow(monitor: Any, recorder: Recorder, seconds: float) -> None:
    """Everything that happens, until a limit or a signal.

    Raises:
        EagletuiError: the host was never reached.
    """
    from eagletui.model.events import LinkChanged

    reached = False

    async def take() -> None:
        nonlocal reached
        async with contextlib.aclosing(monitor.events()) as batches:
            async for events in batches:
                recorder.put(time.time(), events)
                for event in events:
                    if isinstance(event, LinkChanged) and event.link == "connected":
                        reached = True
                    elif isinstance(event, LinkChanged) and event.link == "failed" and not reached:
                        raise monitor.refusal or HostError(
                            event.detail, meaning=event.meaning, advice=event.advice
                        )
                if recorder.ended is not None:
                    return

    taking = asyncio.ensure_future(take())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, taking.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError, asyncio.TimeoutError):
            await within(taking, seconds)
    except EagletuiError:
        if not reached:
            recorder.abandon(LAST_WAIT)
        raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


def _tell(writer: Writer, words: str, as_json: bool) -> None:
    if as_json:
        echo_json(
            {
                "file": visible(str(writer.path)),
                "bytes": writer.size,
                "events": writer.events,
                "seconds": writer.seconds,
                "ended": writer.ended,
            }
        )
    else:
        click.echo(
            f"{size_words(writer.size)}, {writer.events:,} events in {visible(str(writer.path))};"
            " `eagletui replay` shows it."
        )
    if words:
        click.echo(words, err=True)
    if writer.ended in ("disk", "slow"):
        raise SystemExit(1)


# --- saved files ---------------------------------------------------------------------------------


def convert(file: str, log: str, metrics: str, utc_offset: float | None, limits: Limits) -> Writer:
    """A recording of a saved log and scrapes.

    Raises:
        EagletuiError: one of them can't be read or is something else, or the file is there.
    """
    from eagletui.cli import metrics as pages
    from eagletui.cli.log import checked
    from eagletui.cli.packed import saved
    from eagletui.engine.scrapes import doubts, split_scrapes
    from eagletui.monitor import saved as told

    if log == "-":
        raise UsageError(
            "--from-log reads a file, not standard input.",
            meaning="It is read twice: for its secrets and times, then for what happened.",
            advice="Save the log first.",
        )

    def blocks() -> Iterator[bytes]:
        if log:
            with saved(log) as found:
                yield from checked(found, visible(log))

    data = pages.read_saved(metrics) if metrics else b""
    scrapes = split_scrapes(data) if metrics else []
    if metrics:
        pages.summarise(data, now=0.0)  # refuses what holds no good page
        for doubt in doubts(data, scrapes):
            click.echo(f"Warning: {doubt}", err=True)
    found, secrets = told.first_look(blocks())
    zone = told.zone_of(found, scrapes) if utc_offset is None else utc_offset * 3600.0
    times = [scrape.at for scrape in scrapes if scrape.at is not None]
    times += [] if found.first is None else [found.first - zone]
    began = min(times, default=_changed(log or metrics))
    name = Path(log or metrics).name
    writer = open_writer(
        file,
        host=name,
        limits=limits,
        began=began,
        utc_offset=zone,
        source="files",
        literals=secrets,
    )
    try:
        for batch in told.session(blocks(), scrapes, name=name, utc_offset=zone, began=began):
            writer.add(batch.at, batch.events)
            if writer.ended is not None:
                break
    finally:
        writer.close()
    return writer


def _changed(file: str) -> float:
    """When a file that names no time was written."""
    try:
        return Path(file).stat().st_mtime
    except (OSError, ValueError) as error:
        raise EagletuiError(f"{visible(file)} cannot be read.", advice="Check the path.") from error
