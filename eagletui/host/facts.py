"""Facts of the host, read once per connection."""

from __future__ import annotations

import time

from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.model.errors import HostError
from eagletui.model.events import HostSeen
from eagletui.model.text import visible

_LOOKS = 3
_SCRIPT = r"""
LC_ALL=C; export LC_ALL
u=$(id -un 2>/dev/null) || u=$(id -u); echo "$u"
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
    done = await host.run(shell.script(_SCRIPT))
    lines = [visible(line) for line in done.stdout.decode("utf-8", "replace").splitlines()]
    if len(lines) < 4:
        raise HostError(
            f"{host.name} did not say who it is.",
            meaning="It runs no POSIX shell, or lacks date, id and uname.",
        )
    # The quickest of a few looks at the clock is the most exact one.
    round_trip, clock_offset, utc_offset = min([await _look_at_clock(host) for _ in range(_LOOKS)])
    return HostSeen(
        at=time.time(),
        name=lines[3],
        address=str(getattr(host, "address", "")),
        user=lines[0],
        kernel=lines[1],
        boot_id=lines[2],
        clock_offset=clock_offset,
        utc_offset=utc_offset,
        round_trip=round_trip,
    )


async def _look_at_clock(host: Host) -> tuple[float, float, float]:
    began_at, began = time.time(), time.monotonic()
    done = await host.run(["date", "+%s.%N %z"])
    took = time.monotonic() - began
    clock, utc_offset = _clock(done.stdout.decode("ascii", "replace").strip())
    return took, (began_at + took / 2 - clock if clock is not None else 0.0), utc_offset


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
