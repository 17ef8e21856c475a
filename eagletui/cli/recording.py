"""Opening and closing recordings, for every command that makes one."""

from __future__ import annotations

import time
from pathlib import Path

import click

from eagletui import __version__
from eagletui.model.literals import Literals
from eagletui.model.text import visible
from eagletui.store.recording.codec import About
from eagletui.store.recording.recorder import Recorder
from eagletui.store.recording.writer import MEGABYTE, Limits, Writer

LAST_WAIT = 10.0
"""Seconds that a slow disk is given at the end."""


def open_writer(
    file: str,
    *,
    host: str,
    limits: Limits | None = None,
    began: float | None = None,
    utc_offset: float | None = None,
    source: str = "live",
    literals: Literals | None = None,
) -> Writer:
    """A new recording; its clock is this machine's, unless another is given.

    Raises:
        EagletuiError: the file is there already, or cannot be made.
    """
    now = time.time()
    zone = time.localtime(now).tm_gmtoff
    about = About(
        version=__version__,
        host=visible(host),
        began=now if began is None else began,
        utc_offset=float(zone) if utc_offset is None else utc_offset,
        source=source,
    )
    return Writer(Path(file), about, limits=limits, literals=literals)


def open_recorder(file: str, *, host: str, limits: Limits | None = None) -> Recorder:
    """The same, written on a thread."""
    return Recorder(open_writer(file, host=host, limits=limits))


def close_recorder(recorder: Recorder) -> None:
    """End it, and say on standard error what is there."""
    recorder.close(LAST_WAIT)
    click.echo(f"Recorded {size_words(recorder.size)} in {recorder.name}.", err=True)
    if recorder.words:
        click.echo(recorder.words, err=True)


def size_words(size: int) -> str:
    """`820 kB`, `12.3 MB`."""
    return f"{size / MEGABYTE:.1f} MB" if size >= MEGABYTE else f"{max(1, size // 1000)} kB"
