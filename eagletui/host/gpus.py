"""GPU readings: whichever of `nvidia-smi`, `rocm-smi` and `amd-smi` the host has."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from eagletui.host import amdsmi
from eagletui.host.base import Host
from eagletui.model.base import Data
from eagletui.model.errors import HostError
from eagletui.model.jsontext import read_json
from eagletui.model.server import Gpu
from eagletui.model.text import visible

# Query name → attribute of Gpu. A column an older driver does not know is left out by itself.
_COLUMNS: dict[str, str] = {
    "index": "index",
    "name": "name",
    "uuid": "uuid",
    "utilization.gpu": "utilization",
    "power.draw": "power",
    "power.limit": "power_limit",
    "memory.used": "memory_used",
    "memory.total": "memory_total",
    "temperature.gpu": "temperature",
    "clocks.sm": "clock",
    "clocks_throttle_reasons.active": "throttled",
}
_TEXTS = {"name", "uuid", "throttled"}
# Bits of clocks_throttle_reasons.active that cost speed, in NVML's words made plain. Idle and
# application clocks are no trouble.
_THROTTLED: dict[int, str] = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal (software)",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}


class GpuProcess(Data, frozen=True):
    """A process that uses a GPU, as the host numbers both; memory in MiB."""

    pid: int
    gpu: int
    memory: float | None = None


class GpusUnknown(HostError):
    """The host has no GPU that can be read."""


class GpuReader:
    """Readings of a host's GPUs.

    A stream is one long-running `nvidia-smi -lms`: starting it anew for each reading costs up
    to a second of CPU on machines with eight GPUs. A hanging driver ends nothing here: readings
    stay away, and the caller's own time limit notices.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._asked_anew = False
        self._amd_cards: bytes | None = None

    async def read(self, timeout: float = 10.0) -> tuple[Gpu, ...]:
        """One reading.

        Raises:
            GpusUnknown: there is none of the tools, or it fails; in the tool's own words.
            CommandTimeout: the driver hangs.
        """
        done = await self._host.run(_nvidia_query(), timeout=timeout)
        if done.ok:
            return parse_nvidia(done.stdout)
        nvidia = visible((done.stdout + done.stderr).decode("utf-8", "replace").strip())[:300]
        if done.status != 127:
            raise GpusUnknown(
                f"nvidia-smi fails: {nvidia}",
                meaning="The driver does not answer; servers on this host may be in trouble too.",
                advice="Try nvidia-smi on the host.",
            )
        done = await self._host.run(_ROCM, timeout=timeout)
        if done.ok and (gpus := parse_rocm(done.stdout)):
            self._asked_anew = True
            return gpus
        if gpus := await self._read_amd(timeout):
            self._asked_anew = True
            return gpus
        raise GpusUnknown(
            "This host shows no GPU: none of nvidia-smi, rocm-smi and amd-smi answers.",
            advice="Everything but the GPU panel works without them.",
        )

    async def _read_amd(self, timeout: float) -> tuple[Gpu, ...]:
        """One reading of `amd-smi`, empty without it; names are asked for once."""
        done = await self._host.run(amdsmi.METRIC, timeout=timeout)
        if not done.ok:
            return ()
        if self._amd_cards is None:
            self._amd_cards = (await self._host.run(amdsmi.STATIC, timeout=timeout)).stdout
        return amdsmi.parse_amd(done.stdout, self._amd_cards)

    async def stream(self, interval: float = 1.0) -> AsyncGenerator[tuple[Gpu, ...], None]:
        """Readings for ever, about every `interval` seconds.

        Raises:
            GpusUnknown: as `read`.
        """
        first = await self.read()
        yield first
        while self._asked_anew:
            await asyncio.sleep(max(interval, 2.0))
            yield await self.read()
        query = [*_nvidia_query(), f"--loop-ms={max(int(interval * 1000), 200)}"]
        block = Blocks(len(first))
        async for data in self._host.stream(query):
            for gpus in block.feed(data):
                yield gpus
        raise GpusUnknown("nvidia-smi ended.", advice="It is started again with the next look.")

    async def processes(self, timeout: float = 10.0) -> tuple[GpuProcess, ...]:
        """Which processes use which GPU; empty where the host does not say.

        In a container the tool shows no processes of others, or none at all.
        """
        query = [
            "nvidia-smi",
            "--query-compute-apps=pid,gpu_uuid,used_memory",
            "--format=csv,noheader,nounits",
        ]
        done = await self._host.run(query, timeout=timeout)
        if not done.ok:
            return ()
        listed = await self._host.run(
            ["nvidia-smi", "--query-gpu=uuid,index", "--format=csv,noheader,nounits"],
            timeout=timeout,
        )
        index = {
            row[0]: int(row[1])
            for row in _rows(listed.stdout)
            if len(row) == 2 and _is_index(row[1])
        }
        return tuple(
            GpuProcess(pid=int(row[0]), gpu=index[row[1]], memory=_number(row[2]))
            for row in _rows(done.stdout)
            if len(row) == 3 and _is_index(row[0]) and row[1] in index
        )


