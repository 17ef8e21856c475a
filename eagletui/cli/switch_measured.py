"""What was measured of a combination before, for whoever is about to choose it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from eagletui.engine.command import CommandLine, parse_command
from eagletui.model.errors import EagletuiError
from eagletui.model.profile import StartPlan
from eagletui.model.speculative import Speculative
from eagletui.model.switching import Measured
from eagletui.model.text import visible

if TYPE_CHECKING:
    from eagletui.model.run import Run, Surroundings
    from eagletui.store.runs.database import Database
    from eagletui.store.runs.runs import Runs

    Opened = Callable[[], AbstractContextManager[tuple[Database, Runs]]]

_NCCL = re.compile(r"NCCL_(?!VERSION$)")
"""What tunes NCCL; a profile alone decides it, whatever a server before had."""
MOST = 200
"""Runs that are looked at, the newest."""


class MeasuredRuns:
    """The newest run of a combination of model, speculation and NCCL environment on one host.

    One that was cancelled or ended early is told only where there is no whole one.

    Args:
        host: the name under which runs on it are kept.
        opened: opens the runs; None is the person's own.
    """

    def __init__(self, host: str, opened: Opened | None = None) -> None:
        self._host = visible(host)
        self._opened = opened or _persons
        self._kept: dict[str, Surroundings] | None = None
        """By id; whole runs first, and among them the newest."""
        self._measured: dict[str, Measured | None] = {}

    def forget(self) -> None:
        """Read the runs again at the next question."""
        self._kept = None
        self._measured.clear()

    def last(self, plan: StartPlan) -> Measured | None:
        """What was measured last of it; None where nothing was. Reads the disk."""
        with ExitStack() as stack:

            @cache
            def runs() -> Runs:
                """Opened where something is read, and once."""
                return stack.enter_context(self._opened())[1]

            if self._kept is None:
                self._kept = self._read(runs)
            command, nccl = parse_command(plan.argv), _nccl(plan.environment)
            of_it = (run for run, around in self._kept.items() if is_of(around, command, nccl))
            return next((found for run in of_it if (found := self._figures(run, runs))), None)

    def _read(self, runs: Callable[[], Runs]) -> dict[str, Surroundings]:
        """What each run on this host measured; its requests are not kept in memory."""
        found = {}
        try:
            rows = [row for row in runs().rows() if not row.damaged][:MOST]
            for row in sorted(rows, key=lambda row: row.partial):
                run = runs().get(row.id)
                if run.surroundings.host == self._host and not run.source:
                    found[run.id] = run.surroundings
        except EagletuiError:
            return {}
        return found

    def _figures(self, run: str, runs: Callable[[], Runs]) -> Measured | None:
        if run not in self._measured:
            try:
                self._measured[run] = measured(runs().get(run))
            except EagletuiError:
                self._measured[run] = None
        return self._measured[run]


def _persons() -> AbstractContextManager[tuple[Database, Runs]]:
    from eagletui.cli.run_store import open_runs  # the first picture of a screen needs none

    return open_runs()


def is_of(around: Surroundings, command: CommandLine, nccl: Mapping[str, str]) -> bool:
    """Whether such a server was measured: what a command line leaves to SGLang may be anything."""
    return (
        _name(command.model) in (_name(around.model), _name(_told(around.argv)))
        and _fits(command.speculative, around.speculative)
        and nccl == _nccl(around.environment)
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
        partial=run.partial,
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
