"""A panel paints the lines that changed, whatever happened to its text before."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Offset, Size
from textual.selection import Selection
from textual.strip import Strip

from eagletui.model.history import History
from eagletui.model.state import State
from eagletui.tui.config import Settings
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel
from tests.tui.text_snapshot import screen_text

VIEW = View(State(), History(), {}, 0.0, Settings())


class Note(Panel):
    text = ""

    def draw(self, view: View, size: Size) -> Content:
        return Content(self.text)


class NoteApp(App[None]):
    CSS = "Note { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.note = Note()

    def compose(self) -> ComposeResult:
        yield self.note

    def say(self, text: str) -> None:
        self.note.text = text
        self.note.show(VIEW)


@pytest.mark.parametrize(
    "texts",
    [
        ["one\ntwo\nthree", "one\n2\nthree"],
        ["one\ntwo", "one\ntwo\nthree", "1"],
        ["long words that do not fit in there\ntwo\nthree", "one\ntwo\nthree"],
        ["one\ntwo\nthree", "long words that do not fit in there\ntwo\nthree", "1\n2\n3"],
        ["", "\n\nthree", ""],
    ],
)
async def test_what_is_on_the_screen_is_the_last_text(texts: list[str]) -> None:
    app = NoteApp()
    async with app.run_test(size=(20, 8)) as pilot:
        for text in texts:
            app.say(text)
            await pilot.pause()
        shown = screen_text(app).splitlines()
    assert [line.rstrip() for line in shown] == [*texts[-1].split("\n"), *[""] * 8][:8]


async def test_only_lines_that_changed_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    app = NoteApp()
    async with app.run_test(size=(20, 8)) as pilot:
        app.say("one\ntwo\nthree")
        await pilot.pause()
        painted: list[int] = []
        paint = app.note.render_line

        def spied(y: int) -> Strip:
            painted.append(y)
            return paint(y)

        monkeypatch.setattr(app.note, "render_line", spied)
        app.say("one\n2\nthree")
        await pilot.pause()
        assert painted == [1]
        app.say("one\n2\nthree")
        await pilot.pause()
        assert painted == [1]


async def test_text_can_be_selected_and_goes_on_changing() -> None:
    app = NoteApp()
    async with app.run_test(size=(20, 8)) as pilot:
        app.say("one\ntwo\nthree")
        await pilot.pause()
        app.screen.selections = {app.note: Selection(Offset(0, 1), Offset(3, 1))}
        await pilot.pause()
        assert app.screen.get_selected_text() == "two"
        app.say("one\n2\nthree")
        await pilot.pause()
        assert screen_text(app).splitlines()[1].rstrip() == "2"
        app.screen.clear_selection()
        app.say("one\n2\n3")
        await pilot.pause()
        assert [line.rstrip() for line in screen_text(app).splitlines()[:3]] == ["one", "2", "3"]
        style = app.screen.get_style_at(0, 2)
        assert style.meta.get("offset") == (0, 2)
