"""The restart that goes on, on every screen: where it stands and what can be done about it."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size

from eagletui.tui.draw import page
from eagletui.tui.switching import strip
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel


class RestartStrip(Panel):
    """As few lines as it needs; none where nothing goes on."""

    def draw(self, view: View, size: Size) -> Content:
        moment = view.restart
        # Where the next one is chosen, how the last one ended only takes room.
        ended = self.screen.id == "switcher" and moment is not None and moment.over
        lines = [] if ended else strip(view, max(20, size.width or self.screen.size.width - 2))
        self.set_class(not lines, "-off")
        return page(lines)
