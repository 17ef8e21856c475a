"""What a server holds of its machine: the port and the GPUs' memory."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator

from eagletui.hostside.agent.base import Json, read
from eagletui.hostside.agent.processes import table, title

GPU_LIMIT = 5.0
LISTEN = "0A"


def port_holder(port: int, likely: Iterable[int] = ()) -> Json | None:
    """Who listens on a port: {} where that may not be seen, None for nobody.

    Args:
        likely: processes to look at first.
    """
    inodes = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for row in read(name).decode("ascii", "replace").splitlines()[1:]:
                words = row.split()
                if words[3] == LISTEN and int(words[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{words[9]}]")
    if not inodes:
        return None
    for pid in itertools.chain(likely, _others()):
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):
            for fd in os.listdir(folder):
                with contextlib.suppress(OSError):
                    if os.readlink(folder + "/" + fd) in inodes:
                        return {"pid": pid, "title": title(pid)}
    return {}


def _others() -> Iterator[int]:
    yield from table()


def gpu_pids() -> Json:
    """Which processes hold GPU memory; a driver that hangs is left behind, not waited for."""
    import subprocess  # a sixth of the time that most requests take, which start nothing

    query = ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader,nounits"]
    try:
        tool = subprocess.Popen(
            query,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return {"tool": "absent", "pids": []}
    try:
        output, _ = tool.communicate(timeout=GPU_LIMIT)
    except subprocess.TimeoutExpired:
        tool.kill()
        return {"tool": "hangs", "pids": []}
    if tool.returncode:
        return {"tool": "fails", "pids": []}
    return {"tool": "ok", "pids": [int(word) for word in output.split() if word.isdigit()]}
