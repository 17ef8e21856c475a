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

    def on_mount(self) -> None:
        """Nothing goes on until a view says so: no room is taken for it."""
        self.add_class("-off")

    def show(self, view: View) -> None:
        """Draw again; what is hidden has no room, so that the view alone decides."""
        self.set_class(not self._lines_of(view, self.content_size), "-off")
        super().show(view)

    def draw(self, view: View, size: Size) -> Content:
        return page(self._lines_of(view, size))

    def _lines_of(self, view: View, size: Size) -> list[Content]:
        moment = view.restart
        # Where the next one is chosen, how the last one ended only takes room.
        if self.screen.id == "switcher" and moment is not None and moment.over:
            return []
        return strip(view, max(20, size.width or self.screen.size.width - 2))
