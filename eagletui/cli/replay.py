"""`eagletui replay`: a recorded session on the live screens, or its events for scripts."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from eagletui.cli.options import Number
from eagletui.model.errors import UsageError
from eagletui.model.events import Event, LogText
from eagletui.model.numerals import shortened
from eagletui.model.safe import safe
from eagletui.store.recording.codec import About
from eagletui.store.recording.reader import Recording

_PART = re.compile(r"[0-9]{1,7}")
_FORMS = "Write +SECONDS, +M:SS or +H:MM:SS from the beginning, or HH:MM[:SS] of its own clock."


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--speed",
    type=Number(1 / 16, 1024.0),
    default=1.0,
    show_default=True,
    help="How many times faster than it was.",
)
@click.option("--at", "moment", metavar="TIME", help=f"Begin there. {_FORMS}")
@click.option("--theme", metavar="NAME", help="The theme to start with.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print its events, one JSON document a line, and end."
)
def replay(file: str, speed: float, moment: str | None, theme: str | None, as_json: bool) -> None:
    """Show a recorded session: pause, step, seek, faster, slower; `?` shows the keys.

    Nothing is connected to, and nothing can be changed.
    """
    with Recording(Path(file)) as recording:
        at = moment_of(moment, recording) if moment else None
        if as_json:
            print_events(recording, at)
        else:
            _show(recording, speed, at, theme)


def moment_of(text: str, recording: Recording) -> float:
    """A moment of the recording's time.

    Raises:
        UsageError: it is none, or lies outside of the recording.
    """
    parts = text.removeprefix("+").split(":")
    if not all(_PART.fullmatch(part) for part in parts) or len(parts) > 3:
        raise UsageError(f"{shortened(text)} is no time.", advice=_FORMS)
    numbers = [int(part) for part in parts]
    if text.startswith("+"):
        seconds = 0
        for number in numbers:
            seconds = 60 * seconds + number
        at = recording.begin + seconds
    else:
        at = _clock_time(numbers, recording)
    if not recording.begin <= at <= recording.end:
        length = recording.end - recording.begin
        raise UsageError(
            f"{text} is not in this recording.",
            meaning=f"It is {length:.0f} s long and begins at {_shown(recording)}.",
            advice=_FORMS,
        )
    return at


def _clock_time(numbers: list[int], recording: Recording) -> float:
    """The first moment from the beginning on at which its clock shows this."""
    hours, minutes, seconds = (*numbers, 0, 0)[:3]
    if len(numbers) < 2 or hours > 23 or minutes > 59 or seconds > 59:
        raise UsageError(f"{':'.join(map(str, numbers))} is no time of day.", advice=_FORMS)
    wanted = 3600 * hours + 60 * minutes + seconds
    shown = recording.begin + recording.about.utc_offset
    midnight = shown - shown % 86400
    at = midnight + wanted
    # The second that it begins in counts as a whole.
    if int(at) < int(shown):
        at += 86400
    return max(at - recording.about.utc_offset, recording.begin)


def _shown(recording: Recording) -> str:
    try:
        zone = timezone(timedelta(seconds=recording.about.utc_offset))
        return datetime.fromtimestamp(recording.begin, zone).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"


# --- for scripts ---------------------------------------------------------------------------------


def print_events(recording: Recording, at: float | None = None) -> None:
    """What it is of, its events, and how it ends: a JSON document a line."""
    _line({"type": "Recording", **_about(recording.about)})
    for frame in recording:
        if at is None or frame.at >= at:
            for event in frame.events:
                _line({"came": frame.at, **document(event)})
    ending = recording.ending
    _line(
        {
            "type": "End",
            "reason": ending.reason if ending is not None else None,
            "problem": recording.problem,
            "skipped": recording.skipped,
        }
    )


def document(event: Event) -> dict[str, Any]:
    """An event as JSON: text of a log as it is shown."""
    if isinstance(event, LogText):
        found: dict[str, Any] = msgspec.to_builtins(replace(event, data=b""))
        found["data"] = "\n".join(
            safe(line) for line in event.data.decode("utf-8", "replace").split("\n")
        )
        return found
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return plain


def _about(about: About) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(about)
    return plain


def _line(value: Any) -> None:
    click.echo(msgspec.json.encode(value).decode())


# --- the screen ----------------------------------------------------------------------------------


def _show(recording: Recording, speed: float, at: float | None, theme: str | None) -> None:
    from eagletui.cli.screen import looks, refuse_no_terminal
    from eagletui.monitor.replay import Replay
    from eagletui.tui.app import EagleApp
    from eagletui.tui.leaving import forgiving_terminal
    from eagletui.tui.screens import main, servers  # noqa: F401 - ready before the first event

    settings, themes = looks(theme)
    refuse_no_terminal("For scripts there is `eagletui replay FILE --json`.")
    feed = Replay(recording, speed=speed, at=at)
    app = EagleApp(
        feed,
        settings,
        themes=themes,
        target=recording.about.host,
        read_only=True,
        replay=feed,
    )
    with forgiving_terminal():
        app.run()
    if app.return_code:
        sys.exit(app.return_code)
