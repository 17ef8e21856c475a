"""The base of every panel: text drawn from a view, repainted only where it changed."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
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
        self._lines: list[Content] = []
        self._strips: dict[int, Strip] = {}
        self._strips_for: tuple[int, Style] | None = None
        self._rows_are_lines = True
        """Whether what is on the screen has a row for each line."""
        self._drawn_for: Size | None = None
        self._made_of: object = None

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

    def depends_on(self, view: View) -> object | None:  # noqa: ARG002
        """All that the text is made of beside the size, where that is quick to compare."""
        return None

    def show(self, view: View) -> None:
        """Draw again; the terminal is touched only where the text changed."""
        self._view = view
        if self.content_size:
            self._redraw()

    def _redraw(self) -> None:
        if self._view is None:
            return
        size = self.content_size
        made_of = self.depends_on(self._view), size
        if made_of[0] is not None and made_of == self._made_of:
            return
        self._made_of, self._drawn_for = made_of, size
        drawn = self.draw(self._view, size)
        if drawn.is_same(self._drawn):
            return
        self._drawn = drawn
        old, self._lines = self._lines, drawn.split("\n", allow_blank=True)
        rows_were, self._rows_are_lines = self._rows_are_lines, self._fits(size)
        higher = len(old) != len(self._lines)
        if higher or not (rows_were and self._rows_are_lines):
            self._strips.clear()
            height = self.styles.height
            self.refresh(layout=higher and height is not None and height.is_auto)
            return
        changed = [y for y, line in enumerate(self._lines) if not line.is_same(old[y])]
        for y in changed:
            self._strips.pop(y, None)
        self.refresh(*(Region(0, y, size.width, 1) for y in changed))

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
        self._fill(self.content_size)
        return self._drawn

    def _fill(self, size: Size) -> None:
        """Draw for a room that no redraw has seen yet, while it is being painted."""
        if self._view is None or self._drawn_for == size:
            return
        self._drawn_for = size
        self._drawn = self.draw(self._view, size)
        self._lines = self._drawn.split("\n", allow_blank=True)
        self._rows_are_lines = self._fits(size)
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """One line of the text, rendered when it changed; a selection is left to Textual."""
        size = self.content_size
        self._fill(size)
        if self.text_selection is not None or not self._fits(size):
            self._rows_are_lines = False
            return super().render_line(y)
        style = self.visual_style
        if self._strips_for is None or self._strips_for != (size.width, style):
            self._strips.clear()
            self._strips_for = size.width, style
        strip = self._strips.get(y)
        if strip is None:
            line = self._lines[y] if y < len(self._lines) else Content("")
            rendered = Visual.to_strips(self, line, size.width, 1, style)
            strip = rendered[0] if rendered else Strip.blank(size.width, style.rich_style)
            self._strips[y] = strip = strip.apply_offsets(0, y)
        return strip

    def notify_style_update(self) -> None:
        """Other colours: the same text looks otherwise."""
        self._strips_for = None
        super().notify_style_update()

    def _fits(self, size: Size) -> bool:
        """Whether each line takes one row."""
        return all(line.cell_length <= size.width for line in self._lines)
