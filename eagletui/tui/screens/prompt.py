"""One question with one line of answer."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from eagletui.tui.dialog import Dialog


class Prompt(Dialog[str | None]):
    """Asks for a line; None when given up.

    Args:
        title: what is asked.
        hint: shown in the empty line.
        value: what stands there first.
        check: a complaint about an answer, "" when it is good.
        bottom: ask at the bottom, so that what is above can still be read.
    """

    BINDINGS = [("escape", "cancel", "Cancel")]

    def __init__(
        self,
        title: str,
        hint: str = "",
        value: str = "",
        check: Callable[[str], str] | None = None,
        *,
        bottom: bool = False,
    ) -> None:
        super().__init__(classes="-bottom" if bottom else "")
        self._title, self._hint, self._value, self._check = title, hint, value, check

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = self._title
            yield Input(self._value, placeholder=self._hint, id="answer")
            yield Static("", id="complaint")
            yield Static("enter accepts   esc cancels", classes="quiet")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Accept, unless the answer is not good."""
        event.stop()
        complaint = self._check(event.value) if self._check else ""
        if complaint:
            self.query_one("#complaint", Static).update(complaint)
        else:
            self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Give up."""
        self.dismiss(None)
