"""A real systemd as the first process of a container, with files of its own, and a host over it.

It shares no folder with the machine but `/usr`, which it cannot write: a systemd that boots
empties `/tmp` and makes files in `/etc` and `/var`.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from eagletui.host.local import LocalHost, _Process
from tests.control import dockerd
from tests.control.dockerd import docker
from tests.control.servers import wait_for

NAME = "systemd"
SYSINIT = "[Unit]\nDescription=nothing of the machine's\n"
ONLY = "[Unit]\nWants=systemd-journald.socket systemd-journald.service\n"


class BoxedHost(LocalHost):
    """The inside of the container."""

    name = "box"

    async def _spawn(self, argv: Sequence[str]) -> _Process:
        variables = ("--env", "EAGLETUI_STATE=/state", "--env", "EAGLETUI_LOCK=/lock")
        return await super()._spawn(["docker", "exec", "-i", *variables, NAME, *argv])


def inside(*argv: str, status: int | None = 0) -> str:
    """What a command in the container says."""
    done = subprocess.run(["docker", "exec", NAME, *argv], capture_output=True, text=True)
    assert status is None or done.returncode == status, (argv, done.stdout, done.stderr)
    return done.stdout


def write(path: str, text: str) -> None:
    """A file in the container."""
    words = ["docker", "exec", "-i", NAME, "sh", "-c", 'mkdir -p "${1%/*}"; cat > "$1"', "sh", path]
    subprocess.run(words, input=text.encode(), check=True)


@contextlib.contextmanager
def booted(folder: Path) -> Iterator[None]:
    """The container, up and running.

    Raises:
        NoDocker: it does not come up here.
    """
    units = folder / "units"
    units.mkdir()
    (units / "sysinit.target").write_text(SYSINIT)
    (units / "only.target").write_text(ONLY)
    (folder / "srv").mkdir()
    docker(
        "run", "--detach", "--name", NAME, "--network", "host", "--cap-add", "SYS_ADMIN",
        "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
        "--cgroupns", "private", "--tmpfs", "/run", "--tmpfs", "/tmp", "--env", "container=docker",
        "--volume", "/usr:/usr:ro", "--volume", f"{units}:/etc/systemd/system",
        "--volume", f"{folder / 'srv'}:/srv", dockerd.IMAGE,
        "/lib/systemd/systemd", "--system", "--unit=only.target", "--show-status=0",
    )  # fmt: skip
    try:
        try:
            wait_for(lambda: "only.target" in inside("systemctl", status=None), "it boots", 20.0)
        except AssertionError as error:
            raise dockerd.NoDocker("systemd does not boot in a container here") from error
        write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
        yield
    finally:
        docker("rm", "--force", NAME)
