"""Servers in containers: another container is made with the same settings and other words.

It is made while the old one still serves, so that what docker refuses costs nothing. The old one
is stopped and kept as `NAME-before-LAUNCH` until the new one has proved itself.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable

from eagletui.hostside.agent import docker_create as create
from eagletui.hostside.agent.base import MARK, Json, Refused, read
from eagletui.hostside.agent.docker_tool import (
    at_rest,
    clients,
    create_container,
    docker,
    docker_left,
    found,
    host_port,
    inside,
    inspect,
    label,
    main_pid,
    name_of,
    remove,
    state,
    tool,
)
from eagletui.hostside.agent.environment import environment_of, lasting
from eagletui.hostside.agent.process_runner import refuse_taken_port
from eagletui.hostside.agent.processes import Process, members, process, same, table, unit_of
from eagletui.hostside.agent.runner import (
    Runner,
    Task,
    argv_of,
    note,
    refuse_ourselves,
)
from eagletui.hostside.agent.tools import run

COMPOSE = "com.docker.compose.project"
MASTERS = {
    "io.kubernetes.pod.name": "Kubernetes",
    "com.docker.swarm.service.name": "Docker Swarm",
    "com.hashicorp.nomad.alloc_id": "Nomad",
}
"""Labels of what makes containers anew by itself."""
INSIDE_ONLY = ("HOSTNAME", "PWD", "HOME", "USER", "LOGNAME", "TERM")
SOON = 1.0
"""Seconds in which docker says that it will not stop a container."""
UP = 10.0
"""Seconds for a container that was started to have a process."""
LOG_LINES = 20_000
SIGNALS = 64
"""The highest signal of Linux."""


class DockerRunner(Runner):
    """Containers of docker or podman."""

    name = "docker"

    # --- a server that runs -------------------------------------------------------------------

    def may_stop(self, server: Json) -> bool:
        """Refused where docker may not be asked, or something else would make it anew."""
        if not same(server, table()):
            return False
        refuse_ourselves(server)
        about = inspect(server["container"])
        refuse_master(about)
        return bool(main_pid(about))

    def about(self, server: Json, plan: Json | None) -> list[Json]:
        """What makes this container special."""
        about = inspect(server["container"])
        notes = []
        if state_of(about, "AutoRemove"):
            notes.append(note("container-removes-itself", container=name_of(about)))
        if plan is not None and plan["runner"] != "docker":
            notes.append(note("container-left", container=name_of(about)))
        return notes

    def keep(self, folder: str, server: Json) -> tuple[Json, Json]:  # noqa: ARG002
        """What docker knows of it, whole."""
        about, pid = inspect(server["container"]), server["pid"]
        row = process(pid)
        if row is None or row.start != server["start"]:
            raise Refused("gone", pid=pid)
        argv = argv_of(pid)
        port = int(server["port"])
        before = {
            "runner": "docker",
            "argv": argv,
            "environment": environment_of(pid) or {},
            "whole_environment": True,
            "workdir": "",
            "port": host_port(about, port) or port,
            "log": "",
            "container": about["Id"],
            "inspect": about,
        }
        return before, record(about, port, pid=pid, start=row.start)

    def port(self, server: Json) -> int:
        """The port outside."""
        if server.get("host_port"):
            return int(server["host_port"])
        about = found(server["container"])
        port = int(server.get("port") or 0)
        return (host_port(about, port) or port) if about is not None else port

    def terminate(self, server: Json, seconds: float) -> bool:
        """`docker stop`: its restart policy does not bring it back."""
        container = server["container"]
        docker_left("stop", "-t", str(math.ceil(seconds)), container, patience=SOON)
        return True

    def kill(self, server: Json) -> None:
        """`docker kill`, also while a stop is under way."""
        try:
            docker("kill", server["container"])
        except Refused as refused:
            if refused.code not in ("no-container", "docker-failed"):  # it ended meanwhile
                raise

    def members(self, server: Json) -> list[Process]:
        """Whoever is in its control group or descends from its first process."""
        rows = table()
        seen = {row.pid: row for row in members(server, anybody=True)}
        seen.update((pid, rows[pid]) for pid in inside(server["container"]) if pid in rows)
        return [seen[pid] for pid in sorted(seen)]

    def put_back(self, task: Task, server: Json) -> Json:
        """Start the old container; one that removed itself is made again."""
        refuse_taken_port(int(server.get("host_port") or 0))
        about = at_rest(server["container"])
        if about is not None and state(about).get("Status") == "dead":
            remove(about["Id"], "--force", sure=task.sure)
            about = None
        if about is None:
            about = remade(task)
        with task.sure():
            since = begun(about)
        return up(about, int(server["port"]), since)

    # --- a server that is planned -------------------------------------------------------------

    def outside(self, plan: Json) -> int:
        """Where its port leads."""
        return host_port(inspect(plan["container"]), int(plan["port"])) or 0

    def examine(self, plan: Json, target: Json | None) -> list[Json]:
        """Whether a container can be made as this one, and what it would lack."""
        about = inspect(plan["container"])
        refuse_master(about)
        if main_pid(about) and not is_of(about, target):
            raise Refused("container-busy", container=name_of(about))
        running = argv_of(target["pid"]) if target is not None and is_of(about, target) else []
        refuse_unreachable(about, plan)
        return [*self.special(about), *losses(about, running)]

    def special(self, about: Json) -> list[Json]:
        """Who else might make this container anew."""
        project = label(about, COMPOSE)
        if project:
            service = label(about, "com.docker.compose.service")
            return [note("container-of-compose", project=project, service=service)]
        return []

    def prepare(self, task: Task) -> Json:
        """Make the new container, which is not started yet."""
        plan = task.plan
        about = inspect(plan["container"])
        old = task.state.get("old") or {}
        theirs = old.get("container") == about["Id"]
        running = argv_of(old["pid"]) if theirs else []
        new_name = f"{name_of(about)}-{task.launch}"
        if found(new_name) is not None:
            remove(new_name, sure=task.sure)
        image = image_of(about)
        seen = wrapper_s(about, old["pid"]) if theirs and create.wrapped(about, running) else {}
        given = {**plan["environment"], MARK: task.mark}
        environment = create.environment(about, inspect(image, "image"), given, seen)
        words = [*create.settings(about), "--name", new_name]
        workdir = plan["workdir"] or (about.get("Config") or {}).get("WorkingDir")
        if workdir:
            words += ["--workdir", workdir]
        start = create.started_as(about, running, plan["argv"])
        new = made(about, words, start, environment)
        differing = create.differing(about, new)
        if differing:
            remove(new["Id"])
            raise Refused("container-differs", settings=", ".join(differing))
        policy = (about.get("HostConfig") or {}).get("RestartPolicy") or {}
        return {
            "container": new["Id"],
            "template": about["Id"],
            "name": name_of(about),
            "restart": create.restart(policy)[1],
        }

    def started(self, task: Task) -> Json | None:
        """The new container, or the old one that was put back, where it runs."""
        prepared = task.state.get("prepared") or {}
        back = task.plan.get("inspect") is not None
        wanted = task.plan["container"] if back else prepared.get("container")
        about = found(wanted) if wanted else None
        if about is None or not main_pid(about):
            return None
        if back and main_pid(about) == (task.state.get("old") or {}).get("pid"):
            return None
        port = int((task.state.get("old") or {}).get("port", 0) if back else task.plan["port"])
        return record(about, port)

    def start(self, task: Task) -> Json:
        """Put the new container in the old one's place and start it."""
        prepared = task.state.get("prepared") or {}
        name, template = prepared["name"], prepared["template"]
        old, new = at_rest(template), inspect(prepared["container"])
        port = host_port(new, task.plan["port"]) or task.plan["port"]
        refuse_taken_port(port)
        with task.sure():
            if old is not None and name_of(old) == name:
                if main_pid(old):
                    raise Refused("container-busy", container=name)
                docker("rename", template, kept_name(name, task.launch))
                if prepared["restart"] != "no":
                    docker("update", "--restart=no", template)
            if name_of(new) != name:
                docker("rename", new["Id"], name)
        with task.sure():
            since = begun(new)
        return up(new, task.plan["port"], since)

    def ended(self, server: Json) -> Json:
        """As docker says; above 128 a status is a signal's, where there is such a signal."""
        about = found(server["container"])
        if about is None or main_pid(about):
            return {}
        now = state(about)
        status = int(now.get("ExitCode") or 0)
        if now.get("OOMKilled"):
            result = "oom-kill"
        else:
            killed = 128 < status <= 128 + SIGNALS
            result = "success" if not status else "signal" if killed else "exit-code"
        return {
            "by": "docker",
            "result": result,
            "status": status - 128 if result == "signal" else status,
        }

    def clear(self, task: Task, server: Json | None) -> None:  # noqa: ARG002
        """Remove the new container, its log being kept, and give the old one its name back."""
        prepared = task.state.get("prepared") or {}
        if not prepared:
            return
        new = found(prepared["container"])
        if new is not None:
            save_log(prepared["container"], task.log)
            remove(prepared["container"], "--force", sure=task.sure)
        restore(task)

    def finish(self, task: Task, ending: str) -> list[str]:
        """Remove the old container when the new one serves, or the new one that never ran."""
        prepared = task.state.get("prepared") or {}
        if not prepared:
            return []
        kept = kept_name(prepared["name"], task.launch)
        if ending == "ready":
            if found(prepared["template"]) is not None:
                remove(prepared["template"], sure=task.sure)
            return []
        if not task.state.get("new"):
            new = found(prepared["container"])
            if new is not None and not main_pid(new):
                remove(prepared["container"], sure=task.sure)
            restore(task)
            return []
        return [f"The old container is kept as {kept}."] if found(kept) is not None else []


