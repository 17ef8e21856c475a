"""The base of every panel: text drawn from a view, repainted only when it changed."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from eagletui.tui.view import View

SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"


class Panel(Widget):
    """A rectangle that says something about a `View`. Subclasses implement `draw`."""

    ALLOW_SELECT = True

    def __init__(
        self, title: str = "", *, number: int | None = None, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.number = number
        self.heading = title
        self._view: View | None = None
        self._drawn = Content("")
        self._drawn_for: Size | None = None

    @property
    def heading(self) -> str:
        """Title in the border, with the digit that focuses the panel."""
        return self._heading

    @heading.setter
    def heading(self, title: str) -> None:
        self._heading = title
        digit = f"{SUPERSCRIPTS[self.number]} " if self.number is not None else ""
        self.border_title = Content(digit + title) if title else None

    def draw(self, view: View, size: Size) -> Content:
        """What to show in this much room."""
        raise NotImplementedError

    def show(self, view: View) -> None:
        """Draw again; the terminal is touched only where the text changed."""
        self._view = view
        if self.content_size:
            self._redraw()

    def _redraw(self) -> None:
        if self._view is None:
            return
        size = self.content_size
        self._drawn_for = size
        drawn = self.draw(self._view, size)
        if drawn.is_same(self._drawn):
            return
        higher = drawn.plain.count("\n") != self._drawn.plain.count("\n")
        self._drawn = drawn
        height = self.styles.height
        self.refresh(layout=higher and height is not None and height.is_auto)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Lines of the text at this width; asked only where the height is `auto`."""
        if self._view is None:
            return 1
        return self.draw(self._view, Size(width, 0)).plain.count("\n") + 1

    def on_resize(self) -> None:
        """Room changed: lay out again."""
        if self._drawn_for != self.content_size:
            self._redraw()

    def render(self) -> Content:
        """The text drawn last, in the room there is now: the first frame says what is known."""
        if self._view is not None and self._drawn_for != self.content_size:
            self._drawn_for = self.content_size
            self._drawn = self.draw(self._view, self._drawn_for)
        return self._drawn
