"""Facts of the host, read once per connection."""

from __future__ import annotations

import time

from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.model.errors import HostError
from eagletui.model.events import HostSeen
from eagletui.model.text import visible

_SCRIPT = r"""
LC_ALL=C; export LC_ALL
date '+%s.%N %z'
id -un 2>/dev/null || id -u
uname -srm
cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime 2>/dev/null || echo
hostname 2>/dev/null || uname -n
"""


async def read_facts(host: Host) -> HostSeen:
    """Who and what the host is, and how far its clock is from ours.

    The clock's offset is right to within half of `round_trip`.

    Raises:
        HostError: the host runs no commands.
    """
    # The first command pays for the start of a login shell; the clock is taken from the second.
    await host.run(["true"])
    began_at, began = time.time(), time.monotonic()
    done = await host.run(shell.script(_SCRIPT))
    took = time.monotonic() - began
    lines = [visible(line) for line in done.stdout.decode("utf-8", "replace").splitlines()]
    if len(lines) < 5:
        raise HostError(
            f"{host.name} did not say who it is.",
            meaning="It runs no POSIX shell, or lacks date, id and uname.",
        )
    clock, utc_offset = _clock(lines[0])
    at = time.time()
    return HostSeen(
        at=at,
        name=lines[4],
        address=str(getattr(host, "address", "")),
        user=lines[1],
        kernel=lines[2],
        boot_id=lines[3],
        clock_offset=began_at + took / 2 - clock if clock is not None else 0.0,
        utc_offset=utc_offset,
        round_trip=took,
    )


def _clock(line: str) -> tuple[float | None, float]:
    """`1764430000.123456789 +0200` → seconds, zone in seconds. BSD's date prints `.N`."""
    seconds, _, zone = line.partition(" ")
    try:
        clock = float(seconds.removesuffix(".N").removesuffix(".%N"))
    except ValueError:
        return None, 0.0
    if len(zone) != 5 or not zone[1:].isdecimal():
        return clock, 0.0
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    return clock, float(-60 * minutes if zone[0] == "-" else 60 * minutes)
