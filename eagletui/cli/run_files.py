"""Files with measurements: which kind it is, and its runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from eagletui.engine.imported.generate import is_reply, run_of_replies
from eagletui.engine.imported.problem import ImportProblem
from eagletui.engine.imported.serving import is_serving, runs_of_serving
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.jsontext import read_json
from eagletui.model.refused import unreadable
from eagletui.model.safe import safe
from eagletui.store.runs.exported import Exported, is_ours, read_export

LINE_LIMIT = 64 * 1024 * 1024
KINDS = "eagletui's own export or run, bench_serving's JSONL, or /generate replies, one a line"


def read_runs(path: Path) -> tuple[Exported, ...]:
    """The runs of a file of any kind that is known.

    Raises:
        UsageError: there is no such file.
        EagletuiError: it is something else, or a line of it is.
    """
    # `os.path` calls a name that no file can have absent; `Path` fails.
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder.", advice=f"Name a file: {KINDS}.")
    try:
        rows = _rows(path)
        try:
            first = next(rows)
        except StopIteration:
            raise ImportProblem(f"{path} is empty.", advice=f"Known are {KINDS}.") from None
        return _runs(path, first, rows)
    except OSError as error:
        raise unreadable(path, error) from error
    except EagletuiError as error:
        if getattr(error, "line", None) is not None:
            error.what = f"{path}: {error.what[0].lower()}{error.what[1:]}"
            error.advice = error.advice or "Nothing of the file was imported."
        raise


def _runs(
    path: Path, first: tuple[int, Any], rest: Iterator[tuple[int, Any]]
) -> tuple[Exported, ...]:
    rows, source, name = chain((first,), rest), str(path), safe(path.name.partition(".")[0])
    if is_ours(first[1]):
        return read_export(rows)
    if is_reply(first[1]):
        digest = _digest(path)
        run = run_of_replies(rows, run=digest[:12], name=name, source=source)
        return (Exported(run=run),)
    if is_serving(first[1]):
        runs = runs_of_serving(rows, seed=_digest(path), name=name, source=source)
        return tuple(Exported(run=run) for run in runs)
    raise ImportProblem("it is no measurement.", line=first[0], advice=f"Known are {KINDS}.")


def _digest(path: Path) -> str:
    """The same file imported again is the same runs."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Decoded lines with their numbers; empty ones are passed over.

    bench_serving writes `Infinity`, which JSON has not and the standard library reads.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LINE_LIMIT + 1):
            number += 1
            if len(line) > LINE_LIMIT:
                raise ImportProblem(
                    f"it is longer than {LINE_LIMIT >> 20} MB.",
                    line=number,
                    advice=f"Known are {KINDS}.",
                )
            if not line.strip():
                continue
            try:
                row = read_json(line)
            except ValueError as error:
                if number == 1 and (whole := _whole(path)) is not None:
                    yield number, whole
                    return
                raise ImportProblem(
                    f"it is no JSON: {safe(str(error))}.",
                    line=number,
                    advice=f"Known are {KINDS}.",
                ) from error
            yield number, row


def _whole(path: Path) -> object | None:
    """The file as one document over many lines, as `--json` prints it; None where it is none."""
    if path.stat().st_size > LINE_LIMIT:
        return None
    try:
        found: object = read_json(path.read_bytes())
    except ValueError:
        return None
    return found
