"""The verdict lines: what is going on, in words, where the eye falls first."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size

from eagletui.model.eta import eta
from eagletui.tui.draw import Piece, fit, line, page, wrap
from eagletui.tui.verdict import MARKS, Verdict, verdicts
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

SERIOUS = ("fatal", "error", "warning")

# Lines for the verdicts beside charts, from this height of screen on: six rows of plot come first.
BESIDE_CHARTS = ((30, 4), (24, 3), (0, 1))


class Verdicts(Panel):
    """The most important verdict with its advice, others below; as few lines as they need."""

    def draw(self, view: View, size: Size) -> Content:
        server = view.server
        remaining = eta(server, view.now).remaining if server is not None else None
        found = verdicts(view.state, view.now, remaining)
        self.set_class(not found, "-off")
        height = self.app.size.height
        lines = lines_of(
            found, max(20, size.width), room=room_for(height, view.facts), rich=height >= 30
        )
        return page(lines)

    @property
    def lines(self) -> int:
        """How many lines are shown."""
        return self._drawn.plain.count("\n") + 1


def room_for(height: int, facts: frozenset[str]) -> int:
    """Lines that the verdicts may take on a screen of this height."""
    if "charts" not in facts:
        return 6 if height >= 30 else 3
    return next(lines for least, lines in BESIDE_CHARTS if height >= least)


def lines_of(found: tuple[Verdict, ...], width: int, *, room: int, rich: bool) -> list[Content]:
    """The first verdict with what it rests on and what to do, then the others in a line each.

    What has no room is counted and stands in the details.
    """
    if not found:
        return []
    first, *others = found
    below: list[Content] = []
    hidden = False
    if first.level in SERIOUS:
        advice = wrap(first.advice, width - 4)[:2] if first.advice else []
        below = [line("  → " if i == 0 else "    ", part) for i, part in enumerate(advice)]
        if rich and first.evidence:
            below.insert(0, line("  ", (fit(first.evidence, width - 2).rstrip(), "$quiet")))
        hidden = len(below) > room - 1
        if hidden:
            below = []
    others = others[: min(room - 1 - len(below), 2 if rich else 0)]
    rest = len(found) - 1 - len(others)
    more = f"  (+{rest} more, d)" if rest else "  (why: d)" if hidden else ""
    heads = [headline(other, width) for other in others]
    return [headline(first, width, more), *below, *heads]


def headline(verdict: Verdict, width: int, more: str = "") -> Content:
    """Glyph, word and text of one verdict, in one line."""
    glyph, word, style = MARKS[verdict.level]
    mark = f"{glyph} {verdict.word or word}"
    text = fit(verdict.text, max(8, width - len(mark) - 2 - len(more))).rstrip()
    pieces: list[Piece] = [(mark, style), "  ", (text, "bold" if style.endswith("error") else "")]
    if more:
        pieces.append((more, "$quiet"))
    return line(*pieces)
