"""The verdict lines: what is going on, in words, where the eye falls first."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size

from eagletui.model.eta import eta
from eagletui.tui.draw import Piece, fit, line, page, wrap
from eagletui.tui.verdict import MARKS, Verdict, verdicts
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel


class Verdicts(Panel):
    """The most important verdict with its advice, others below; as few lines as they need."""

    def draw(self, view: View, size: Size) -> Content:
        server = view.server
        remaining = eta(server, view.now).remaining if server is not None else None
        found = verdicts(view.state, view.now, remaining)
        self.set_class(not found, "-off")
        rich = self.screen.size.height >= 30
        return page(lines_of(found, max(20, size.width), most=3 if rich else 1, rich=rich))


def lines_of(found: tuple[Verdict, ...], width: int, *, most: int, rich: bool) -> list[Content]:
    """One line a verdict; the first also says what to do. What does not fit is counted."""
    shown: list[Content] = []
    rest = len(found) - most
    for index, verdict in enumerate(found[:most]):
        more = f"  (+{rest} more, d)" if index == most - 1 and rest > 0 else ""
        shown.append(headline(verdict, width, more))
        serious = verdict.level in ("fatal", "error", "warning")
        if index == 0 and serious:
            if rich and verdict.evidence:
                shown.append(line("  ", (fit(verdict.evidence, width - 2).rstrip(), "$quiet")))
            advice = wrap(verdict.advice, width - 4)[:2] if verdict.advice else []
            shown += [line("  → " if i == 0 else "    ", part) for i, part in enumerate(advice)]
    return shown


def headline(verdict: Verdict, width: int, more: str = "") -> Content:
    """Glyph, word and text of one verdict, in one line."""
    glyph, word, style = MARKS[verdict.level]
    mark = f"{glyph} {verdict.word or word}"
    text = fit(verdict.text, max(8, width - len(mark) - 2 - len(more))).rstrip()
    pieces: list[Piece] = [(mark, style), "  ", (text, "bold" if style.endswith("error") else "")]
    if more:
        pieces.append((more, "$quiet"))
    return line(*pieces)
