"""Events made from their types, and small recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from eagletui.model.events import Event
from eagletui.store.recording.codec import About
from eagletui.store.recording.writer import Limits, Writer

KINDS: tuple[type, ...] = get_args(Event)
ABOUT = About(version="1.2.3", host="gpu1", began=1000.0, utc_offset=3600.0)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=16),
    type(None): st.none(),
    Any: _ANY,
}


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of this annotation."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*map(of, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(of(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of, arguments))
    if origin is dict:
        return st.dictionaries(of(arguments[0]), of(arguments[1]), max_size=2)
    assert issubclass(hint, msgspec.Struct), hint
    hints: Mapping[str, Any] = get_type_hints(hint)
    return st.builds(hint, **{name: of(hints[name]) for name in hint.__struct_fields__})


def write(
    path: Path,
    batches: Sequence[tuple[float, Sequence[Event]]],
    *,
    limits: Limits | None = None,
    each: bool = False,
    close: bool = True,
) -> Writer:
    """A recording of these; `each` puts every batch in a block of its own."""
    writer = Writer(path, ABOUT, limits=limits)
    for at, events in batches:
        writer.add(at, events)
        if each:
            writer.flush()
    if close:
        writer.close()
    else:
        writer.flush()
    return writer
