"""What is done on the host in each state of a restart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from eagletui.control.agent import AgentRefused
from eagletui.control.api import Detached, plan_document
from eagletui.control.ending import Ending
from eagletui.control.job import DONE, PATIENCE, Job, failed
from eagletui.control.problems import GARBLED, note_words
from eagletui.control.starting import Starting
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.finding import Finding
from eagletui.model.restart import Action, Happened
from eagletui.model.safe import safe

Check = Callable[[], Awaitable["Diagnosis | None"]]


class Works:
    """The host's side of a restart: one method for each action of the machine.

    Args:
        check: a further check of the caller's own, `engine.check` for one.
    """

    def __init__(
        self,
        job: Job,
        *,
        check: Check | None = None,
        breaks: bool | str = "",
        kept: bool = False,
    ) -> None:
        self._job = job
        ending = Ending(job)
        self._starting = Starting(job, ending)
        self._check = check
        self._breaks = breaks
        self._kept = self._resumed = kept
        self.notes: tuple[Finding, ...] = ()
        self.do: dict[Action, Callable[[], Awaitable[Happened]]] = {
            "check": self._checked,
            "save": self._saved,
            "drain": ending.drained,
            "abort": ending.aborted,
            "terminate": ending.terminated,
            "kill": ending.killed,
            "await-gone": ending.gone,
            "start": self._starting.started,
            "follow": self._starting.followed,
            "generate": self._starting.generated,
            "settle": self._starting.settled,
            "clear": self._starting.cleared,
            "release": self._released,
        }

    async def _checked(self) -> Happened:
        found = await self._check() if self._check is not None else None
        if found is not None:
            return Happened(kind="failed", problem=found)
        plan = None if self._job.facts.again else self._plan()
        try:
            told = await self._job.ask(
                "check",
                breaks=self._breaks,
                target=self._target(),
                plan=plan,
                patience=PATIENCE,
            )
        except AgentRefused as refused:
            return failed(refused)
        self._breaks = told["breaks"]  # and no other: somebody may take it before us
        self.notes = tuple(note_words(note) for note in told.get("notes", ()))
        for note in self.notes:
            self._job.say(note.message)
        return DONE

    async def _saved(self) -> Happened:
        try:
            told = await self._job.ask(
                "save",
                breaks=self._breaks,
                note=self._job.noted(),
                target=self._target(),
                # What was left is on the host, whole; here is only what is shown of it.
                plan=None if self._resumed else self._plan() or {},
                patience=PATIENCE,
            )
        except AgentRefused as refused:
            return failed(refused)
        self._kept = True
        if self._job.facts.old is not None:
            answers = (told["old"] or {}).get("answers", 0)
            self._job.facts.old = replace(self._job.facts.old, answers=answers)
        return DONE

    def _target(self) -> dict[str, object] | None:
        return self._job.facts.old.target if self._job.facts.old is not None else None

    def _plan(self) -> dict[str, object] | None:
        return plan_document(self._job.facts.plan) if self._job.facts.plan is not None else None

    async def _released(self) -> Happened:
        if self._kept:
            log = self._job.facts.log
            note = {
                **self._job.noted(),
                "phases": log.phases if log is not None else {},
                "load_seconds": log.load_seconds if log is not None else None,
                "version": log.version if log is not None else "",
            }
            try:
                told = await self._job.ask(
                    "release",
                    note=note,
                    ending=self._job.standing().state,
                    patience=PATIENCE,
                )
            except (AgentRefused, Detached) as error:
                if isinstance(error, AgentRefused) and error.diagnosis.code == GARBLED:
                    raise  # nothing was answered: it may be asked again
                self._job.say(error.what)  # the end is what it is
                return DONE
            for line in told["left"]:
                self._job.say(safe(str(line)))
        return DONE

    async def leave(self) -> None:
        """Write down that nobody watches any more, and give the lock back."""
        await self._job.ask("leave", note=self._job.noted(), patience=PATIENCE)

    async def withdraw(self) -> Happened:
        """Tidy up and give the lock back, also where nobody heard that it was taken."""
        self._kept = True
        return await self._released()

    def adopt(self, child: dict[str, Any]) -> None:
        """Follow this process from now on."""
        self._starting.adopt(child)

    async def note(self) -> None:
        """Write down where the restart stands.

        Raises:
            Detached: the lock is no longer ours.
        """
        await self._job.note()
