"""Choose server × speculation × environment, see exactly what would change, and start it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from textual import on
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from eagletui.model.errors import EagletuiError
from eagletui.model.switching import PARTS, Choice, Menu, Part, Preview, Row, Switcher
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import line, page, wrap
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.confirm import Confirm
from eagletui.tui.switching import (
    AS_IT_RUNS,
    AS_PROFILE,
    Question,
    effect,
    questions,
    refusal,
    row_text,
    summary,
)
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import SUPERSCRIPTS

STILL = 0.4
"""Seconds a choice has to stand before the host is asked about it."""


class Choices(OptionList):
    """One list; the arrows to the sides go to its neighbours."""

    BINDINGS = [
        Binding("left", "screen.beside(-1)", "", show=False),
        Binding("right", "screen.beside(1)", "", show=False),
    ]


class MenuRead(Message):
    """What can be chosen."""

    def __init__(self, menu: Menu) -> None:
        super().__init__()
        self.menu = menu


class PreviewMade(Message):
    """What the choice would do."""

    def __init__(self, preview: Preview) -> None:
        super().__init__()
        self.preview = preview


class NotKnown(Message):
    """The host or a file did not say."""

    def __init__(self, error: EagletuiError) -> None:
        super().__init__()
        self.error = error


class SwitcherScreen(EagleScreen):
    """Three lists, and below them what the choice would do.

    Args:
        back: ask at once about what ran before.
    """

    KIND = "switch"
    BINDINGS = bindings_for("switch")

    def __init__(self, switcher: Switcher, *, back: bool = False) -> None:
        super().__init__(id="switcher")
        self._switcher = switcher
        self._back = back
        self._menu: Menu | None = None
        self._choice: Choice | None = None
        self._preview: Preview | None = None
        self._problem: EagletuiError | None = None
        self._wanted = back
        self._said = Content("")

    def body(self) -> Iterator[Widget]:
        with Horizontal(id="choices"):
            for number, part in enumerate(PARTS, 1):
                choices = Choices(id=f"choose-{part}", classes="panel")
                choices.border_title = f"{SUPERSCRIPTS[number]} {part}"
                yield choices
        with VerticalScroll(id="effect", classes="panel") as scroll:
            scroll.border_title = f"{SUPERSCRIPTS[4]} what it would do"
            yield Static(id="said")

    def on_mount(self) -> None:
        """Ask what can be chosen."""
        super().on_mount()
        self.read_menu()

    def read_menu(self) -> None:
        """Ask again what can be chosen; what is marked stays marked."""
        server = self.eagle.view.server
        alive = server is not None and server.alive
        pid = server.process.pid if server is not None and alive else None
        version = (server.version or server.process.version) if server is not None else ""
        self.run_worker(self._read_menu(pid, version), group="menu", exclusive=True)

    # --- workers: they only post messages -----------------------------------------------------

    async def _read_menu(self, pid: int | None, version: str) -> None:
        try:
            self.post_message(MenuRead(await self._switcher.menu(pid, version)))
        except EagletuiError as error:
            self.post_message(NotKnown(error))

    async def _look(self, choice: Choice) -> None:
        try:
            first = await self._switcher.preview(choice, ask=False)
            self.post_message(PreviewMade(first))
            if not first.asked:
                if not self._wanted:
                    await asyncio.sleep(STILL)
                self.post_message(PreviewMade(await self._switcher.preview(choice, ask=True)))
        except EagletuiError as error:
            self.post_message(NotKnown(error))

    # --- what they say ------------------------------------------------------------------------

    @on(MenuRead)
    def _show_menu(self, message: MenuRead) -> None:
        first, marked = self._menu is None, self._chosen()
        self._menu = message.menu
        if first:
            for problem in message.menu.problems:
                self.notify(
                    problem, title="A profile is left out", severity="warning", markup=False
                )
        for part in PARTS:
            choices, rows = self._list(part), self._rows(part)
            choices.clear_options()
            choices.add_options(Option(Content(""), id=row.name) for row in rows)
            names = [row.name for row in rows]
            before = getattr(marked, part)
            if rows:
                choices.highlighted = names.index(before) if before in names else 0
        if not first:
            self._choice = None
            self._take(self._chosen())
            return
        self._list("speculative").focus()
        if self._back:
            self._take(Choice(back=True))
        else:
            self._take(self._chosen())

    @on(PreviewMade)
    def _show_preview(self, message: PreviewMade) -> None:
        if message.preview.choice != self._choice:
            return
        self._preview, self._problem = message.preview, None
        self.refresh_view()
        if self._wanted and (message.preview.asked or message.preview.problem):
            self._wanted = False
            self.action_start()

    @on(NotKnown)
    def _show_problem(self, message: NotKnown) -> None:
        self._problem, self._wanted = message.error, False
        self.refresh_view()

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        if self._menu is not None and not (self._back and self._choice is None):
            self._take(self._chosen())

    @on(OptionList.OptionSelected)
    def _entered(self) -> None:
        self.action_start()

    def _take(self, choice: Choice) -> None:
        if choice == self._choice:
            return
        if self._choice is not None and self._choice.back and choice == Choice():
            return  # the lists were only filled
        self._choice, self._preview, self._problem = choice, None, None
        self.run_worker(self._look(choice), group="preview", exclusive=True)
        self.refresh_view()

    def _chosen(self) -> Choice:
        return Choice(
            server=self._named("server"),
            speculative=self._named("speculative"),
            environment=self._named("environment"),
        )

    def _named(self, part: Part) -> str:
        row = self._row(part)
        return row.name if row is not None else ""

    def _row(self, part: Part) -> Row | None:
        at, rows = self._list(part).highlighted, self._rows(part)
        return rows[at] if at is not None and at < len(rows) else None

    def _list(self, part: Part) -> Choices:
        return self.query_one(f"#choose-{part}", Choices)

    def _rows(self, part: Part) -> tuple[Row, ...]:
        return self._menu.rows(part) if self._menu is not None else ()

    # --- drawing ------------------------------------------------------------------------------

    def show(self, view: View) -> None:
        """Rows, and what the choice would do; only what changed is drawn."""
        super().show(view)
        for part in PARTS:
            self._draw_rows(part)
        scroll = self.query_one("#effect")
        width = max(20, scroll.scrollable_content_region.width or self.size.width - 4)
        said = page(self._lines(view, width))
        back = self._choice is not None and self._choice.back
        title = f"{SUPERSCRIPTS[4]} what {'going back' if back else 'it'} would do"
        if self._preview is not None:
            title += f": {summary(self._preview)}"
        if scroll.border_title != title:
            scroll.border_title = title
        if not said.is_same(self._said):
            self._said = said
            text = self.query_one("#said", Static)
            text.update(said)
            # Textual (8.2) counts a second request for room only once the first was served, so
            # that a text which changes in between keeps the height it had.
            self.call_after_refresh(text.refresh, layout=True)

    def _draw_rows(self, part: Part) -> None:
        choices = self._list(part)
        width = max(12, choices.scrollable_content_region.width)
        server = self._row("server")
        foreign = part != "server" and server is not None and server.whole
        first = AS_PROFILE if foreign or not self._runs else AS_IT_RUNS
        for index, row in enumerate(self._rows(part)):
            drawn = row_text(row, width, chosen=index == choices.highlighted, first=first)
            prompt = choices.get_option_at_index(index).prompt
            if not isinstance(prompt, Content) or not prompt.is_same(drawn):
                choices.replace_option_prompt_at_index(index, drawn)

    @property
    def _runs(self) -> bool:
        return self._menu is not None and bool(self._menu.runs)

    def _lines(self, view: View, width: int) -> list[Content]:
        if self._problem is not None:
            error = self._problem
            texts = ((f"✖ {error.what}", "bold $error"), (error.meaning, ""), (error.advice, ""))
            return [
                line((part, style)) for text, style in texts if text for part in wrap(text, width)
            ]
        if self._preview is None:
            return [line(("… reading profiles and what runs", "$quiet"))]
        return effect(self._preview, view, width, waits=self._wanted)

    # --- actions ------------------------------------------------------------------------------

    def action_choose(self, number: int) -> None:
        """Focus a list, or what the choice would do."""
        if number > len(PARTS):
            self.query_one("#effect").focus()
        else:
            self._list(PARTS[number - 1]).focus()

    def action_beside(self, by: int) -> None:
        """The next list to the left or to the right."""
        at = next((i for i, part in enumerate(PARTS) if self._list(part).has_focus), 0)
        self._list(PARTS[(at + by) % len(PARTS)]).focus()

    def action_before(self) -> None:
        """Back to what ran before the last switch."""
        if self._menu is None:
            return
        self._wanted = True
        if self._choice == Choice(back=True):
            self._choice = None
        self._take(Choice(back=True))

    def action_start(self) -> None:
        """Ask, then start what is chosen."""
        view = self.eagle.view
        problem = refusal(self._preview, view)
        if problem:
            self._wanted = False
            self.notify(problem, title="Not started", severity="warning", markup=False)
            return
        assert self._preview is not None
        if not self._preview.asked:
            self._wanted = True
            self.refresh_view()
            return
        self._ask(self._preview, list(questions(self._preview, view)))

    def _ask(self, preview: Preview, left: list[Question]) -> None:
        if not left:
            self.eagle.begin(preview.choice)
            return
        question, *rest = left

        def answered(yes: bool | None) -> None:
            if yes:
                self._ask(preview, rest)

        self.app.push_screen(Confirm(question), answered)
