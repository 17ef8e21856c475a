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
from eagletui.tui.messages import RestartMoved, RestartRefused, UnfinishedFound
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

    @property
    def active(self) -> Moment | None:
        """The restart that goes on; None where none does."""
        return self.moment if self.moment is not None and not self.moment.over else None

    def connected(self) -> None:
        """The host answers: look once for what was left there."""
        if self.switcher is not None and not self._looked:
            self._looked = True
            self._look(self.switcher)

    def begin(self, choice: Choice) -> None:
        """Start what was shown for this choice."""
        if self.switcher is not None:
            self._drive(self.switcher.begin(choice))

    def resume(self, launch: str) -> None:
        """Go on with a launch that was left."""
        if self.switcher is not None:
            self.left = tuple(other for other in self.left if other.launch != launch)
            self._drive(self.switcher.resume(launch))

    def take(self, moment: Moment) -> Toast | None:
        """Remember where it stands; what is worth a pop-up."""
        before, self.moment = self.moment, moment
        if moment.over:
            if self.switcher is not None:
                self._look(self.switcher)
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

    def close(self) -> None:
        """Forget how the last one ended."""
        if self.active is None:
            self.moment = None

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

    def _look(self, switcher: Switcher) -> None:
        self._app.run_worker(self._read(switcher), name="unfinished", group="unfinished")

    async def _read(self, switcher: Switcher) -> None:
        try:
            self._app.post_message(UnfinishedFound(await switcher.unfinished()))
        except EagletuiError:
            return  # a host that cannot say has nothing to offer
