"""amd-smi's answers, in the forms that releases give them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.host.amdsmi import METRIC, STATIC, parse_amd
from eagletui.host.gpus import GpuReader
from eagletui.model.server import Gpu


def of(value: object, unit: str) -> dict[str, object]:
    return {"value": value, "unit": unit}


# As AMD SMI 26.2.1 answers, shortened.
CARD = {
    "gpu": 3,
    "usage": {"gfx_activity": of(97, "%"), "umc_activity": of(0, "%"), "vcn_activity": ["N/A"]},
    "power": {"socket_power": of(239, "W"), "throttle_status": "UNTHROTTLED"},
    "clock": {"gfx_0": {"clk": of(1877, "MHz"), "max_clk": of(2200, "MHz")}, "gfx_1": "N/A"},
    "temperature": {"edge": "N/A", "hotspot": of(36, "C"), "mem": of(33, "C")},
    "mem_usage": {"total_vram": of(294896, "MB"), "used_vram": of(283, "MB")},
}
ABOUT = {
    "gpu": 3,
    "asic": {"market_name": "AMD Instinct MI355X", "asic_serial": "0x6F1F0A2B"},
    "limit": {"ppt0": {"socket_power_limit": of(1400, "W")}, "ppt1": "N/A"},
}
WHOLE = Gpu(
    index=3,
    name="AMD Instinct MI355X",
    uuid="0x6F1F0A2B",
    utilization=97,
    power=239,
    power_limit=1400,
    memory_used=283,
    memory_total=294896,
    temperature=36,
    clock=1877,
)


def said(*cards: object, bare: bool = False) -> bytes:
    return json.dumps(list(cards) if bare else {"gpu_data": cards}, indent=4).encode()


@pytest.mark.parametrize("bare", [False, True])
def test_a_whole_answer(bare: bool) -> None:
    assert parse_amd(said(CARD, bare=bare), said(ABOUT, bare=bare)) == (WHOLE,)
    warned = b"WARNING: [user] is missing the group render\n" + said(CARD, bare=bare)
    assert parse_amd(warned, said(ABOUT)) == (WHOLE,)


def test_an_older_limit_and_other_units() -> None:
    about = {"gpu": 0, "limit": {"max_power": of(1400, "W"), "socket_power": of(750, "W")}}
    card = {"gpu": 0, "mem_usage": {"total_vram": of(2**34, "B"), "used_vram": of(1, "GB")}}
    (gpu,) = parse_amd(said({**card, "usage": {"gfx_activity": "72 %"}}), said(about))
    assert (gpu.power_limit, gpu.memory_total, gpu.memory_used) == (750, 16384, 1024)
    assert gpu.utilization == 72


def test_what_is_not_available_is_unknown() -> None:
    card = {"gpu": 1, "usage": "N/A", "mem_usage": {"used_vram": "N/A"}, "power": None}
    assert parse_amd(said(card, {"gpu": 0}, {"gpu": True}, 7)) == (Gpu(index=0), Gpu(index=1))


@given(st.binary(max_size=40) | st.sampled_from([b"[" * 100_000, b'{"gpu_data": 3}', b"[[]]"]))
def test_any_answer_is_survived(answer: bytes) -> None:
    assert parse_amd(answer, answer) == ()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "unit", "gfx_0", "clk", "asic"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["gpu", *CARD, *ABOUT]), values))
def test_any_card_is_survived(card: dict[str, Any]) -> None:
    assert len(parse_amd(said({**card, "gpu": 1}), said({**card, "gpu": 1}))) == 1


async def test_it_is_asked_where_the_others_are_not_there() -> None:
    asked: list[tuple[str, ...]] = []

    async def run(argv: Sequence[str], *, timeout: float) -> SimpleNamespace:
        asked.append(tuple(argv))
        answer = {METRIC: said(CARD), STATIC: said(ABOUT)}.get(tuple(argv), b"")
        status = 0 if answer else 127
        return SimpleNamespace(stdout=answer, stderr=b"", status=status, ok=not status)

    reader = GpuReader(SimpleNamespace(run=run))
    assert await reader.read() == (WHOLE,)
    assert await reader.read() == (WHOLE,)
    assert [argv[0] for argv in asked[:3]] == ["nvidia-smi", "rocm-smi", "amd-smi"]
    assert asked.count(STATIC) == 1
