"""What every feature of the app may lean on."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.notifications import SeverityLevel

from eagletui.model.errors import EagletuiError
from eagletui.model.text import visible
from eagletui.tui.config import Settings
from eagletui.tui.screens.confirm import Confirm
from eagletui.tui.session import Session, Toast
from eagletui.tui.switching import Question
from eagletui.tui.view import View


class Core(App[None]):
    """The app as its features see it; `EagleApp` is the whole.

    Attributes:
        settings: what `config.toml` says.
        session: state, series and logs.
        clock: seconds since the epoch.
        monotonic: seconds that never go back.
    """

    settings: Settings
    session: Session
    clock: Callable[[], float]
    monotonic: Callable[[], float]

    @property
    def view(self) -> View:
        """What there is to see now."""
        raise NotImplementedError

    def draw_now(self) -> None:
        """Let the screen on top show what is known, without waiting for the next frame."""
        raise NotImplementedError

    def draw_soon(self) -> None:
        """The same with the next frame."""
        raise NotImplementedError

    def close_screen(self) -> None:
        """Close the screen on top, if it is not the last."""
        raise NotImplementedError

    def refresh_keys(self) -> None:
        """Other keys may be valid now."""
        self.refresh_bindings()
        self.draw_now()

    def pop_up(self, toast: Toast) -> None:
        """Say a change that is worth it."""
        self.notify(visible(toast.text), title=toast.title, severity=toast.severity, markup=False)
        if self.settings.bell:
            self.bell()

    def complain(self, error: EagletuiError, title: str, severity: SeverityLevel = "error") -> None:
        """Say why something was not done."""
        self.notify(visible(error.sentences), title=title, severity=severity, markup=False)

    def agreed(self, question: Question, then: Callable[[], object], *, no: str) -> None:
        """Do it once the person said yes; `no` is the button under the finger."""

        def answered(yes: bool | None) -> None:
            if yes:
                then()

        self.push_screen(Confirm(question, no=no), answered)
