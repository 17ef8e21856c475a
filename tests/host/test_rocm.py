"""What rocm-smi leaves open stays unknown, whatever it calls things."""

from __future__ import annotations

import json

import pytest

from eagletui.host.gpus import parse_rocm


@pytest.mark.parametrize("name", ["Card Series", "Card series", "Card Model", "Card model"])
@pytest.mark.parametrize(
    "power", ["Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)"]
)
def test_names_of_all_releases(name: str, power: str) -> None:
    card = {name: "AMD Instinct MI300X", power: "550.0", "GPU use (%)": 88, "Unique ID": "0x12ab"}
    (gpu,) = parse_rocm(json.dumps({"card3": card, "system": {"Driver version": "6.8"}}).encode())
    assert (gpu.index, gpu.name, gpu.uuid) == (3, "AMD Instinct MI300X", "0x12ab")
    assert (gpu.power, gpu.utilization) == (550.0, 88.0)


def test_what_is_not_available_is_unknown() -> None:
    card = {
        "Card Series": "N/A",
        "Card Model": "0x74a1",
        "Unique ID": "N/A",
        "GPU use (%)": "N/A",
        "Current Socket Graphics Package Power (W)": "N/A",
        "VRAM Total Memory (B)": "None",
        "VRAM Total Used Memory (B)": "N/A",
        "Temperature (Sensor junction) (C)": "N/A",
        "sclk clock speed:": "(132Mhz)",
    }
    (gpu,) = parse_rocm(json.dumps({"card0": card}).encode())
    assert (gpu.name, gpu.uuid, gpu.clock) == ("0x74a1", "", 132.0)
    assert (gpu.utilization, gpu.power, gpu.temperature) == (None, None, None)
    assert (gpu.memory_used, gpu.memory_total) == (None, None)
