"""Snapshots of a screen as plain text: what a person reads, without colours.

Set EAGLETUI_UPDATE_SNAPSHOTS=1 to write what is there now.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from textual.app import App

FOLDER = Path(__file__).parent / "snapshots"


def screen_text(app: App[Any]) -> str:
    """Every row of the screen as composed now, without trailing blanks."""
    # The compositor is private; this is the one place that reaches for it.
    strips = app.screen._compositor.render_strips()
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