RUNNER = DockerRunner()


def kept_name(name: str, launch: str) -> str:
    """What the old container is called meanwhile."""
    return f"{name}-before-{launch}"


def state_of(about: Json, setting: str) -> bool:
    """A switch of `HostConfig`."""
    return bool((about.get("HostConfig") or {}).get(setting))


def is_of(about: Json, target: Json | None) -> bool:
    """Whether this is the container that the server runs in."""
    wanted = str((target or {}).get("container") or "")
    return bool(wanted) and (str(about["Id"]).startswith(wanted) or name_of(about) == wanted)


def refuse_master(about: Json) -> None:
    """Nothing is done to what another program makes anew."""
    for name, who in MASTERS.items():
        if label(about, name):
            raise Refused("container-managed", container=name_of(about), who=who)
    for pid in clients(str(about["Id"]), name_of(about)):
        unit = unit_of(read(f"/proc/{pid}/cgroup"))
        if unit and unit != unit_of(read("/proc/self/cgroup")):
            raise Refused("container-in-unit", container=name_of(about), unit=unit)


def refuse_unreachable(about: Json, plan: Json) -> None:
    """The port that the server will listen on leads outside."""
    port = int(plan["port"])
    if port and host_port(about, port) is None and ":" not in mode(about) and mode(about) != "none":
        bound = (about.get("HostConfig") or {}).get("PortBindings") or {}
        published = ", ".join(sorted(bound)) or "none"
        raise Refused("container-port", port=port, published=published)


