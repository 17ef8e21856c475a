"""The bottom line: the keys that matter here and now, made from the table of actions."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.style import Style

from eagletui.tui.actions import ALWAYS, Action, actions_of, key_shown, keys_of, name_of
from eagletui.tui.situation import is_valid
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

GAP = "  "


class KeysLine(Panel):
    """Keys and names of the valid actions of this screen; each can be clicked."""

    ALLOW_SELECT = False
    auto_links = False

    def __init__(self, screen_name: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._screen_name = screen_name

    def draw(self, view: View, size: Size) -> Content:
        facts = self.depends_on(view)
        return keys_line(self._screen_name, view.settings.keys, facts, max(8, size.width))

    def depends_on(self, view: View) -> frozenset[str]:
        """What is the case: the keys of a session never change."""
        return view.facts | frozenset(getattr(self.screen, "own_facts", frozenset[str]()))


def keys_line(
    screen: str, changed: Mapping[str, str], facts: frozenset[str], width: int
) -> Content:
    """As many valid actions as fit: help and the way out always, then the most useful ones."""
    offered = [
        action
        for action in actions_of(screen)
        if action.footer is not None and is_valid(action, facts) and keys_of(action, changed)
    ]
    shown: list[tuple[int, Content]] = []
    used = 0
    for action in sorted(offered, key=_rank):
        key = key_shown(keys_of(action, changed)[0])
        name = name_of(action, facts)
        length = cell_len(key) + 1 + cell_len(name) + (len(GAP) if shown else 0)
        if used + length <= width:
            used += length
            shown.append((action.footer or 0, _piece(action, key, name)))
    shown.sort(key=lambda ranked: ranked[0])
    return Content(GAP).join(piece for _, piece in shown)


def _rank(action: Action) -> tuple[int, int]:
    first = ALWAYS.index(action.id) if action.id in ALWAYS else len(ALWAYS)
    return first, action.footer or 0


def _piece(action: Action, key: str, name: str) -> Content:
    call = action.call if action.call.startswith("app.") else f"screen.{action.call}"
    call = call if call.endswith(")") else f"{call}()"
    text = Content.assemble((key, "bold $accent"), " ", (name, "$bar-text"))
    return text.stylize(Style.from_meta({"@click": call}))
