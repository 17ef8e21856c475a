"""`python -m eagletui.simulator SCENARIO SPEED RELEASE PORTS`: a simulated host as a process.

It writes one line of JSON when it is up (or why it is not), and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import msgspec

from eagletui.simulator.host import SimulatedHost
from eagletui.simulator.outside import USUAL, Up


async def run(scenario: str, speed: str, release: str, ports: str) -> None:
    """Be the host until standard input ends or a signal comes."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    host = SimulatedHost(
        scenario, speed=float(speed), release=release or None, usual_ports=ports == USUAL
    )
    try:
        await host.start()
        _say(host.up())
        loop.add_reader(0, lambda: None if os.read(0, 64) else over.set())
        await over.wait()
    finally:
        await host.close()


def _say(up: Up) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(up) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        asyncio.run(run(*sys.argv[1:]))
    except Exception as problem:
        _say(Up(error=str(problem) or repr(problem)))
        sys.exit(1)
