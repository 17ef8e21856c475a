"""A list of options that takes every key at every moment."""

from __future__ import annotations

from textual.widgets import OptionList


class Options(OptionList):
    """Textual's list; a page is as high as the list, so there is none before it has a height.

    Textual 8.2 looks up the line of the marked option then, and ends the program.
    """

    def action_page_up(self) -> None:
        """One page up, once there are pages."""
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """One page down, once there are pages."""
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]
