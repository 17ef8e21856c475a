"""How a server ended whose log does not say: what docker or systemd say of it, in words.

The names of the results are systemd's own (`Result=` in systemd.service(5)); docker's end is told
in the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eagletui.control.verdicts import fatal
from eagletui.model.diagnosis import Diagnosis

DIED = "process-died"


class _End(NamedTuple):
    words: str
    advice: str
    code: str = DIED


_BY_HAND = "Run its command by hand on the host, as the same user: it says more there."
_UNIT = "See `systemctl status` and `journalctl -u` of its unit."
_ENDS: dict[str, _End] = {
    "oom-kill": _End(
        "the host's out-of-memory killer ended it",
        "It used more of the host's memory (not the GPUs') than there is, or than its unit or "
        "container may: see `dmesg -T | grep -i oom`, and `MemoryMax=` or `--memory`.",
        "host-out-of-memory",
    ),
    "exit-code": _End("it ended with status {status}{meaning}", _BY_HAND),
    "signal": _End(
        "signal {status} ended it", "Somebody on the host, or its kernel, did that: see `dmesg -T`."
    ),
    "core-dump": _End(
        "it crashed by signal {status}", "`coredumpctl info` on the host tells where."
    ),
    "success": _End("it ended by itself, with status 0", _BY_HAND),
    "timeout": _End(
        "systemd ended it, for it was not up in time", "Raise `TimeoutStartSec=` of its unit."
    ),
    "watchdog": _End(
        "systemd ended it, for it gave no sign of life",
        "Take `WatchdogSec=` out of its unit: SGLang gives none.",
    ),
    "protocol": _End("it did not tell systemd what a unit of its type has to", _UNIT),
    "start-limit-hit": _End("it failed so often that systemd starts it no more", _UNIT),
    "resources": _End("systemd could not set up what it runs in", _UNIT),
    "exec-condition": _End("a condition of its unit kept it from being started", _UNIT),
}

_STATUSES: dict[tuple[str, int], str] = {
    ("systemd", 200): "its working directory cannot be entered",
    ("systemd", 202): "its files cannot be passed on",
    ("systemd", 203): "its program cannot be run",
    ("systemd", 206): "its memory limits cannot be set",
    ("systemd", 209): "its output cannot be opened",
    ("systemd", 210): "its root directory cannot be entered",
    ("systemd", 216): "its group is not there",
    ("systemd", 217): "its user is not there",
    ("systemd", 218): "its capabilities cannot be set",
    ("systemd", 226): "its namespace cannot be made",
    ("docker", 126): "its program cannot be run",
    ("docker", 127): "its program is not there",
}
"""What a status means that is not the server's own (systemd.exec(5), docker-run(1))."""


def died(pid: int | None, ended: Mapping[str, Any]) -> Diagnosis:
    """A server that is gone, and whose log does not say why.

    Args:
        ended: what the host's agent told of it: `by`, `result`, `status`; {} where that is nothing.
    """
    which = f" (pid {pid})" if pid else ""
    gone = f"The server's process{which} is gone, and its log does not say why"
    end = _ENDS.get(str(ended.get("result")))
    if end is None:
        return fatal(
            DIED,
            f"{gone}.",
            "It may have been killed, by the system's out-of-memory killer for one: see `dmesg` on "
            "the host.",
        )
    status = ended.get("status")
    meaning = _STATUSES.get((str(ended.get("by")), status if isinstance(status, int) else 0), "")
    words = end.words.format(status=status, meaning=f" ({meaning})" if meaning else "")
    return fatal(end.code, f"{gone}: {words}.", end.advice)
