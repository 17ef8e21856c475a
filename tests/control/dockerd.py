"""A docker daemon of the test's own, and an image in which the machine's Python runs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.control.servers import wait_for
from tests.guardian import MARK

IMAGE = "eagletui-test:1"
FOLDERS = ("usr", "sbin", "etc", "tmp", "proc", "sys", "dev", "root")
LINKS = ("bin", "lib", "lib64")


class NoDocker(Exception):
    """Why no daemon can be had here."""


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def inspect(name: str) -> dict[str, Any]:
    [about] = json.loads(docker("inspect", "--type", "container", name))
    assert isinstance(about, dict)
    return about


def names() -> list[str]:
    return sorted(docker("ps", "--all", "--format", "{{.Names}}").split())


@contextlib.contextmanager
def daemon() -> Iterator[str]:
    """The address of a daemon that touches neither network nor any other docker."""
    if os.geteuid() != 0 or not shutil.which("dockerd") or not shutil.which("docker"):
        raise NoDocker("needs root, docker and dockerd (apt-get install docker.io)")
    mark = os.environ.get(MARK, "")
    folder = Path(tempfile.mkdtemp(prefix=f"eagletui-docker-{mark}-"))
    address = f"unix://{folder}/sock"
    words = ["--data-root", f"{folder}/root", "--exec-root", f"{folder}/exec", "--bridge=none"]
    words += ["--pidfile", f"{folder}/pid", "-H", address, "--storage-driver=vfs"]
    words += ["--iptables=false", "--ip6tables=false"]
    with (folder / "log").open("wb") as log:
        started = subprocess.Popen(
            ["dockerd", *words], stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(
            lambda: (folder / "sock").exists() or started.poll() is not None, "dockerd answers"
        )
        if started.poll() is not None:
            raise NoDocker(f"dockerd ended: {(folder / 'log').read_text()[-300:]}")
        yield address
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        for mount in folder.glob("exec/netns/*"):
            subprocess.run(["umount", str(mount)], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def import_image(folder: Path) -> None:
    """Empty folders: a container gets the machine's own /usr."""
    archive = folder / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name in LINKS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(entry)
    env = ("ENV OF_IMAGE=1", "ENV NCCL_VERSION=2.27")
    docker("import", *(word for text in env for word in ("--change", text)), str(archive), IMAGE)
