"""One systemd unit, asked and told through systemctl."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

from eagletui.hostside.agent.base import Json, Refused
from eagletui.hostside.agent.processes import process, table
from eagletui.hostside.agent.tools import Done, run

PROPERTIES = (
    "Id", "LoadState", "ActiveState", "SubState", "Result", "MainPID", "Type", "Restart",
    "FragmentPath", "Transient", "User", "DropInPaths", "NeedDaemonReload", "ExecMainStatus",
    "ExecMainStartTimestampMonotonic", "ExecMainPID", "InvocationID",
)  # fmt: skip
FORCES = ("permission denied", "access denied", "interactive authentication required")


class Unit(NamedTuple):
    """A service of the system's manager, or of this user's own."""

    name: str
    user: bool

    def told(self, *words: str, limit: float = 90.0) -> Done:
        """What systemctl answers to a command about this unit."""
        return self.asked(*words, "--", self.name, limit=limit)

    def asked(self, *words: str, limit: float = 30.0) -> Done:
        """What systemctl answers."""
        whose = ["--user"] if self.user else ["--system"]
        return run(
            ["systemctl", *whose, "--no-ask-password", "--no-pager", *words],
            extra=bus() if self.user else None,
            limit=limit,
        )

    def do(self, *words: str, limit: float = 90.0) -> None:
        """Have it done.

        Raises:
            Refused: systemd says no, in its words.
        """
        done = self.told(*words, limit=limit)
        if done.status != 0:
            raise self.refused(" ".join(words), done)

    def reload(self) -> None:
        """Have the manager read its files again."""
        done = self.asked("daemon-reload", limit=90.0)
        if done.status != 0:
            raise self.refused("daemon-reload", done)

    def refused(self, what: str, done: Done) -> Refused:
        """Its words as a refusal."""
        said = done.err.strip()[-300:]
        if any(word in said.lower() for word in FORCES):
            return Refused("unit-not-allowed", unit=self.name, detail=said)
        return Refused("unit-failed", unit=self.name, what=what, detail=said)

    def show(self) -> dict[str, str]:
        """Its properties.

        Raises:
            Refused: there is no manager to be asked.
        """
        if not shutil.which("systemctl"):
            raise Refused("no-systemd", unit=self.name)
        done = self.told("show", f"--property={','.join(PROPERTIES)}")
        if done.status != 0:
            code = "no-user-manager" if self.user else "unit-failed"
            raise Refused(code, unit=self.name, what="show", detail=done.err.strip()[-300:])
        pairs = (line.partition("=") for line in done.out.splitlines())
        return {name: value for name, equals, value in pairs if equals}

    def folder(self) -> str:
        """Where its lasting drop-ins go, as its manager says."""
        done = self.asked("show", "--property=UnitPath", "--value")
        for path in done.out.split():
            lasting = not path.startswith("/run/") and not path.endswith((".control", ".attached"))
            if lasting and os.path.basename(path) != "transient" and "generator" not in path:
                return os.path.join(path, f"{self.name}.d")
        raise Refused("unit-failed", unit=self.name, what="show UnitPath", detail=done.err.strip())

    def runs(self, pid: int) -> bool:
        """Whether this unit is there for that process, and for nothing else.

        Its main process is the server, or a script that has the server for its only child.
        """
        main = int(self.show().get("MainPID") or 0)
        if main == pid:
            return main > 0
        row = process(pid)
        if row is None or row.ppid != main or main <= 1:
            return False
        children = [other.pid for other in table().values() if other.ppid == main]
        return children == [pid]


def bus() -> dict[str, str]:
    """Where the user's manager is reached, also from a session that was not told."""
    if os.environ.get("XDG_RUNTIME_DIR"):
        return {}
    return {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}"}


def unit_of_record(server: Json) -> Unit:
    """The unit of a target, a plan or a record."""
    name = str(server.get("unit") or "")
    return Unit(name if "." in name else f"{name}.service", bool(server.get("user_unit")))
