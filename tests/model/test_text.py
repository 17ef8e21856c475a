from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.text import visible, visible_bytes


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;c2VjcmV0\x1b\\x", "x"),
        ("a\tb", "a    b"),
        ("\x00\x07\x08", "···"),
        ("mode\x9b31mx", "modex"),
        ("user\u202egpj.exe", "user·gpj.exe"),
        ("12%|█▎  |", "12%|█▎  |"),
        ("日本語 ログ", "日本語 ログ"),
    ],
)
def test_what_is_shown(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@given(st.text())
def test_nothing_that_moves_the_cursor_survives(text: str) -> None:
    shown = visible(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)


@given(st.binary())
def test_any_bytes_become_a_bounded_line(data: bytes) -> None:
    shown = visible_bytes(data, limit=64)
    assert len(shown) <= 64 * 4 + 40
    assert "\x1b" not in shown
    assert ("bytes)" in shown) >= (len(data) > 64)
