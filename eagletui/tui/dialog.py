"""What all dialogs have in common."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

_T = TypeVar("_T")


class Dialog(ModalScreen[_T]):
    """A question that lies over a screen, and is answered once."""

    def dismiss(self, result: _T | None = None) -> AwaitComplete:
        """Close it with an answer.

        Keys that came while the answer was still under way are this dialog's as well; Textual
        would close the screen below for each of them, down to the last one.
        """
        if self.is_active:
            return super().dismiss(result)
        return AwaitComplete()
