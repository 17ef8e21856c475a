"""How a host's GPUs are linked, as `nvidia-smi topo -m` draws it."""

from __future__ import annotations

import re

from eagletui.host.base import Host

_GPU = re.compile(r"GPU\d+")
_LINK = re.compile(r"NV\d+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


async def all_linked(host: Host, *, timeout: float = 15.0) -> bool | None:
    """Whether NVLink joins every pair of GPUs; None where nobody tells.

    Raises:
        HostError: the connection is gone, or the driver hangs.
    """
    done = await host.run(["nvidia-smi", "topo", "-m"], timeout=timeout)
    return parse_topology(done.stdout.decode("utf-8", "replace")) if done.ok else None


def parse_topology(text: str) -> bool | None:
    """Whether every pair is linked; None for a text that is no matrix of two GPUs or more."""
    rows = [_COLOUR.sub("", line).split() for line in text.splitlines()]
    head = next((row for row in rows if row[:2] == ["GPU0", "GPU1"]), None)
    if head is None:
        return None
    count = len([cell for cell in head if _GPU.fullmatch(cell)])
    links = [row[1 : count + 1] for row in rows if row is not head and row and _GPU.match(row[0])]
    if len(links) != count or any(len(row) != count for row in links):
        return None
    return all(
        _LINK.fullmatch(cell) is not None
        for index, row in enumerate(links)
        for other, cell in enumerate(row)
        if index != other
    )
