"""The restart that this session drives: begun, watched, cancelled, answered, gone on with.

The workers post messages to the app; nothing else in here talks to the `Switcher`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from textual.app import App

from eagletui.model.errors import EagletuiError
from eagletui.model.restart import account
from eagletui.model.switching import Choice, Moment, Switcher, Unfinished
from eagletui.tui.messages import LockRead, RestartMoved, RestartRefused, UnfinishedFound
from eagletui.tui.session import Toast

GROUP = "restart"


class Restarts:
    """At most one restart of one app.

    Attributes:
        switcher: who does it; None where nothing can be changed from here.
        moment: where the restart stands, or how the last one ended; None after it was closed.
        left: launches on the host that somebody left.
    """

    def __init__(self, app: App[None], switcher: Switcher | None = None) -> None:
        self._app = app
        self.switcher = switcher
        self.moment: Moment | None = None
        self.left: tuple[Unfinished, ...] = ()
        self._looked = False
        self._ended: set[str] = set()
        self._wish: Choice | str = Choice()

    @property
    def active(self) -> Moment | None:
        """The restart that goes on; None where none does."""
        return self.moment if self.moment is not None and not self.moment.over else None

    def connected(self) -> None:
        """The host answers: look once for what was left there."""
        if self.switcher is not None and not self._looked:
            self._looked = True
            self._look(self.switcher)

    def begin(self, choice: Choice, *, break_lock: bool = False) -> None:
        """Start what was shown for this choice."""
        if self.switcher is not None:
            self._wish = choice
            self._drive(self.switcher.begin(choice, break_lock=break_lock))

    def resume(self, launch: str, *, break_lock: bool = False) -> None:
        """Go on with a launch that was left."""
        if self.switcher is not None:
            self._wish = launch
            self._drive(self.switcher.resume(launch, break_lock=break_lock))

    def break_lock(self) -> None:
        """Do what was refused, and take the host's lock away for it."""
        self.close()
        if isinstance(self._wish, str):
            self.resume(self._wish, break_lock=True)
        else:
            self.begin(self._wish, break_lock=True)

    def take(self, moment: Moment) -> Toast | None:
        """Remember where it stands; what is worth a pop-up."""
        before, self.moment = self.moment, moment
        if isinstance(self._wish, str):
            self.left = tuple(other for other in self.left if other.launch != self._wish)
        if moment.standing.final:
            self._ended.add(moment.launch)
        if moment.over:
            if self.switcher is not None:
                self._look(self.switcher)
            if is_locked(moment):
                self.ask_lock()
                return None
            good = moment.standing.state in ("ready", "stopped") and not moment.detached
            text = moment.detached or account(moment.standing)
            return Toast(moment.name, text, "information" if good else "error")
        asks = moment.standing.state == "asking"
        if asks and (before is None or before.standing.state != "asking"):
            if moment.standing.cancelled:
                return Toast(f"{moment.name} is cancelled", "What ran before waits.", "warning")
            why = moment.standing.problem.title if moment.standing.problem else ""
            return Toast(f"{moment.name} does not serve", why, "error")
        return None

    def found(self, left: tuple[Unfinished, ...]) -> None:
        """Launches that somebody left; the host may not have written yet that ours ended."""
        self.left = tuple(other for other in left if other.launch not in self._ended)

    def close(self) -> None:
        """Forget how the last one ended."""
        if self.active is None:
            self.moment = None

    def ask_lock(self) -> None:
        """Ask the host who has its lock."""
        if self.switcher is not None:
            self._app.run_worker(self._read_lock(self.switcher), name="lock", group="lock")

    # --- workers ------------------------------------------------------------------------------

    def _drive(self, moments: AsyncGenerator[Moment, None]) -> None:
        self._app.run_worker(self._post(moments), name=GROUP, group=GROUP)

    async def _post(self, moments: AsyncGenerator[Moment, None]) -> None:
        try:
            async with aclosing(moments):
                async for moment in moments:
                    self._app.post_message(RestartMoved(moment))
        except EagletuiError as error:
            self._app.post_message(RestartRefused(error))

    async def _read_lock(self, switcher: Switcher) -> None:
        try:
            self._app.post_message(LockRead(await switcher.lock()))
        except EagletuiError as error:
            self._app.post_message(RestartRefused(error))

    def _look(self, switcher: Switcher) -> None:
        self._app.run_worker(self._read(switcher), name="unfinished", group="unfinished")

    async def _read(self, switcher: Switcher) -> None:
        try:
            self._app.post_message(UnfinishedFound(await switcher.unfinished()))
        except EagletuiError:
            return  # a host that cannot say has nothing to offer


def is_locked(moment: Moment) -> bool:
    """Whether it was refused because somebody else restarts something on the host."""
    problem = moment.standing.problem
    refused = moment.standing.state == "failed" and not moment.standing.old_gone
    return refused and problem is not None and problem.code == "locked"
