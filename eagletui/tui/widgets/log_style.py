"""How the parts of a log look: style sheet, and the styles made ready for the screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.widget import Widget

STYLE_SHEET = """
LogView {
    height: 1fr;
    width: 1fr;
    overflow-x: scroll;
    overflow-y: scroll;
    scrollbar-size-horizontal: 0;
    scrollbar-size-vertical: 1;
    .log--error { color: $error; }
    .log--warning { color: $warning; }
    .log--info { color: $foreground; }
    .log--debug { color: $foreground 60%; }
    .log--stamp { color: $foreground 55%; }
    .log--rank { text-style: bold; }
    .log--rank-0 { color: $accent; }
    .log--rank-1 { color: $secondary; }
    .log--rank-2 { color: $success; }
    .log--rank-3 { color: $primary; }
    .log--match { text-style: reverse; }
    .log--gap { color: $warning; text-style: italic; }
    .log--continuation { text-style: dim; }
    .log--current { text-style: bold underline; }
    .log--overlay { text-style: reverse bold; }
}
"""


class LogStyles:
    """The styles of a log view's components on its background, each found out once."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._known: dict[str, Style] = {}
        self._shown: dict[Style, Style] = {}
        self._filtered_by: tuple[Sequence[LineFilter], Color] | None = None

    def style(self, name: str) -> Style:
        """The style of a component; of "" the view's own."""
        style = self._known.get(name)
        if style is None:
            style = self._widget.rich_style
            if name:
                style += self._widget.get_component_rich_style(name, partial=True)
            self._known[name] = style
        return style

    def forget(self) -> None:
        """Another theme: find them out anew."""
        self._known.clear()
        self._shown.clear()

    def filter_by(self, filters: Sequence[LineFilter], background: Color) -> bool:
        """Take over the program's filters (NO_COLOR, ANSI colours); whether they are others."""
        wanted = (tuple(filters), background)
        if wanted == self._filtered_by:
            return False
        self._filtered_by = wanted
        self._shown.clear()
        return True

    def on_screen(self, style: Style) -> Style:
        """What the filters make of a style: found out for each style once, not for each row."""
        shown = self._shown.get(style)
        if shown is None:
            segments = [Segment(" ", style)]
            filters, background = self._filtered_by or ((), None)
            for line_filter in filters:
                if background is not None:
                    segments = line_filter.apply(segments, background)
            shown = self._shown[style] = segments[0].style or style
        return shown