def refuse_taken_name(name: str) -> None:
    """A container that takes the place of one that removed itself."""
    if found(name) is not None:
        raise Refused("container-busy", container=name)


def mode(about: Json) -> str:
    """The container's network."""
    return str((about.get("HostConfig") or {}).get("NetworkMode") or "")


def losses(about: Json, running: list[str]) -> list[Json]:
    """What a new container would do without."""
    notes = []
    lost = create.lost(about)
    if lost:
        notes.append(note("container-loses", settings=", ".join(lost)))
    if create.wrapped(about, running):
        starts = " ".join(create.command(about))[:120]
        notes.append(note("container-wrapped", starts=starts))
    return notes


def image_of(about: Json) -> str:
    """The image by its name where that still means this one, else by its id."""
    name, wanted = str((about.get("Config") or {}).get("Image") or ""), str(about["Image"])
    with contextlib.suppress(Refused):
        if name and inspect(name, "image")["Id"] == wanted:
            return name
    return wanted


def wrapper_s(about: Json, pid: int) -> dict[str, str]:
    """What a script between container and server had added to the environment."""
    before = create.variables((about.get("Config") or {}).get("Env") or [])
    seen = lasting(environment_of(pid) or {})
    return {n: v for n, v in seen.items() if before.get(n) != v and n not in INSIDE_ONLY}


