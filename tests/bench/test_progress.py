"""How fast a cell is: unknown before there is a figure, never 0."""

from __future__ import annotations

import pytest

from eagletui.bench.progress import Progress


@pytest.mark.parametrize(
    ("tokens", "seconds", "speed"),
    [(0, 0.0, None), (0, 0.6, None), (0, 90.0, None), (9, 0.4, None), (9, 0.6, 15.0)],
)
def test_there_is_no_speed_before_the_first_token(
    tokens: int, seconds: float, speed: float | None
) -> None:
    now = Progress(
        cell=1, cells=1, concurrency=1, repeat=0, repeats=1, done=0, requests=4, tokens=tokens,
        seconds=seconds,
    )  # fmt: skip
    assert now.tok_s == (None if speed is None else pytest.approx(speed))
