"""Questions of a host, put to the person in dialogs on the screen, never on the terminal below."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from eagletui.model.text import visible
from eagletui.tui.dialog import Dialog
from eagletui.tui.draw import line, page

_T = TypeVar("_T")


class ScreenAsker:
    """Implements `model.ask.Asker`: one dialog at a time, in the order of the questions."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._turn: asyncio.Lock | None = None

    async def secret(self, question: SecretQuestion) -> str | None:
        """A password or passphrase; None when the person cancels."""
        async with self._lock():
            return await self._ask(SecretDialog(question))

    async def host_key(self, question: HostKeyQuestion) -> bool:
        """Whether an unknown host key may be trusted and written down."""
        async with self._lock():
            trusted = await self._ask(HostKeyDialog(question))
            return trusted is True

    def _lock(self) -> asyncio.Lock:
        if self._turn is None:
            self._turn = asyncio.Lock()
        return self._turn

    async def _ask(self, dialog: Dialog[_T]) -> _T | None:
        answer: asyncio.Future[_T | None] = asyncio.get_running_loop().create_future()

        def answered(value: _T | None) -> None:
            if not answer.done():
                answer.set_result(value)

        await self._app.push_screen(dialog, answered)
        try:
            return await answer
        except asyncio.CancelledError:
            if dialog.is_current:
                dialog.dismiss(None)
            raise


class SecretDialog(Dialog[str | None]):
    """A password, hidden as it is typed."""

    BINDINGS = [("escape", "cancel", "Cancel")]

    def __init__(self, question: SecretQuestion) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        question = self._question
        with Vertical(classes="dialog") as box:
            box.border_title = f"{visible(question.host)} asks"
            if question.again:
                yield Static(line(("✖ That was not accepted. Try again.", "bold $error")))
            yield Static(Content(visible(question.subject)))
            yield Input(password=not question.echo, id="answer")
            yield Static("enter sends   esc cancels   nothing is stored", classes="quiet")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send it."""
        event.stop()
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Refuse."""
        self.dismiss(None)


class HostKeyDialog(Dialog[bool]):
    """An unknown host key: its fingerprint, and Cancel in focus."""

    BINDINGS = [("escape", "answer(False)", "Cancel")]

    def __init__(self, question: HostKeyQuestion) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        question = self._question
        with Vertical(classes="dialog") as box:
            box.border_title = "unknown host key"
            yield Static(
                page(
                    [
                        line(
                            "You have not connected to ",
                            (visible(question.host), "bold"),
                            f" ({visible(question.address)}) before.",
                        ),
                        Content(""),
                        line((visible(question.key_type), "$quiet")),
                        line((visible(question.fingerprint), "bold $accent")),
                        Content(""),
                        line(
                            "Compare it with what the host's administrator says. Trusting it writes"
                        ),
                        line(f"it to {visible(question.file)}."),
                    ]
                )
            )
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=False)
                yield Button("Trust and connect", id="trust")

    def on_mount(self) -> None:
        """The safe answer is the one under the finger."""
        self.query_one("#cancel").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        event.stop()
        self.dismiss(event.button.id == "trust")

    def action_answer(self, yes: bool) -> None:
        """Answer by key."""
        self.dismiss(yes)