def old_env(about: Json) -> dict[str, str]:
    """The environment as it was given."""
    return create.variables((about.get("Config") or {}).get("Env") or [])


def made(
    like: Json,
    words: list[str],
    start: create.Start,
    environment: dict[str, str],
    sure: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Json:
    """A new container, not started."""
    flags, extra = create.environment_words(environment)
    what = (*words, *flags, *start.before, image_of(like), *start.after)
    new = create_container(*what, extra=extra, sure=sure)
    for other in create.other_networks(like):
        docker("network", "connect", other, new["Id"])
    return new


def remade(task: Task) -> Json:
    """A container that removed itself, as it was."""
    old = task.before["inspect"]
    refuse_taken_name(name_of(old))
    words = [*create.settings(old), "--name", name_of(old)]
    start = create.started_as(old, [], create.command(old))
    return made(old, words, start, old_env(old), task.sure)


def begun(about: Json) -> int:
    """Start a container; from when on its log is read, microseconds since the epoch."""
    since = int(time.time() * 1_000_000)
    docker("start", about["Id"])
    return since


def up(about: Json, port: int, since: int) -> Json:
    """Wait until a container that was started has, or had, a process."""
    end = time.monotonic() + UP
    while True:
        now = found(about["Id"])
        if now is not None and main_pid(now):
            return {**record(now, port), "inode": since, "offset": 0}
        if now is None:
            said = "it ended at once and removed itself"
            raise Refused("container-not-started", container=name_of(about), detail=said)
        ended = state(now).get("Status") in ("exited", "dead")
        if ended and not state(now).get("Error"):
            return {**record(now, port), "inode": since, "offset": 0}  # its log says why
        if ended or time.monotonic() > end:
            said = state(now).get("Error") or f"it has no process after {UP:g} s"
            raise Refused("container-not-started", container=name_of(about), detail=said)
        time.sleep(0.05)


def record(about: Json, port: int, *, pid: int = 0, start: int = 0) -> Json:
    """A container that runs as the launch remembers it."""
    pid = pid or main_pid(about)
    row = process(pid)
    return {
        "runner": "docker",
        "container": about["Id"],
        "pid": pid,
        "start": start or (row.start if row is not None else 0),
        "port": port,
        "host_port": host_port(about, port) or 0,
        "answers": host_port(about, port) or port,
        "log": f"docker logs {name_of(about)}",
        "place": {"kind": "docker", "target": about["Id"]},
    }


def restore(task: Task) -> None:
    """The old container has its name and its restart policy again."""
    prepared = task.state["prepared"]
    old = at_rest(prepared["template"])
    if old is None or name_of(old) == prepared["name"]:
        return
    with task.sure():
        docker("rename", prepared["template"], prepared["name"])
        if prepared["restart"] != "no":
            docker("update", f"--restart={prepared['restart']}", prepared["template"])


def save_log(container: str, path: str) -> None:
    """The end of a container's log in a file: removing the container takes the log along."""
    with contextlib.suppress(Refused, OSError):
        said = run([tool(), "logs", "--tail", str(LOG_LINES), container])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(os.fsencode(said.out + said.err))
