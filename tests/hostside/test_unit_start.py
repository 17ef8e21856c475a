"""Where a unit's own settings send what it says."""

from __future__ import annotations

import pytest

from eagletui.hostside.agent.unit_start import outputs_of

A, B, C = "append:/a", "file:/b b", "truncate:/c"


@pytest.mark.parametrize(
    ("texts", "files"),
    [
        ([f"StandardOutput={A}\nStandardError={B}\n"], ["/b b", "/a"]),
        ([f"StandardError={B}\nStandardOutput={A}\n"], ["/b b", "/a"]),
        ([f"StandardError={B}\n"], ["/b b"]),
        ([f" StandardOutput = {A} \n"], ["/a", "/a"]),  # errors follow it
        ([f"StandardOutput={A}\nStandardError=inherit"], ["/a", "/a"]),
        ([f"StandardOutput={A}\nStandardError=journal"], []),
        ([f"StandardOutput={A}\nStandardError={B}", f"StandardError={C}"], ["/c", "/a"]),
        ([f"StandardOutput={A}\nStandardError={B}", "StandardError="], ["/a", "/a"]),
        ([f"StandardOutput={A}", "StandardOutput=journal"], []),
        ([f"#StandardError={B}\n;StandardError={B}"], []),
        ([], []),
    ],
)
def test_the_last_word_on_the_errors_comes_first(texts: list[str], files: list[str]) -> None:
    assert outputs_of(texts) == files
