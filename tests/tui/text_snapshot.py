"""Snapshots of a screen as plain text: what a person reads, without colours.

Set EAGLETUI_UPDATE_SNAPSHOTS=1 to write what is there now.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from textual.app import App
from textual.screen import Screen

FOLDER = Path(__file__).parent / "snapshots"


def screen_text(app: App[Any], screen: Screen[Any] | None = None) -> str:
    """Every row of a screen (the one on top) as composed now, without trailing blanks."""
    # The compositor is private; this is the one place that reaches for it.
    strips = (screen or app.screen)._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips) + "\n"


def assert_snapshot(app: App[Any], name: str) -> None:
    """The screen reads as it did when the snapshot `name` was written."""
    path = FOLDER / f"{name}.txt"
    text = screen_text(app)
    if os.environ.get("EAGLETUI_UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no snapshot {path}: set EAGLETUI_UPDATE_SNAPSHOTS=1 to write it"
    assert text == path.read_text(encoding="utf-8"), f"{name} changed:\n{text}"


class Frames:
    """Every picture that an app gives its terminal from now on, as text; use it in `with`."""

    def __init__(self, app: App[Any]) -> None:
        self._app, self._real = app, app._display
        self.shown: list[str] = []

    def __enter__(self) -> Frames:
        def display(screen: Screen[Any], renderable: Any) -> None:
            text = screen_text(self._app)
            if self.shown[-1:] != [text]:
                self.shown.append(text)
            self._real(screen, renderable)

        self._app._display = display  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        del self._app._display
