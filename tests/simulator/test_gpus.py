"""The stand-in nvidia-smi: what servers do, printed as the real tool prints it."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from eagletui.simulator import nvidia_smi
from eagletui.simulator.gpuload import Activity, GpuLoad
from eagletui.simulator.scenarios import RTX_PRO

QUERY = "--query-gpu=index,utilization.gpu,power.draw,power.limit,memory.used,memory.total"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "load").mkdir()
    host = {
        "count": 2,
        "name": RTX_PRO.name,
        "memory_total": RTX_PRO.memory,
        "idle_power": RTX_PRO.idle_power,
        "power_limit": RTX_PRO.power_limit,
    }
    (tmp_path / "gpus.json").write_text(json.dumps(host))
    return tmp_path


async def told(folder: Path, activity: Activity) -> None:
    """What a server on GPU 1 tells once."""
    load = GpuLoad(folder / "load", RTX_PRO, (1,))
    task = asyncio.create_task(load.tell(lambda: activity))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()


def ask(folder: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert nvidia_smi.main(folder, list(argv)) == 0
    return capsys.readouterr().out.splitlines()


async def test_a_hung_server_is_busy_at_idle_power(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await told(folder, Activity((os.getpid(),), 88.0, None, 12.0, True))
    assert ask(folder, capsys, QUERY, "--format=csv,noheader,nounits") == [
        "0, 0, 34.00, 600.00, 4, 97887",
        "1, 100, 58.70, 600.00, 90116, 97887",
    ]


async def test_units_header_and_choice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await told(folder, Activity((os.getpid(),), 10.0, 0.5, 0.0, False))
    assert ask(folder, capsys, "--query-gpu=name,power.draw", "--format=csv", "-i", "1") == [
        "name, power.draw [W]",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition, 154.70 W",
    ]
    apps = ask(folder, capsys, "--query-compute-apps=pid,used_memory", "--format=csv,noheader")
    assert apps == [f"{os.getpid()}, 10240 MiB"]
    assert ask(folder, capsys, "-L")[1].startswith("GPU 1: NVIDIA RTX PRO 6000")


async def test_who_is_gone_holds_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await told(folder, Activity((), 10.0, 0.5, 0.0, False))
    (file,) = (folder / "load").iterdir()
    load = json.loads(file.read_text())
    file.write_text(json.dumps(load | {"pid": 2**22 + 1}))
    busy = ask(folder, capsys, "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
    assert busy == ["0", "0"]
