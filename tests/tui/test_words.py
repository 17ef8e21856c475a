"""Numbers as text, and text in exact widths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from eagletui.tui import words
from eagletui.tui.draw import Field, bar, fit, fit_middle, pack


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (8040, "2 h 14 min"),
        (273_600, "3 d 4 h"),
        (-3, "0 s"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.374, "0.37 ms"), (27.42, "27.4 ms"), (812.4, "812 ms"), (12_040, "12.0 s")],
)
def test_milliseconds(value: float | None, text: str) -> None:
    assert words.milliseconds(value) == text


def test_other_words() -> None:
    assert words.clock(42) == "0:42"
    assert words.clock(3725) == "1:02:05"
    assert words.rate(1722.4) == "1,722"
    assert words.rate(9.44) == "9.4"
    assert words.rate(0.0) == "0"
    assert words.percent(0.424) == "42 %"
    assert words.gib(143_771) == "140.4"
    assert words.count(1, "request") == "1 request"
    assert words.count(4, "request") == "4 requests"


@given(st.text(max_size=40), st.integers(0, 50), st.sampled_from(["left", "right"]))
def test_fit_is_exact(text: str, width: int, align: str) -> None:
    text = "".join(c for c in text if c.isprintable())
    assert cell_len(fit(text, width, align)) == width  # type: ignore[arg-type]


@given(st.floats(0, 1), st.integers(2, 60))
def test_a_bar_is_exact_and_full_only_at_the_end(fraction: float, width: int) -> None:
    drawn = bar(fraction, width)
    assert len(drawn) == width
    assert (drawn == "█" * width) is (fraction == 1.0)
    assert (drawn == "░" * width) is (fraction == 0.0)


def test_bars_in_ascii() -> None:
    assert bar(0.5, 4, ascii_only=True) == "##.."
    assert bar(None, 3) == "░░░"


def test_a_path_keeps_its_end() -> None:
    assert fit_middle("/srv/llm/logs/kimi.log", 12) == "…ogs/kimi.log"[-12:].replace("o", "…", 1)
    assert fit_middle("short", 12) == "short"


def test_the_least_important_field_goes_first() -> None:
    fields = [Field(2, "aaaa"), Field(0, "bbbb"), Field(1, "cccc")]
    assert pack(fields, 16).plain == "aaaa  bbbb  cccc"
    assert pack(fields, 15).plain == "bbbb  cccc"
    assert pack(fields, 5).plain == "bbbb"
    assert pack(fields, 3).plain == "bb…"
    assert pack([], 10).plain == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.0, "0 s ago"),
        (12.4, "12 s ago"),
        (99.4, "99 s ago"),
        (180.0, "3 min ago"),
        (7200.0, "2 h ago"),
        (3 * 86400.0, "3 d ago"),
    ],
)
def test_how_long_ago(value: float, text: str) -> None:
    assert words.ago(value) == text
