"""The first picture of a screen says what is known: nothing is laid out or filled in later."""

from __future__ import annotations

import pytest

from eagletui.model import events as ev
from tests.tui.driving import inject, make_app, settle
from tests.tui.scenes import KEY, NOW, SCENES
from tests.tui.text_snapshot import Frames, screen_text

OTHER = "5151@1200"


def edges(text: str) -> list[str]:
    """Where frames stand, whatever is in them."""
    return ["".join(c if c in "╭╮╰╯" else " " for c in line).rstrip() for line in text.split("\n")]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 35), (200, 50)])
@pytest.mark.parametrize("server", [KEY, OTHER])
async def test_a_server_picked_from_the_list_is_there_at_once(
    server: str, size: tuple[int, int]
) -> None:
    app = make_app(SCENES["several"]())
    async with app.run_test(size=size, notifications=False) as pilot:
        await settle(pilot)
        with Frames(app) as frames:
            await inject(app, pilot, ev.ServerSelected(at=NOW, server=server))
        last = screen_text(app).splitlines()
        assert len(frames.shown) >= 1
        for frame in frames.shown:
            lines = frame.splitlines()
            assert edges(frame) == edges(screen_text(app))
            assert lines[:3] == last[:3]
            assert lines[-1] == last[-1]
            assert ("8 GPUs" in frame or "NVIDIA" in frame) == any(
                "8 GPUs" in t or "NVIDIA" in t for t in last
            )
        if server == KEY:
            assert "queued" in frames.shown[0]
        else:
            assert "▶ RUNNING  Reading its log." in frames.shown[0]
            assert "pid 5151  user bob  up 1 min 30 s" in frames.shown[0]
            assert "log qwen.service (journald unit)" in frames.shown[0]
