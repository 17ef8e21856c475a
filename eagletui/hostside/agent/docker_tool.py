"""Docker, or podman where there is no docker, asked about one container."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

from eagletui.hostside.agent.base import Json, Refused, read
from eagletui.hostside.agent.processes import process, table
from eagletui.hostside.agent.tools import Done, leave, run

TOOLS = ("docker", "podman")
REMOVAL = 45.0
"""Seconds for a container that removes itself to be gone, with all that it had written."""
NAME = 10.0
"""Seconds for a name to be free after its container was removed."""
LOOK = 0.05


def tool() -> str:
    """Which of them this host has.

    Raises:
        Refused: none.
    """
    for name in TOOLS:
        if shutil.which(name):
            return name
    raise Refused("no-docker")


def docker(*words: str, extra: Mapping[str, str] | None = None, limit: float = 60.0) -> str:
    """What it answers.

    Raises:
        Refused: it says no, in its words.
    """
    return _said(words, run([tool(), *words], extra=extra, limit=limit))


def docker_left(*words: str, patience: float) -> None:
    """Tell it something that takes long, and hear only what goes wrong at once."""
    done = leave([tool(), *words], patience)
    if done is not None:
        _said(words, done)


def _said(words: tuple[str, ...], done: Done) -> str:
    if done.status == 0:
        return done.out
    said = done.err.strip()[-300:]
    low = said.lower()
    if "permission denied" in low and ("socket" in low or "connect" in low):
        raise Refused("docker-not-allowed", detail=said)
    if "cannot connect" in low or "is the docker daemon running" in low:
        raise Refused("docker-not-running", detail=said)
    if "no such" in low or "no container with name" in low:
        raise Refused("no-container", container=words[-1], detail=said)
    raise Refused("docker-failed", what=" ".join(words[:2]), detail=said)


def inspect(container: str, kind: str = "container") -> Json:
    """Everything about a container or an image."""
    told = docker("inspect", "--type", kind, "--", container)
    try:
        [about] = json.loads(told)
    except ValueError as error:
        raise Refused("docker-failed", what="inspect", detail=told[:100]) from error
    if not isinstance(about, dict):
        raise Refused("docker-failed", what="inspect", detail=told[:100])
    return about


def found(container: str) -> Json | None:
    """The same, or None where there is no such container, or it is about to be gone."""
    return _settled(container, lambda about: state(about).get("Status") != "removing")


def at_rest(container: str) -> Json | None:
    """What is left of a container whose processes have ended.

    Docker hears of that a moment later, and only then removes what was started with `--rm`.
    """
    return _settled(container, _resting)


def _resting(about: Json) -> bool:
    pid = main_pid(about)
    if pid:
        row = process(pid)
        return row is not None and not row.dead
    removes_itself = bool((about.get("HostConfig") or {}).get("AutoRemove"))
    status = state(about).get("Status")
    return status != "removing" and not (removes_itself and status == "exited")


def _settled(container: str, settled: Callable[[Json], bool]) -> Json | None:
    end = time.monotonic() + REMOVAL
    while True:
        try:
            about = inspect(container)
        except Refused as refused:
            if refused.code == "no-container":
                return None
            raise
        if settled(about) or time.monotonic() > end:
            return about
        time.sleep(LOOK)


def remove(
    container: str,
    *flags: str,
    sure: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> None:
    """Remove it; who else is at it, the daemon for a `--rm`, is left to end that.

    Args:
        sure: what each try is made in, and the waiting between them is not.
    """
    end = time.monotonic() + REMOVAL
    while True:
        try:
            with sure():
                docker("rm", *flags, container)
            return
        except Refused as refused:
            if refused.code == "no-container":
                return
            if not _says(refused, "already in progress") or time.monotonic() > end:
                raise
        time.sleep(LOOK)


def create_container(
    *words: str,
    extra: Mapping[str, str],
    sure: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Json:
    """Make a container; one of its name may be half gone, which docker says as a conflict.

    A removed container's name is free a moment after docker knows it no longer.

    Args:
        sure: as in `remove`.
    """
    end = time.monotonic() + NAME
    while True:
        try:
            with sure():
                told = docker("create", *words, extra=extra)
            return inspect(told.strip().splitlines()[-1])
        except Refused as refused:
            if not _says(refused, "already in use") or time.monotonic() > end:
                raise
        time.sleep(LOOK)


def _says(refused: Refused, words: str) -> bool:
    return words in str(refused.about.get("detail", ""))


def name_of(about: Json) -> str:
    """A container's name, without docker's slash."""
    return str(about.get("Name", "")).lstrip("/")


def state(about: Json) -> Json:
    """Its `State`."""
    return dict(about.get("State") or {})


def main_pid(about: Json) -> int:
    """Its first process as the host numbers it; 0 where it does not run."""
    return int(state(about).get("Pid") or 0) if state(about).get("Running") else 0


def label(about: Json, name: str) -> str:
    """One label."""
    return str(((about.get("Config") or {}).get("Labels") or {}).get(name) or "")


def inside(container: str) -> set[int]:
    """The processes whose control group is the container's."""
    pids = set()
    for pid in table():
        with contextlib.suppress(OSError):
            if container.encode() in read(f"/proc/{pid}/cgroup"):
                pids.add(pid)
    return pids


def clients(container: str, name: str) -> list[int]:
    """`docker run` and `docker start -a` that are attached to this container."""
    pids = []
    for pid in table():
        with contextlib.suppress(OSError):
            words = [os.fsdecode(word) for word in read(f"/proc/{pid}/cmdline").split(b"\0")]
            called = os.path.basename(words[0]) in TOOLS and {"run", "start"} & set(words[1:4])
            if called and any(word in (name, container, f"--name={name}") for word in words):
                pids.append(pid)
    return pids


def host_port(about: Json, port: int) -> int | None:
    """The host's port that leads to a port of the container; None where none does."""
    settings: dict[str, Any] = about.get("HostConfig") or {}
    mode = str(settings.get("NetworkMode") or "")
    if mode == "host":
        return port
    bound = (settings.get("PortBindings") or {}).get(f"{port}/tcp") or []
    live = ((about.get("NetworkSettings") or {}).get("Ports") or {}).get(f"{port}/tcp") or []
    numbers = [row.get("HostPort") for row in (*bound, *live)]
    return next((int(number) for number in numbers if number), None)
