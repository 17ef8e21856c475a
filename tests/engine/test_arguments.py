"""`server_args` of both shapes, read without evaluating."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.arguments import read_arguments, speculative_of
from eagletui.model.secrets import MASK
from eagletui.model.text import visible_value
from tests.engine.logs import recorded


def arguments_of(name: str) -> dict[str, object]:
    line = next(line for line in recorded(name).split(b"\n") if b"] server_args=" in line)
    return read_arguments(line.decode().partition("server_args=")[2])


def test_a_dataclass_to_0_5_19() -> None:
    args = arguments_of("dense_k3")
    assert len(args) == 445
    assert args["model_path"] == "/models/dense"
    assert args["mem_fraction_static"] == 0.6
    assert args["cuda_graph_config"]["decode"]["bs"] == [1, 2, 3, 4, 5, 6, 7, 8]  # type: ignore[index]
    assert args["uvicorn_access_log_exclude_prefixes"] == []
    assert args["device"] == "cuda"


def test_a_dict_from_0_5_20() -> None:
    args = arguments_of("eagle_term")
    assert len(args) == 546
    assert args["model_loader_extra_config"] == "{}"
    assert args["hicache_ratio"] == 2.0
    assert args["return_aux_hidden_state_layer_ids"] is None


def test_what_is_no_literal_stays_text() -> None:
    args = read_arguments(
        "ServerArgs(a=<Mode.FAST: 1>, b=<function f at 0x7f>, c={'x', 'y'}, d=Path('/a, b'), "
        "e=torch.float16, f=-1.5e-3, g=('a', 'b'), h='it\\'s', i=b'raw', j={}, k=inf, l=None)"
    )
    assert args == {
        "a": "<Mode.FAST: 1>",
        "b": "<function f at 0x7f>",
        "c": ["x", "y"],
        "d": ["/a, b"],
        "e": "torch.float16",
        "f": -0.0015,
        "g": ["a", "b"],
        "h": "it's",
        "i": "raw",
        "j": {},
        "k": "inf",
        "l": None,
    }


def test_secrets_are_masked_wherever_they_stand() -> None:
    args = read_arguments("{'api_key': 'open-sesame', 'x': {'hf_token': 'abc'}, 'port': 1}")
    assert args == {"api_key": MASK, "x": {"hf_token": MASK}, "port": 1}


def test_a_cut_line_gives_what_came_before() -> None:
    assert read_arguments("ServerArgs(model_path='m', port=30000, api_k")["port"] == 30000


def test_nothing_is_evaluated() -> None:
    args = read_arguments("ServerArgs(a=__import__('os').system('false'), b=2)")
    assert args["b"] == 2


def test_speculation() -> None:
    speculative = speculative_of(arguments_of("nextn_tree_term"))
    assert speculative.short == "EAGLE k=4 topk=2 draft=8"
    assert not speculative_of({"speculative_algorithm": None}).on
    assert not speculative_of({"speculative_algorithm": 7}).on


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abc \\'\"{}[](),:=é\n", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}_x", fullmatch=True), _VALUES, max_size=4))
def test_a_repr_comes_back(value: dict[str, object]) -> None:
    assert read_arguments(repr(value)) == visible_value(value)
    call = "ServerArgs(" + ", ".join(f"{key}={item!r}" for key, item in value.items()) + ")"
    assert read_arguments(call) == visible_value(value)


@given(st.text("'\"{}[]()<>,:= \\ab0.x", max_size=120), st.integers(0, 60))
def test_any_text_is_survived_and_can_be_json(text: str, cut: int) -> None:
    for candidate in (text, "{" + text, "ServerArgs(" + text, repr({"a": text})[:cut]):
        json.dumps(read_arguments(candidate))


def test_deep_nesting_is_survived() -> None:
    read_arguments("{'a': " * 5000)
    read_arguments("ServerArgs(a=" + "[" * 50_000)
