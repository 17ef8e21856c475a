"""Changing what runs: the switcher, a restart's questions, a profile of what runs."""

from __future__ import annotations

from textual import on

from eagletui.model.switching import Choice, LockHeld
from eagletui.tui.features.core import Core
from eagletui.tui.messages import LockRead, RestartMoved, RestartRefused, UnfinishedFound
from eagletui.tui.restarting import Restarts
from eagletui.tui.screens.confirm import PutBack
from eagletui.tui.switching import (
    cancel_question,
    lock_question,
    put_back_question,
    resume_question,
)


class RestartActions(Core):
    """Actions around the one restart that this session drives.

    Attributes:
        restarts: that restart, and who does it.
    """

    restarts: Restarts

    @on(RestartMoved)
    def _restart_moved(self, message: RestartMoved) -> None:
        toast = self.restarts.take(message.moment)
        if toast is not None:
            self.pop_up(toast)
        self.draw_soon()

    @on(RestartRefused)
    def _restart_refused(self, message: RestartRefused) -> None:
        if isinstance(message.error, LockHeld):
            self.restarts.ask_lock()
        else:
            self.complain(message.error, "Not started")

    @on(LockRead)
    def _lock_read(self, message: LockRead) -> None:
        if message.lock is None:
            text = "The lock is free by now: look at what runs, then try again."
            self.notify(text, title="Not started", severity="warning", markup=False)
        else:
            question = lock_question(message.lock, self.view)
            self.agreed(question, self.restarts.break_lock, no="Cancel")

    @on(UnfinishedFound)
    def _unfinished_found(self, message: UnfinishedFound) -> None:
        self.restarts.found(message.left)
        self.draw_soon()

    def begin(self, choice: Choice) -> None:
        """Start what was shown for this choice, and go where it can be watched."""
        self.restarts.begin(choice)
        self.close_screen()

    def action_switch(self, back: bool = False) -> None:
        """Choose what runs."""
        if self.restarts.switcher is not None:
            from eagletui.tui.screens.switcher import SwitcherScreen

            self.push_screen(SwitcherScreen(self.restarts.switcher, back=back))

    def action_before(self) -> None:
        """Back to what ran before."""
        self.action_switch(back=True)

    def action_import_profile(self) -> None:
        """Write what runs as a profile of the person's."""
        server, switcher = self.session.state.server, self.restarts.switcher
        pid = server.process.pid if server is not None and server.alive else None
        if switcher is None or pid is None:
            self.notify("No server runs here that could be written down.", timeout=4)
            return
        from eagletui.tui.importing import Import

        Import(self, switcher, pid, self._profile_written).begin()

    def _profile_written(self) -> None:
        """The switcher shows the new profile at once."""
        from eagletui.tui.screens.switcher import SwitcherScreen

        if isinstance(self.screen, SwitcherScreen):
            self.screen.read_menu()

    def action_cancel_restart(self) -> None:
        """Cancel the restart that goes on; close one that ended."""
        moment, switcher = self.restarts.active, self.restarts.switcher
        if moment is None or switcher is None:
            self.restarts.close()
            self.refresh_keys()
        elif moment.standing.on_cancel:
            self.agreed(cancel_question(moment), switcher.cancel, no="Go on")
        else:
            self.notify("There is nothing to cancel now.", timeout=2)

    def action_answer_restart(self) -> None:
        """Whether what ran before is put back."""
        moment, switcher = self.restarts.active, self.restarts.switcher
        if moment is not None and switcher is not None:

            def answered(yes: bool | None) -> None:
                if yes is not None:
                    switcher.answer(yes)

            self.push_screen(PutBack(put_back_question(moment)), answered)

    def action_resume_restart(self) -> None:
        """Go on with the newest launch that was left."""
        left, restarts = self.restarts.left, self.restarts
        refused = self.view.permission().refusal
        if refused:
            self.notify(refused, severity="warning", markup=False)
        elif left and restarts.active is None:
            launch = left[0].launch
            question = resume_question(left[0], self.view)
            self.agreed(question, lambda: restarts.resume(launch), no="Cancel")
