"""Pages over what is watched: help, meanings, the log, details; and a picture of the screen."""

from __future__ import annotations

from pathlib import Path

from textual.theme import ThemeProvider

from eagletui.tui.features.core import Core
from eagletui.tui.palette import Palette
from eagletui.tui.screens.base import EagleScreen


class PageActions(Core):
    """Actions that show something, or keep what is shown."""

    def action_help(self) -> None:
        """Keys of the screen on top."""
        screen = self.screen
        if isinstance(screen, EagleScreen) and screen.KIND not in ("help", "legend"):
            from eagletui.tui.screens.pages import HelpScreen

            self.push_screen(HelpScreen(screen.KIND, screen.facts))

    def action_command_palette(self) -> None:
        """Find an action by its name."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """Choose a theme by its name."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_legend(self) -> None:
        """What the numbers mean."""
        if isinstance(self.screen, EagleScreen) and self.screen.KIND != "legend":
            from eagletui.tui.screens.pages import LegendScreen

            self.push_screen(LegendScreen())

    def action_log(self) -> None:
        """The whole log."""
        from eagletui.tui.screens.log import LogScreen

        self.push_screen(LogScreen())

    def action_details(self) -> None:
        """Everything known of the server."""
        from eagletui.tui.screens.pages import DetailsScreen

        self.push_screen(DetailsScreen())

    def action_picture(self) -> None:
        """Save the screen as SVG and say where."""
        try:
            path = self.save_screenshot(path=str(Path.cwd()))
        except OSError as error:
            why = error.strerror or str(error)
            text = f"{why}. Start eagletui in a folder that you may write to."
            self.notify(text, title="No screenshot saved", severity="error", markup=False)
            return
        self.notify(path, title="Screenshot saved", markup=False)
