"""Every screen as text in four sizes, the same words in five themes, and a few pictures.

`EAGLETUI_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_snapshots.py` writes the text files again;
`pytest --snapshot-update` the pictures. Look at the difference before committing it.
"""

from __future__ import annotations

from typing import Protocol

import pytest
from textual.app import App

from eagletui.tui.config import Settings
from tests.tui.driving import make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.text_snapshot import assert_snapshot, screen_text

SIZES = ((60, 20), (80, 24), (120, 35), (200, 50))
# Name → (scene, keys pressed).
SCREENS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{scene: (scene, ()) for scene in SCENES},
    "paused": ("serving", ("space", "left")),
    "filled": ("serving", ("1", "1")),
    "startup_after_ready": ("serving", ("g",)),
    "log": ("serving", ("l",)),
    "details": ("serving", ("d",)),
    "help": ("serving", ("question_mark",)),
    "legend": ("serving", ("f2",)),
    "ask_log": ("none_found", ("o",)),
}
THEMES = ("eagle-light", "eagle-cb-dark", "ansi-dark", "ansi-light")
THEMED = ("serving", "loading", "crashed", "several", "cannot_connect", "log")
PICTURES = (
    ("serving", (120, 35), "eagle-dark"),
    ("loading", (120, 35), "eagle-light"),
    ("crashed", (80, 24), "eagle-cb-dark"),
    ("several", (80, 24), "ansi-dark"),
    ("log", (120, 35), "eagle-dark"),
)


class SnapCompare(Protocol):
    """The fixture of pytest-textual-snapshot."""

    def __call__(self, app: App[None], **options: object) -> bool: ...


@pytest.mark.parametrize("name", SCREENS)
async def test_screens_in_every_size(name: str) -> None:
    scene, keys = SCREENS[name]
    app = make_app(SCENES[scene]())
    async with app.run_test(size=SIZES[0], notifications=False) as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            text = screen_text(app)
            lines = text.splitlines()
            assert len(lines) == height
            assert max(map(len, lines)) <= width
            assert_snapshot(app, f"screens/{name}-{width}x{height}")


@pytest.mark.parametrize("name", THEMED)
async def test_no_theme_changes_what_is_said(name: str) -> None:
    scene, keys = SCREENS[name]
    app = make_app(SCENES[scene]())
    async with app.run_test(size=(80, 24), notifications=False) as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
        for theme in THEMES:
            app.theme = theme
            await settle(pilot)
            assert_snapshot(app, f"screens/{name}-80x24")


@pytest.mark.parametrize("name", THEMED)
async def test_without_colour(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    scene, keys = SCREENS[name]
    app = make_app(SCENES[scene]())
    async with app.run_test(size=(80, 24), notifications=False) as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
        await settle(pilot)
        assert_snapshot(app, f"screens/{name}-80x24-no-colour")


@pytest.mark.parametrize(("name", "size", "theme"), PICTURES)
def test_pictures(snap_compare: SnapCompare, name: str, size: tuple[int, int], theme: str) -> None:
    scene, keys = SCREENS[name]
    app = make_app(SCENES[scene](), Settings(theme=theme))
    assert snap_compare(app, terminal_size=size, press=keys, run_before=settle)
