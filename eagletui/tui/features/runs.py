"""What was measured and watched before."""

from __future__ import annotations

from collections.abc import Callable

from eagletui.model.keeping import RunShelf
from eagletui.tui.features.core import Core


class RunActions(Core):
    """The way to the list of runs."""

    _shelf: Callable[[], RunShelf] | None
    """Gives what is kept; None where nothing is."""

    def action_runs(self) -> None:
        """The list of runs, to compare some."""
        from eagletui.tui.screens.runs import RunsScreen

        if self._shelf is not None and not isinstance(self.screen, RunsScreen):
            self.push_screen(RunsScreen(self._shelf()))
