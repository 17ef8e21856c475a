"""What a command says while a server is stopped and started."""

from __future__ import annotations

import pytest

from eagletui.cli.controlling import _tell
from eagletui.control.api import Progress
from eagletui.model.restart import Standing


def test_a_count_down_is_said_once_and_a_change_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said: tuple[object, ...] = ()
    for running, left in ((4, 30), (4, 29), (4, 28), (3, 27), (3, 26), (4, 25)):
        detail = f"{running} in flight; aborted in {left} s if they have not ended"
        progress = Progress(at=0.0, launch="x", standing=Standing(state="draining"), detail=detail)
        said = _tell(progress, said)
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        f"{running} in flight; aborted in {left} s if they have not ended"
        for running, left in ((4, 30), (3, 27), (4, 25))
    ]
