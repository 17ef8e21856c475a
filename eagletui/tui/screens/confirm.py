"""A question before a change: Cancel is under the finger, and a name may have to be typed."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

from eagletui.model.text import visible
from eagletui.tui.dialog import Dialog
from eagletui.tui.switching import Question


class Confirm(Dialog[bool]):
    """True when the person agreed."""

    BINDINGS = [
        ("escape", "answer(False)", "Cancel"),
        ("left,up", "app.focus_previous", ""),
        ("right,down", "app.focus_next", ""),
    ]

    def __init__(self, question: Question, no: str = "Cancel") -> None:
        super().__init__()
        self._question, self._no = question, no

    def compose(self) -> ComposeResult:
        question = self._question
        with Vertical(classes="dialog") as box:
            box.border_title = visible(question.title)
            with VerticalScroll(classes="said", can_focus=False):
                for text in question.lines:
                    yield Static(Content(visible(text)))
            if question.name:
                yield Input(placeholder=f"type {visible(question.name)} to go on", id="name")
            with Horizontal(classes="buttons"):
                yield Button(self._no, id="no")
                yield Button(question.yes, id="yes", disabled=bool(question.name))

    def on_mount(self) -> None:
        """The safe answer, or the name that is to be typed."""
        self.query_one("#name" if self._question.name else "#no").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Only the right name opens the way."""
        event.stop()
        self.query_one("#yes", Button).disabled = event.value != self._question.name

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter after the right name agrees; after another it does nothing."""
        event.stop()
        if event.value == self._question.name:
            self.dismiss(True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        event.stop()
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Answer by key."""
        self.dismiss(yes)


class PutBack(Dialog[bool | None]):
    """Whether what ran before is put back; None puts the question off."""

    BINDINGS = [
        ("escape", "later", "Later"),
        ("left,up", "app.focus_previous", ""),
        ("right,down", "app.focus_next", ""),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = visible(self._question.title)
            with VerticalScroll(classes="said", can_focus=False):
                for text in self._question.lines:
                    yield Static(Content(visible(text)))
            with Horizontal(classes="buttons"):
                yield Button("Later", id="later")
                yield Button("Leave it", id="no")
                yield Button(self._question.yes, id="yes")

    def on_mount(self) -> None:
        """Nothing happens by a stray key."""
        self.query_one("#later").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        event.stop()
        answers = {"yes": True, "no": False}
        self.dismiss(answers.get(event.button.id or ""))

    def action_later(self) -> None:
        """Not now."""
        self.dismiss(None)
