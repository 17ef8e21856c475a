"""Runs as a file to hand on: JSON, one document a line.

The first line is `{"eagletui_runs": 1}`; then `{"run": …}` with every cell and request of a run,
and a line `{"series": …}` for each of its series. A bare run, as `bench --out` writes it, and the
document of `bench --json`, which has a `run` among others, are read as well. What is read is
checked like anything that others wrote: shown safely, masked again, and refused with its line where
it is something else.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError
from eagletui.model.plausible import Fault, faults_within
from eagletui.model.run import Run
from eagletui.model.safe import safe
from eagletui.model.secrets import mask_argv, mask_environment, mask_value
from eagletui.model.series import Window
from eagletui.model.text import visible_value

VERSION = 1
HEADER = "eagletui_runs"

_ID = re.compile(r"(?a)[A-Za-z0-9]{12}")


class ExportProblem(EagletuiError):
    """A line of an exported file is not what was written.

    Attributes:
        line: 1-based.
    """

    def __init__(self, what: str, *, line: int, meaning: str = "", advice: str = "") -> None:
        super().__init__(f"Line {line}: {what}", meaning=meaning, advice=advice)
        self.line = line


class _Series(Data, frozen=True):
    run: str
    name: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    joined: tuple[int, ...]


class Exported(Data, frozen=True):
    """A run with its series by name."""

    run: Run
    series: dict[str, Window] = {}


def export_lines(exported: Iterable[Exported]) -> Iterator[bytes]:
    """The file's lines, with their ends."""
    yield _line({HEADER: VERSION})
    for one in exported:
        yield _line({"run": one.run})
        for name, window in one.series.items():
            series = _Series(
                run=one.run.id,
                name=name,
                times=tuple(round(time, 3) for time in window.times),
                values=tuple(window.values),
                joined=tuple(window.joined),
            )
            yield _line({"series": series})


def is_ours(row: object) -> bool:
    """Whether a decoded line begins such a file, or is a run by itself."""
    return isinstance(row, dict) and (HEADER in row or "run" in row or _is_bare(row))


def _is_bare(row: dict[str, Any]) -> bool:
    return "id" in row and "cells" in row


def read_export(rows: Iterable[tuple[int, Any]]) -> tuple[Exported, ...]:
    """The runs of a file, from its decoded lines with their numbers.

    Raises:
        ExportProblem: a line is something else, or a newer eagletui wrote the file.
    """
    runs: dict[str, Run] = {}
    series: dict[str, dict[str, Window]] = {}
    for number, row in rows:
        kind, value = _kind(row)
        if kind == HEADER:
            if not isinstance(value, int) or value > VERSION:
                raise ExportProblem(
                    f"the file is in format {safe(str(value))}; this eagletui knows {VERSION}.",
                    line=number,
                    advice="Update eagletui, or export it again with this version.",
                )
        elif kind == "run":
            run = _run(value, number)
            runs[run.id] = run
        elif kind == "series":
            found = _checked(value, _Series, number)
            if found.run not in runs:
                raise ExportProblem(
                    "it is a series of a run that does not stand above.", line=number
                )
            series.setdefault(found.run, {})[found.name] = _window(found, number)
        else:
            raise ExportProblem("it is neither a run nor a series.", line=number)
    return tuple(Exported(run=run, series=series.get(id_, {})) for id_, run in runs.items())


def _kind(row: object) -> tuple[str, Any]:
    if not isinstance(row, dict):
        return "", None
    if _is_bare(row):
        return "run", row
    return next(
        ((kind, row[kind]) for kind in (HEADER, "run", "series") if kind in row), ("", None)
    )


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _checked(value: object, kind: type[Any], number: int) -> Any:
    try:
        return msgspec.convert(visible_value(value), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ExportProblem(f"{safe(str(error))}.", line=number) from error


def _run(value: object, number: int) -> Run:
    run: Run = _checked(value, Run, number)
    if not _ID.fullmatch(run.id):
        raise ExportProblem("its id is not twelve letters and digits.", line=number)
    for fault in faults_within(run):
        raise _impossible(fault, run, number)
    known = run.surroundings
    arguments = mask_value("arguments", known.arguments)
    return replace(
        run,
        surroundings=replace(
            known,
            argv=mask_argv(known.argv),
            arguments={
                name: tuple(item) if isinstance(item, list) else item
                for name, item in arguments.items()
            },
            environment=mask_environment(known.environment),
        ),
    )


def _impossible(fault: Fault, run: Run, number: int) -> ExportProblem:
    """What helps depends on where the figure is from: exported again it would be the same one."""
    if run.via == "import":
        meaning = "An older eagletui took such figures over from other files; this one does not."
        original = safe(run.source) or "the original file"
        advice = f"Import {original} again, not what was made of it"
    else:
        meaning = "The file was changed after it was written, or this was measured wrongly."
        advice = "Export the run again; where it is still so, measure again"
    return ExportProblem(
        f"{fault.words}.",
        line=number,
        meaning=meaning,
        advice=f"{advice}; nothing of the file was imported.",
    )


def _window(series: _Series, number: int) -> Window:
    columns = (series.times, series.values, series.joined)
    if len(set(map(len, columns))) != 1:
        raise ExportProblem("its columns are of different lengths.", line=number)
    if not all(map(math.isfinite, (*series.times, *series.values))):
        raise ExportProblem("it has a number that is not finite.", line=number)
    if any(a >= b for a, b in pairwise(series.times)):
        raise ExportProblem("its times do not go forward.", line=number)
    return Window(
        array("d", series.times), array("d", series.values), bytes(map(bool, series.joined))
    )
