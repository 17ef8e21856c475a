"""JSON of others: whatever is in it, a ValueError is the worst that happens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.jsontext import read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_is_written_is_read(value: object) -> None:
    for escaped in (True, False):
        text = json.dumps(value, ensure_ascii=escaped)
        assert read_json(text) == read_json(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": ' + "[" * 200_000, "nested too deeply"),
        ('{"prompt": "\\ud800 x"}', "half of a character"),
        ('["x", {"\\uDC00": 1}]', "half of a character"),
        ('{"a": ', "Expecting"),
    ],
)
def test_what_cannot_be_used_is_a_value_error(text: str, said: str) -> None:
    for document in (text, text.encode()):
        with pytest.raises(ValueError, match=said):
            read_json(document)


def test_a_pair_of_halves_is_a_character() -> None:
    assert read_json('"\\ud83d\\ude00"') == "😀"
