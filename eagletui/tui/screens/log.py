"""The whole log, with search, filters and a line that says what is hidden."""

from __future__ import annotations

from collections.abc import Iterator

from textual.widget import Widget

from eagletui.tui.bindings import bindings_for
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.view import View
from eagletui.tui.widgets.log_holder import LogHolder


class LogScreen(EagleScreen):
    """The log and nothing else."""

    KIND = "log"
    BINDINGS = bindings_for("log")

    def body(self) -> Iterator[Widget]:
        yield LogHolder(id="log")

    def show(self, view: View) -> None:
        """New lines go to the log's view."""
        super().show(view)
        self.query_one("#log", LogHolder).show(view)
