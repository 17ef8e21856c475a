"""A painted line cut and wrapped: nothing lost, nothing cut in two."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

from eagletui.tui.widgets.log_lines import Painted, paint

GRAPHEMES = ("a", " ", "模", "型", "é", "e\u0301", "👍", "👩\u200d💻", "❤\ufe0f", "█", "한")
TEXTS = st.lists(st.sampled_from(GRAPHEMES), max_size=30).map("".join)


def painted(text: str) -> Painted:
    return paint(text, "info", lambda _: Style())


def shown(segments: list[Segment]) -> str:
    return "".join(segment.text for segment in segments)


def graphemes(text: str) -> list[str]:
    return [text[begin:end] for begin, end, _ in split_graphemes(text)[0]]


@given(TEXTS, st.integers(2, 12))
def test_wrapping_keeps_every_character_whole(text: str, room: int) -> None:
    rows = [shown(row) for row in painted(text).rows(room, 1000)]
    assert "".join(rows) == text
    assert [part for row in rows for part in graphemes(row)] == graphemes(text)
    assert all(cell_len(row) <= room for row in rows)


@given(TEXTS, st.integers(0, 40), st.integers(1, 20))
def test_sideways_every_character_is_whole_or_blank(text: str, left: int, room: int) -> None:
    line = painted(text)
    part = shown(line.cut(left, room))
    assert cell_len(part) == max(0, min(line.width, left + room) - left)
    assert set(graphemes(part)) <= {*graphemes(text), " "}


def test_a_wide_character_at_an_edge_leaves_a_blank() -> None:
    line = painted("模型ab模")
    assert shown(line.cut(1, 4)) == " 型a"
    assert shown(line.cut(2, 5)) == "型ab "
    assert [shown(row) for row in line.rows(3, 9)] == ["模", "型a", "b模"]
    assert [shown(row) for row in line.rows(1, 9)] == [" ", " ", "a", "b", " "]


def test_too_many_rows_are_counted() -> None:
    rows = [shown(row) for row in painted("模" * 100).rows(20, 3)]
    assert rows == ["模" * 10, "模" * 10, "模模模… (+140 cells)"]
