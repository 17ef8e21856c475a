"""`amd-smi --json`, for hosts that have it and no `rocm-smi`.

Seen: AMD SMI 26.2.1 (ROCm 7.2) with `gpu_data` around the list, older ones with the bare list, the
MI300X and MI355X and Radeon cards in it; a value is `{"value": 239, "unit": "W"}` or `"N/A"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eagletui.model.jsontext import read_json
from eagletui.model.server import Gpu
from eagletui.model.text import visible

METRIC = (
    *("amd-smi", "metric", "--usage", "--power", "--clock", "--temperature", "--mem-usage"),
    "--json",
)
STATIC = ("amd-smi", "static", "--asic", "--limit", "--json")

Path = tuple[str, ...]
# Attribute of Gpu → where it stands; the first that says a number.
_METRIC: dict[str, tuple[Path, ...]] = {
    "utilization": (("usage", "gfx_activity"),),
    "power": (("power", "socket_power"),),
    "memory_used": (("mem_usage", "used_vram"),),
    "memory_total": (("mem_usage", "total_vram"),),
    "temperature": (("temperature", "hotspot"), ("temperature", "edge")),
    "clock": (("clock", "gfx_0", "clk"),),
}
_STATIC: dict[str, tuple[Path, ...]] = {
    "power_limit": (("limit", "ppt0", "socket_power_limit"), ("limit", "socket_power")),
}
_NAME: Path = ("asic", "market_name")
_SERIAL: Path = ("asic", "asic_serial")
# Their MB are MiB: an MI355X with 288 GiB says 294896.
_MIB = {"B": 2**-20, "KB": 2**-10, "GB": 2.0**10}
_NUMBER = re.compile(r"(?a)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")


def parse_amd(metric: bytes, static: bytes = b"") -> tuple[Gpu, ...]:
    """Both answers as readings; empty where the first is something else.

    Args:
        metric: of `METRIC`.
        static: of `STATIC`; names and limits are unknown without it.
    """
    named = dict(_cards(static))
    gpus = []
    for index, card in _cards(metric):
        about = named.get(index, {})
        numbers = {name: _first(card, paths) for name, paths in _METRIC.items()}
        numbers |= {name: _first(about, paths) for name, paths in _STATIC.items()}
        gpus.append(
            Gpu(
                index=index, name=_text(about, _NAME), uuid=_text(about, _SERIAL), **_known(numbers)
            )
        )
    return tuple(sorted(gpus, key=lambda gpu: gpu.index))


def _cards(output: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The tool's complaints may stand before the JSON."""
    start = re.search(rb"^[\[{]", output, re.MULTILINE)
    try:
        found: Any = read_json(output[start.start() :]) if start else ()
    except ValueError:
        return
    cards = found.get("gpu_data") if isinstance(found, dict) else found
    for card in cards if isinstance(cards, list) else ():
        if not isinstance(card, dict):
            continue
        index = card.get("gpu")
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < 10_000:
            yield index, card


def _known(numbers: Mapping[str, float | None]) -> dict[str, Any]:
    return {name: number for name, number in numbers.items() if number is not None}


def _at(card: Mapping[str, Any], path: Path) -> object:
    found: object = card
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _first(card: Mapping[str, Any], paths: tuple[Path, ...]) -> float | None:
    return next((n for path in paths if (n := _number(_at(card, path))) is not None), None)


def _number(value: object) -> float | None:
    unit: object = value.get("unit") if isinstance(value, dict) else ""
    value = value.get("value") if isinstance(value, dict) else value
    written = _NUMBER.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    if written is not None:
        value, unit = float(written[1]), written[2] or unit
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
        return None
    return value * _MIB.get(unit, 1.0) if isinstance(unit, str) else float(value)


def _text(card: Mapping[str, Any], path: Path) -> str:
    found = _at(card, path)
    return visible(found) if isinstance(found, str) and found != "N/A" else ""