class Blocks:
    """Lines of a looping `nvidia-smi` put together to readings of all GPUs."""

    def __init__(self, count: int) -> None:
        self._count = max(count, 1)
        self._rest = b""
        self._gpus: list[Gpu] = []

    def feed(self, data: bytes) -> Iterator[tuple[Gpu, ...]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            gpus = parse_nvidia(line)
            # The first index again: a GPU fell off the bus, or the loop came round.
            if gpus and self._gpus and gpus[0].index <= self._gpus[-1].index:
                yield tuple(self._gpus)
                self._gpus = []
            self._gpus += gpus
            if len(self._gpus) >= self._count:
                yield tuple(self._gpus)
                self._gpus = []


def _nvidia_query() -> list[str]:
    return ["nvidia-smi", f"--query-gpu={','.join(_COLUMNS)}", "--format=csv,noheader,nounits"]


def _rows(output: bytes) -> list[list[str]]:
    text = output.decode("utf-8", "replace")
    rows = []
    for line in text.splitlines():
        # A line that is no CSV (the tool's own complaints) is one that is not understood.
        with contextlib.suppress(csv.Error):
            rows += [[cell.strip() for cell in row] for row in csv.reader([line])]
    return rows


def _is_index(text: str) -> bool:
    """Whether this is a number of a process or a GPU."""
    return text.isdecimal() and len(text) < 10


def _number(text: str) -> float | None:
    """A number, or None for `[N/A]`, `[Not Supported]`, `[Unknown Error]` and their like."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e12 else None


def parse_nvidia(output: bytes) -> tuple[Gpu, ...]:
    """`nvidia-smi --query-gpu` lines; a line that is none is left out."""
    gpus = []
    for row in _rows(output):
        values = dict(zip(_COLUMNS.values(), row, strict=False))
        if len(row) != len(_COLUMNS) or not _is_index(values["index"]):
            continue
        numbers: dict[str, Any] = {
            name: _number(text)
            for name, text in values.items()
            if name not in _TEXTS and name != "index"
        }
        gpus.append(
            Gpu(
                index=int(values["index"]),
                name=visible(values["name"]),
                uuid=visible(values["uuid"]),
                throttled=_throttled(values["throttled"]),
                **numbers,
            )
        )
    return tuple(gpus)


def _throttled(text: str) -> str:
    try:
        bits = int(text, 16)
    except ValueError:
        return ""
    return ", ".join(words for bit, words in _THROTTLED.items() if bits & bit)


_ROCM = [
    "rocm-smi",
    "--showid",
    "--showproductname",
    "--showuniqueid",
    "--showuse",
    "--showpower",
    "--showmaxpower",
    "--showmeminfo",
    "vram",
    "--showtemp",
    "--showclocks",
    "--json",
]
# Attribute → patterns of rocm-smi's names, which differ between releases; the first that fits.
_ROCM_NAMES: dict[str, tuple[str, ...]] = {
    "utilization": (r"GPU use \(%\)",),
    "power": (
        r"Current Socket Graphics Package Power \(W\)",
        r"Average Graphics Package Power \(W\)",
    ),
    "power_limit": (r"Max Graphics Package Power \(W\)",),
    "memory_used": (r"VRAM Total Used Memory \(B\)",),
    "memory_total": (r"VRAM Total Memory \(B\)",),
    "temperature": (r"Temperature \(Sensor junction\) \(C\)", r"Temperature \(Sensor edge\) \(C\)"),
    "clock": (r"sclk clock speed:?",),
}

# Releases write "Card series" or "Card Series", and leave `N/A` where the driver has no name.
_ROCM_MODEL = ("Card Series", "Card series", "Card Model", "Card model")


def parse_rocm(output: bytes) -> tuple[Gpu, ...]:
    """`rocm-smi --json`; empty when it is something else."""
    start = output.find(b"{")
    try:
        cards = read_json(output[start:]) if start >= 0 else {}
    except ValueError:
        return ()
    gpus = []
    for card, values in cards.items() if isinstance(cards, dict) else ():
        found = re.fullmatch(r"card(\d{1,9})", card)
        if not found or not isinstance(values, dict):
            continue
        numbers: dict[str, Any] = {
            name: _rocm_number(values, patterns) for name, patterns in _ROCM_NAMES.items()
        }
        for name in ("memory_used", "memory_total"):
            if (size := numbers[name]) is not None:
                numbers[name] = size / 2**20
        gpus.append(
            Gpu(
                index=int(found[1]),
                name=_rocm_text(values, _ROCM_MODEL),
                uuid=_rocm_text(values, ("Unique ID",)),
                **numbers,
            )
        )
    return tuple(sorted(gpus, key=lambda gpu: gpu.index))


def _rocm_text(values: Mapping[str, object], names: tuple[str, ...]) -> str:
    """The first of these that says something."""
    texts = (visible(str(values.get(name) or "")) for name in names)
    return next((text for text in texts if text not in ("", "N/A")), "")


def _rocm_number(values: Mapping[str, object], patterns: tuple[str, ...]) -> float | None:
    for pattern in patterns:
        for name, value in values.items():
            if re.fullmatch(pattern, name):
                return _number(re.sub(r"[^\d.eE+-]", "", str(value)))
    return None
