"""The stand-in `nvidia-smi` of a simulated host. Runs as a script of its own.

It knows `--query-gpu=…`, `--query-compute-apps=…` with `--format=csv[,noheader][,nounits]`,
`-L`, `-i` and `-l`/`-lms`; what the GPUs do it reads from the files that servers leave.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_BROKEN = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running.\n"
)
_DRIVER = "580.95.05"
_UNITS = {
    "utilization.gpu": " %",
    "utilization.memory": " %",
    "power.draw": " W",
    "power.draw.instant": " W",
    "power.draw.average": " W",
    "power.limit": " W",
    "enforced.power.limit": " W",
    "memory.used": " MiB",
    "memory.total": " MiB",
    "memory.free": " MiB",
    "used_memory": " MiB",
    "used_gpu_memory": " MiB",
    "clocks.sm": " MHz",
    "clocks.current.sm": " MHz",
    "clocks.gr": " MHz",
    "clocks.mem": " MHz",
    "clocks.max.sm": " MHz",
}


def gpus(folder: Path) -> list[dict[str, Any]]:
    """Every GPU with what the living servers do on it."""
    host = json.loads((folder / "gpus.json").read_text())
    rows = [
        {
            "index": index,
            "uuid": f"GPU-5e1a0000-0000-4000-8000-{index:012d}",
            "name": host["name"],
            "memory_total": host["memory_total"],
            "power_limit": host["power_limit"],
            "utilization": 0,
            "power": host["idle_power"] + index * 0.7,
            "memory": 4,
            "apps": [],
        }
        for index in range(host["count"])
    ]
    for file in sorted((folder / "load").glob("*.json")):
        load = json.loads(file.read_text())
        if not _alive(load["pid"]):
            continue
        for place, index in enumerate(load["gpus"]):
            if index >= len(rows):
                continue
            row = rows[index]
            row["utilization"] = load["utilization"]
            row["power"] = load["power"] + index * 0.7
            row["memory"] += load["memory"]
            if place < len(load["workers"]):
                row["apps"].append((load["workers"][place], load["memory"]))
    return rows


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def field(row: dict[str, Any], name: str, count: int) -> str | None:
    """One queried value, None for a field that does not exist."""
    busy = row["utilization"] / 100
    values: dict[str, Any] = {
        "index": row["index"],
        "count": count,
        "name": row["name"],
        "gpu_name": row["name"],
        "uuid": row["uuid"],
        "gpu_uuid": row["uuid"],
        "driver_version": _DRIVER,
        "pstate": "P0" if busy else "P8",
        "pci.bus_id": f"00000000:{row['index'] + 1:02X}:00.0",
        "utilization.gpu": row["utilization"],
        "utilization.memory": round(row["utilization"] * 0.6),
        "memory.used": row["memory"],
        "memory.total": row["memory_total"],
        "memory.free": row["memory_total"] - row["memory"],
        "temperature.gpu": round(31 + 30 * (row["power"] / row["power_limit"]) + row["index"] % 3),
        "temperature.memory": "N/A",
        "fan.speed": "[N/A]",
        "compute_mode": "Default",
        "persistence_mode": "Enabled",
        "ecc.errors.uncorrected.volatile.total": 0,
    }
    for name_of_power in ("power.draw", "power.draw.instant", "power.draw.average"):
        values[name_of_power] = f"{row['power']:.2f}"
    for name_of_limit in ("power.limit", "enforced.power.limit"):
        values[name_of_limit] = f"{row['power_limit']:.2f}"
    for clock in ("clocks.sm", "clocks.current.sm", "clocks.gr", "clocks.current.graphics"):
        values[clock] = 1980 if busy else 345
    values["clocks.max.sm"] = 1980
    values["clocks.mem"] = values["clocks.current.memory"] = 2619
    if name.startswith(("clocks_throttle_reasons.", "clocks_event_reasons.")):
        kind = name.partition(".")[2]
        if kind in ("active", "supported"):
            return "0x0000000000000000" if busy else "0x0000000000000001"
        return "Active" if kind == "gpu_idle" and not busy else "Not Active"
    value = values.get(name)
    return None if value is None else str(value)


def query(rows: list[dict[str, Any]], fields: list[str], options: set[str], count: int) -> int:
    """Print one answer; the exit status."""
    for name in fields:
        probe = rows[0] if rows else None
        if probe is not None and field(probe, name, count) is None:
            sys.stdout.write(f'Field "{name}" is not a valid field to query.\n\n')
            return 2
    units = {} if "nounits" in options else _UNITS
    if "noheader" not in options:
        heads = [name + (f" [{units[name].strip()}]" if name in units else "") for name in fields]
        sys.stdout.write(", ".join(heads) + "\n")
    for row in rows:
        cells = [f"{field(row, name, count)}{units.get(name, '')}" for name in fields]
        sys.stdout.write(", ".join(cells) + "\n")
    return 0


def apps(rows: list[dict[str, Any]], fields: list[str], options: set[str]) -> int:
    """`--query-compute-apps`."""
    unit = "" if "nounits" in options else " MiB"
    if "noheader" not in options:
        sys.stdout.write(", ".join(fields) + "\n")
    for row in rows:
        for pid, memory in row["apps"]:
            values = {
                "pid": str(pid),
                "used_memory": f"{memory}{unit}",
                "used_gpu_memory": f"{memory}{unit}",
                "gpu_uuid": row["uuid"],
                "gpu_name": row["name"],
                "process_name": "sglang::scheduler",
                "name": "sglang::scheduler",
            }
            cells = [values.get(name, "[N/A]") for name in fields]
            sys.stdout.write(", ".join(cells) + "\n")
    return 0


def main(folder: Path, argv: list[str]) -> int:
    """Answer one call, again and again with `-l`."""
    host = json.loads((folder / "gpus.json").read_text())
    if not host["count"]:
        sys.stdout.write(_BROKEN)
        return 9
    options: set[str] = set()
    fields: list[str] = []
    wanted, loop, what = "", 0.0, ""
    words = iter(argv)
    for word in words:
        name, _, value = word.partition("=")
        if name in ("--query-gpu", "--query-compute-apps"):
            what, fields = name, [part.strip() for part in value.split(",")]
        elif name == "--format":
            options = {part.strip() for part in value.split(",")}
        elif name in ("-i", "--id"):
            wanted = value or next(words, "")
        elif name in ("-l", "--loop"):
            loop = float(value or next(words, "5"))
        elif name in ("-lms", "--loop-ms"):
            loop = float(value or next(words, "1000")) / 1000
        elif name in ("-L", "--list-gpus"):
            what = "-L"
    while True:
        rows = gpus(folder)
        chosen = [r for r in rows if not wanted or str(r["index"]) in wanted.split(",")]
        if what == "--query-gpu":
            status = query(chosen, fields, options, len(rows))
        elif what == "--query-compute-apps":
            status = apps(chosen, fields, options)
        else:
            status = 0
            for row in chosen:
                sys.stdout.write(f"GPU {row['index']}: {row['name']} (UUID: {row['uuid']})\n")
        sys.stdout.flush()
        if not loop or status:
            return status
        time.sleep(loop)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
