"""What holds for every dialog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.screen import ModalScreen

from eagletui.model.ask import SecretQuestion
from eagletui.tui.ask import HostKeyDialog, SecretDialog
from eagletui.tui.dialog import Dialog
from eagletui.tui.screens.confirm import Confirm, PutBack
from eagletui.tui.screens.phases import PhaseList
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.switching import Question
from tests.tui.driving import make_app, settle
from tests.tui.test_ask import KEY

QUESTION = Question(title="restart?", lines=("It stops.",), yes="Restart")
NAMED = QUESTION._replace(name="gpu1")
DIALOGS: dict[str, Callable[[], ModalScreen[Any]]] = {
    "confirm": lambda: Confirm(QUESTION),
    "confirm by name": lambda: Confirm(NAMED),
    "put back": lambda: PutBack(QUESTION),
    "prompt": lambda: Prompt("concurrency", value="gpu1"),
    "phases": lambda: PhaseList([]),
    "secret": lambda: SecretDialog(SecretQuestion(host="gpu1", subject="Password")),
    "host key": lambda: HostKeyDialog(KEY),
}


def test_every_dialog_is_here() -> None:
    made = {type(make()) for make in DIALOGS.values()}
    assert made == set(Dialog.__subclasses__())


@pytest.mark.parametrize("key", ["enter", "escape"])
@pytest.mark.parametrize("name", DIALOGS)
async def test_keys_that_come_behind_the_answer_close_nothing_else(name: str, key: str) -> None:
    """On a slow machine Enter is pressed again before the dialog is gone."""
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.action_runs()
        await settle(pilot)
        below = list(app.screen_stack)
        answers: list[object] = []
        app.push_screen(DIALOGS[name](), answers.append)
        await settle(pilot)
        dialog = app.screen
        if name == "confirm by name":
            await pilot.press(*"gpu1")
        for _ in range(4):
            app.post_message(events.Key(key, None))
        await settle(pilot)
        if app.screen is dialog:
            assert (name, key) == ("phases", "enter")
            await pilot.press("escape")
        assert list(app.screen_stack) == below
        assert len(answers) == 1
