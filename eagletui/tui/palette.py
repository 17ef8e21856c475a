"""The command palette: every action that is possible now, found by name or id."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.css.query import NoMatches

from eagletui.tui.actions import Action, actions_of, key_shown, keys_of
from eagletui.tui.situation import is_valid

if TYPE_CHECKING:
    from eagletui.tui.app import EagleApp

# The palette itself and what only makes sense as a key.
HIDDEN = frozenset({"app.palette", "app.interrupt"})


class Palette(CommandPalette):
    """Textual's palette, which as it is can end the program (seen with 8.2).

    A page key before its list is laid out finds no line there, and a search that outlives the
    palette finds none of its widgets.
    """

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)

    def on_mount(self) -> None:
        """Remember the widgets for what still runs when they are gone."""
        self._had: list[Any] = list(self.query("*"))

    # Untyped as its overloads say nothing here: the answer is that of the original, or a widget
    # that has left the screen.
    def query_one(self, selector: Any, expect_type: Any = None) -> Any:
        """The widget, or the one that was here until the palette was closed."""
        try:
            return super().query_one(*(part for part in (selector, expect_type) if part))
        except NoMatches:
            kind = expect_type or selector
            for widget in getattr(self, "_had", ()):
                named = not isinstance(selector, str) or selector == f"#{widget.id}"
                if named and not isinstance(kind, str) and isinstance(widget, kind):
                    return widget
            raise


class ActionCommands(Provider):
    """Actions of the screen under the palette, valid ones only."""

    @property
    def eagle(self) -> EagleApp:
        """Our app."""
        from eagletui.tui.app import EagleApp

        assert isinstance(self.app, EagleApp)
        return self.app

    def offered(self) -> Iterator[tuple[str, Action]]:
        """(text, action) of what can be done now."""
        from eagletui.tui.screens.base import EagleScreen

        screen = self.screen
        if not isinstance(screen, EagleScreen):
            return
        facts = screen.facts
        changed = self.eagle.settings.keys
        for action in actions_of(screen.KIND):
            if action.id in HIDDEN or not is_valid(action, facts):
                continue
            keys = " ".join(key_shown(key) for key in keys_of(action, changed))
            yield f"{action.group}: {action.name}" + (f"  ({keys})" if keys else ""), action

    async def discover(self) -> Hits:
        """Everything, before a letter is typed."""
        for text, action in self.offered():
            yield DiscoveryHit(text, partial(self._run, action), help=action.help)

    async def search(self, query: str) -> Hits:
        """What matches the letters typed."""
        matcher = self.matcher(query)
        for text, action in self.offered():
            score = max(matcher.match(text), matcher.match(action.id))
            if score > 0:
                yield Hit(
                    score, matcher.highlight(text), partial(self._run, action), help=action.help
                )

    async def _run(self, action: Action) -> None:
        call = action.call if action.call.endswith(")") else f"{action.call}()"
        await self.screen.run_action(call)
