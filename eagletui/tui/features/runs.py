"""What was measured and watched before."""

from __future__ import annotations

from collections.abc import Callable

from eagletui.model.keeping import RunShelf
from eagletui.tui.features.core import Core


class RunActions(Core):
    """The way to the list of runs."""

    _shelf: Callable[[], RunShelf] | None
    """Gives what is kept; None where nothing is."""
    _kept: RunShelf | None = None
    """The same once it was wanted: it remembers what it read."""

    def action_runs(self) -> None:
        """The list of runs, to compare some."""
        from eagletui.tui.screens.runs import RunsScreen

        if self._shelf is None or isinstance(self.screen, RunsScreen):
            return
        self._kept = self._kept or self._shelf()
        self.push_screen(RunsScreen(self._kept))
