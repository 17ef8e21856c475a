"""An eagletui that is killed the moment its restart enters a state: `abandon.py STATE JSON`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from eagletui.control.api import Limits, Owner, Running
from eagletui.control.restart import Restart
from eagletui.host.local import LocalHost
from eagletui.model.base import Data
from eagletui.model.profile import StartPlan
from tests.control.servers import wait_for


class Job(Data, frozen=True):
    """What to restart, and how."""

    plan: StartPlan
    old: Running
    limits: Limits
    cancel_in: str = ""


def launch_is_known() -> bool:
    """Whether what was asked has arrived: a slow machine may not have come to that yet."""
    return any(Path(os.environ["EAGLETUI_STATE"]).glob("launches/*"))


async def main(state: str, job: Job) -> None:
    host = LocalHost()
    restart = Restart(
        host, job.plan, replaces=job.old, owner=Owner.here("a restart"), limits=job.limits
    )
    async for progress in restart.progress():
        if progress.standing.state == job.cancel_in:
            restart.cancel()
        # A moment into the state's work, so that it is cut off and not only not begun.
        if progress.standing.state == state:
            await asyncio.sleep(0.1)
            await asyncio.to_thread(wait_for, launch_is_known, "the host was asked")
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], msgspec.json.decode(sys.argv[2], type=Job)))
