"""What every full screen shares: header, verdicts, keys line, sizes, and how a view reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from eagletui.tui.actions import Action, actions_of
from eagletui.tui.situation import is_valid
from eagletui.tui.view import View
from eagletui.tui.widgets.header import HeaderBar
from eagletui.tui.widgets.keys_line import KeysLine
from eagletui.tui.widgets.panel import Panel
from eagletui.tui.widgets.replay_strip import ReplayStrip
from eagletui.tui.widgets.restart_strip import RestartStrip
from eagletui.tui.widgets.verdicts import Verdicts

if TYPE_CHECKING:
    from eagletui.tui.app import EagleApp

LEAST = (60, 20)


class EagleScreen(Screen[None]):
    """A screen drawn from a `View`."""

    KIND: ClassVar[str] = ""
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [
        (0, "-small"),
        (60, "-slim"),
        (76, "-narrow"),
        (112, "-normal"),  # beside the numbers a chart keeps 22 columns
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [
        (0, "-low"),
        (20, "-short"),
        (32, "-tall"),
        (44, "-high"),
    ]

    def compose(self) -> ComposeResult:
        yield HeaderBar(id="header")
        yield Verdicts(id="verdicts")
        yield ReplayStrip(id="replay")
        yield RestartStrip(id="restart")
        yield from self.body()
        yield KeysLine(self.KIND, id="keys")
        yield Static(
            f"eagletui needs at least {LEAST[0]}×{LEAST[1]} cells.\n"
            "Make the window larger, or the font smaller.",
            id="too-small",
        )

    def body(self) -> Iterator[Widget]:
        """What is between the verdicts and the keys."""
        raise NotImplementedError

    @property
    def eagle(self) -> EagleApp:
        """Our app."""
        from eagletui.tui.app import EagleApp

        assert isinstance(self.app, EagleApp)
        return self.app

    @property
    def own_facts(self) -> frozenset[str]:
        """What this screen alone knows of the situation."""
        below = sum(isinstance(screen, EagleScreen) for screen in self.app.screen_stack) > 1
        return frozenset({"back"} if below else ())

    @property
    def facts(self) -> frozenset[str]:
        """What actions may need, now."""
        return self.eagle.view.facts | self.own_facts

    def on_mount(self) -> None:
        """Say what is known in the first frame, and more as soon as there is room."""
        accent = self.eagle.accent
        if accent is not None:
            header = self.query_one("#header")
            header.styles.background = accent
            header.styles.color = accent.get_contrast_text()
        self._fit(self.app.size)
        self.refresh_view()
        self.call_after_refresh(self.refresh_view)

    def _fit(self, size: Size) -> None:
        """The classes of this size before the first frame, which Textual gives after it."""
        for breakpoints, length in (
            (self.HORIZONTAL_BREAKPOINTS, size.width),
            (self.VERTICAL_BREAKPOINTS, size.height),
        ):
            known = breakpoints or []
            chosen = max((least for least, _ in known if least <= length), default=0)
            for least, name in known:
                self.set_class(least == chosen, name)

    def on_screen_resume(self) -> None:
        """What changed while another screen was on top."""
        self.refresh_view()

    def on_resize(self) -> None:
        """Other sizes say other things."""
        self.call_after_refresh(self.refresh_view)

    def refresh_view(self) -> None:
        """Draw from what is known now."""
        if self.is_mounted and self.is_current and self.app.is_running:
            self.show(self.eagle.view)

    def show(self, view: View) -> None:
        """Draw every panel from this view."""
        for panel in self.query(Panel):
            panel.show(view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An action of our table is possible when what it needs is the case."""
        row = _row_of(self.KIND, action, parameters)
        return True if row is None else is_valid(row, self.facts)

    def action_back(self) -> None:
        """Close this screen, where another is below it."""
        self.eagle.close_screen()


def _row_of(kind: str, action: str, parameters: tuple[object, ...]) -> Action | None:
    call = f"{action}({', '.join(map(repr, parameters))})"
    for row in actions_of(kind):
        if row.call in (action, call):
            return row
    return None
