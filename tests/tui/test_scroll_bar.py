"""The log's scroll bar beside Textual's own: the same cells, no garbage."""

from __future__ import annotations

import gc

import pytest
from rich.color import Color
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from eagletui.model.logstore import LogStore
from eagletui.tui.widgets.log_view import LogView
from eagletui.tui.widgets.scroll_bar import SteadyScrollBar

SIZE = (60, 20)


class Bars(App[None]):
    CSS = "ScrollView, LogView { scrollbar-size-vertical: 1; overflow-y: scroll; }"

    def __init__(self) -> None:
        super().__init__()
        self.view = LogView(LogStore())
        self.plain = ScrollView()

    def compose(self) -> ComposeResult:
        yield Horizontal(self.view, self.plain)


@pytest.mark.parametrize("height", [1, 7, 20])
@pytest.mark.parametrize("ansi", [True, False])
async def test_it_looks_as_textuals_does_and_answers_the_mouse_alike(
    height: int, ansi: bool
) -> None:
    app = Bars()
    async with app.run_test(size=(60, height)) as pilot:
        app.theme = "ansi-dark" if ansi else "textual-dark"
        await pilot.pause()
        own, plain = app.view.vertical_scrollbar, app.plain.vertical_scrollbar
        assert isinstance(own, SteadyScrollBar)
        for bar in (own, plain):
            bar.display = True
        await pilot.pause()
        looks = set()
        for total in (0, 1, height, height + 1, 1000, 10**7):
            for share in (0.0, 0.3, 0.995, 1.0):
                position = max(0, total - height) * share
                for bar in (own, plain):
                    bar.window_size = height
                    bar.window_virtual_size = total
                    bar.position = position
                whole = Region(0, 0, own.size.width, own.size.height)
                drawn = [cells(strips) for strips in (own.render_lines(whole), textuals(plain))]
                assert drawn[0] == drawn[1], (total, share)
                looks.add(str(drawn[0]))
        assert len(looks) > (1 if height == 1 else 4)


def textuals(bar: ScrollBar) -> list[Strip]:
    bar.refresh()
    return [bar.render_line(y) for y in range(bar.size.height)]


def cells(strips: list[Strip]) -> list[tuple[str, object, object, object]]:
    """Each row's text, its ink and ground as they are seen, and what a click on it does."""
    seen: list[tuple[str, object, object, object]] = []
    for strip in strips:
        for text, style, _ in strip:
            assert style is not None
            ink, ground = style.color or Color.default(), style.bgcolor or Color.default()
            if style.reverse:
                ink, ground = ground, ink
            seen.append((text, ink if text.strip() else None, ground, style.meta))
    return seen


async def test_frames_of_a_log_that_grows_leave_nothing_to_the_collector() -> None:
    app = Bars()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        number = 0

        async def frames(count: int) -> None:
            nonlocal number
            for _ in range(count):
                number += 50
                app.view.store.append(
                    b"".join(b"line %d\n" % n for n in range(number, number + 50))
                )
                app.view.extended()
                seen = app.view.index.rows
                while app.view.index.rows == seen:
                    await pilot.pause(0.001)
                await pilot.pause()

        await frames(5)
        gc.collect()
        gc.disable()
        try:
            await frames(20)
            found = gc.collect()
        finally:
            gc.enable()
        assert found < 100  # Textual's own bar leaves 760 here
