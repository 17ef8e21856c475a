"""What runs, written down as a profile: a name is asked for, and nothing is overwritten unasked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from textual.app import App

from eagletui.model.errors import EagletuiError
from eagletui.model.switching import Kept, ProfileTaken, Switcher
from eagletui.model.text import visible
from eagletui.store.profiles.file import NAME
from eagletui.tui.screens.confirm import Confirm
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.switching import kept_text, overwrite_question

READ_FOR = 15.0
"""Seconds that a path stays on the screen, to be read and copied."""


class Import:
    """One import, from the question for a name to the path of the file.

    Args:
        pid: of the server that runs.
        done: called once the file is written.
    """

    def __init__(
        self, app: App[None], switcher: Switcher, pid: int, done: Callable[[], object]
    ) -> None:
        self._app, self._switcher, self._pid, self._done = app, switcher, pid, done

    def begin(self) -> None:
        """Ask the host what to call it, then the person."""
        self._run(self._suggest())

    async def _suggest(self) -> None:
        self._ask(await self._switcher.profile_name(self._pid))

    def _ask(self, name: str) -> None:
        def answered(name: str | None) -> None:
            if name is not None:
                self._run(self._keep(name.strip()))

        self._app.push_screen(
            Prompt("write what runs as the profile", "name", name, _complaint), answered
        )

    async def _keep(self, name: str, *, over: bool = False) -> None:
        try:
            kept = await self._switcher.keep(self._pid, name, over=over)
        except ProfileTaken as taken:
            self._ask_over(name, taken.path)
        else:
            self._say(kept)

    def _ask_over(self, name: str, path: str) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._run(self._keep(name, over=True))
            else:
                self._ask(name)

        self._app.push_screen(Confirm(overwrite_question(name, path), no="Another name"), answered)

    def _say(self, kept: Kept) -> None:
        self._app.notify(
            visible(kept_text(kept)), title="Profile written", timeout=READ_FOR, markup=False
        )
        self._done()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._app.run_worker(self._told(work), name="import", group="import")

    async def _told(self, work: Awaitable[None]) -> None:
        try:
            await work
        except EagletuiError as error:
            self._app.notify(
                visible(error.sentences),
                title="Not written",
                severity="error",
                timeout=READ_FOR,
                markup=False,
            )


def _complaint(name: str) -> str:
    good = NAME.fullmatch(name.strip())
    return "" if good else "Use letters, digits, dots, dashes and underscores."
