"""One line on every screen of a replay: that it is one, where it is, and how fast."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from textual.content import Content
from textual.geometry import Size

from eagletui.model.playing import Standing
from eagletui.model.text import visible
from eagletui.tui import words
from eagletui.tui.draw import Field, bar, pack
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

_BAR = 16


class ReplayStrip(Panel):
    """Nothing where the host is live."""

    def on_mount(self) -> None:
        """No room is taken until a view says that this is a replay."""
        self.add_class("-off")

    def show(self, view: View) -> None:
        """Draw again; what is hidden has no room."""
        self.set_class(view.replay is None, "-off")
        super().show(view)

    def draw(self, view: View, size: Size) -> Content:
        if view.replay is None:
            return Content("")
        return pack(fields(view.replay, view.ascii_only), max(10, size.width))


def fields(standing: Standing, ascii_only: bool = False) -> list[Field]:
    """State, speed, place and moment of a replay."""
    length, passed = standing.end - standing.begin, standing.now - standing.begin
    share = passed / length if length > 0 else 1.0
    return [
        Field(0, f"{_state(standing, ascii_only)} replay", "bold $warning"),
        Field(2, f"×{standing.speed:g}", "bold"),
        Field(3, f"{words.clock(passed)} of {words.clock(length)}"),
        Field(5, bar(share, _BAR, ascii_only, thin=True), "$quiet"),
        Field(4, moment(standing)),
        Field(1, visible(standing.note), "$warning"),
    ]


def _state(standing: Standing, ascii_only: bool) -> str:
    names = {"over": ("■", "end of"), "held": ("‖", "held:"), "plays": ("▶", "")}
    now = "over" if standing.over else "held" if standing.paused else "plays"
    glyph, word = names[now]
    return word if ascii_only and word else f"{'>' if ascii_only else glyph} {word}".rstrip()


def moment(standing: Standing) -> str:
    """The recording's own date and time, as the clock of whoever recorded it showed them."""
    try:
        zone = timezone(timedelta(seconds=standing.utc_offset))
        return datetime.fromtimestamp(standing.now, zone).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""
