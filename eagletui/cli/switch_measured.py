"""What was measured of a combination before, for whoever is about to choose it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from eagletui.engine.command import parse_command
from eagletui.model.errors import EagletuiError
from eagletui.model.profile import StartPlan
from eagletui.model.speculative import Speculative
from eagletui.model.switching import Measured
from eagletui.model.text import visible

if TYPE_CHECKING:
    from eagletui.model.run import Run
    from eagletui.store.runs.database import Database
    from eagletui.store.runs.runs import Runs

    Opened = Callable[[], AbstractContextManager[tuple[Database, Runs]]]

_NCCL = re.compile(r"NCCL_(?!VERSION$)")
"""What tunes NCCL; a profile alone decides it, whatever a server before had."""
MOST = 200
"""Runs that are looked at, the newest."""


class MeasuredRuns:
    """The newest run of a combination of model, speculation and NCCL environment on one host.

    Args:
        host: the name under which runs on it are kept.
        opened: opens the runs; None is the person's own.
    """

    def __init__(self, host: str, opened: Opened | None = None) -> None:
        self._host = visible(host)
        self._opened = opened or _persons
        self._runs: list[Run] | None = None

    def forget(self) -> None:
        """Read the runs again at the next question."""
        self._runs = None

    def last(self, plan: StartPlan) -> Measured | None:
        """What was measured last of it; None where nothing was. Reads the disk."""
        if self._runs is None:
            self._runs = self._read()
        of_it = (run for run in self._runs if is_of(run, plan.argv, plan.environment))
        return next((found for run in of_it if (found := measured(run))), None)

    def _read(self) -> list[Run]:
        try:
            with self._opened() as (_, kept):
                rows = [row for row in kept.rows() if not row.damaged][:MOST]
                runs = [kept.get(row.id) for row in rows]
        except EagletuiError:
            return []
        return [run for run in runs if run.surroundings.host == self._host and not run.source]


def _persons() -> AbstractContextManager[tuple[Database, Runs]]:
    from eagletui.cli.run_store import open_runs  # the first picture of a screen needs none

    return open_runs()


def is_of(run: Run, argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether it measured such a server: what a command line leaves to SGLang may be anything."""
    command = parse_command(argv)
    around = run.surroundings
    return (
        _name(command.model) in (_name(around.model), _name(_told(around.argv)))
        and _fits(command.speculative, around.speculative)
        and _nccl(environment) == _nccl(around.environment)
    )


def measured(run: Run) -> Measured | None:
    """Its lowest concurrency, unless what spoiled it keeps it from saying anything."""
    from eagletui.model.figures import figures_of  # the first picture of a screen needs none

    found = next((f for f in figures_of(run) if f.tok_s is not None and not f.spoiled), None)
    if found is None or found.tok_s is None:
        return None
    return Measured(
        name=visible(run.name),
        began=run.began,
        concurrency=found.concurrency,
        tok_s=found.tok_s,
        accept_length=found.accept_length if run.surroundings.speculative.on else None,
    )


def _told(argv: tuple[str, ...]) -> str:
    return parse_command(argv).model if argv else ""


def _name(model: str) -> str:
    """One host has it in a folder, a run by the name it is served under."""
    return model.rstrip("/").rpartition("/")[2]


def _fits(wanted: Speculative, ran: Speculative) -> bool:
    if not wanted.on or not ran.on:
        return wanted.on == ran.on
    there = asdict(ran)
    return all(there[name] == value for name, value in asdict(wanted).items() if value is not None)


def _nccl(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if _NCCL.match(name)}
