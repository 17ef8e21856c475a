"""What a command says while a server is stopped and started."""

from __future__ import annotations

import pytest

from eagletui.cli.controlling import _Narrator
from eagletui.control.api import Progress
from eagletui.model.events import PhaseBegan, PhaseEnded
from eagletui.model.restart import Standing


def test_a_count_down_is_said_once_and_a_change_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    narrator = _Narrator()
    for running, left in ((4, 30), (4, 29), (4, 28), (3, 27), (3, 26), (4, 25)):
        detail = f"{running} in flight; aborted in {left} s if they have not ended"
        standing = Standing(state="draining")
        narrator.hear(Progress(at=0.0, launch="x", standing=standing, detail=detail))
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        f"{running} in flight; aborted in {left} s if they have not ended"
        for running, left in ((4, 30), (3, 27), (4, 25))
    ]


def test_a_phase_is_said_once_however_many_ranks_go_through_it_and_again_on_the_way_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    narrator = _Narrator()
    for back in (False, True):
        standing = Standing(state="loading", rolling_back=back)
        for _ in range(8):
            for event in (
                PhaseBegan(at=0.0, server="s", name="graphs", role="draft"),
                PhaseEnded(at=0.0, server="s", name="graphs", role="draft", seconds=1.5),
                PhaseEnded(at=0.0, server="s", name="kv cache", seconds=None),
                PhaseEnded(at=0.0, server="s", name="kv cache", seconds=0.0),
            ):
                narrator.hear(Progress(at=0.0, launch="x", standing=standing, event=event))
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["draft graphs", "draft graphs: 1.5 s", "kv cache: 0.0 s"] * 2
