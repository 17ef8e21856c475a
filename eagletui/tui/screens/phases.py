"""The list of a log's landmarks, to jump to one."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from eagletui.model.logstore import LogStore
from eagletui.model.safe import safe_line
from eagletui.tui.dialog import Dialog
from eagletui.tui.draw import fit, line
from eagletui.tui.landmarks import Landmarks
from eagletui.tui.widgets.options import Options

CHUNK = 5_000
MOST = 500
_STAMP = re.compile(r"^\[[^\]]*\] ?")


class Found(NamedTuple):
    """A landmark in a log."""

    number: int
    title: str
    text: str
    time: str = ""


async def landmarks_in(store: LogStore) -> list[Found]:
    """Every landmark kept, in order; the event loop runs between chunks of lines."""
    found: list[Found] = []
    landmarks = Landmarks()
    for number in range(store.first, store.end):
        if number % CHUNK == 0:
            await asyncio.sleep(0)
        text = safe_line(store.line(number))
        seen = landmarks.see(text)
        if seen is not None:
            found.append(Found(number, seen.title, _STAMP.sub("", text), seen.time))
    return found[-MOST:]


class PhaseList(Dialog[int | None]):
    """Dismisses with the number of the chosen line."""

    BINDINGS = [("escape", "cancel", "Cancel")]

    def __init__(self, found: list[Found]) -> None:
        super().__init__()
        self._found = found

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = "jump to"
            if not self._found:
                yield Static("No phase was seen in the part of the log that is kept.")
                return
            yield Options(
                *(
                    Option(
                        line(
                            (fit(found.time, 10), "$quiet"),
                            (fit(found.title, 22), "bold"),
                            (found.text[:300], "$quiet"),
                        ).truncate(66, ellipsis=True),
                        id=str(found.number),
                    )
                    for found in self._found
                )
            )

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(int(event.option_id or 0))

    def action_cancel(self) -> None:
        """Stay where we are."""
        self.dismiss(None)
