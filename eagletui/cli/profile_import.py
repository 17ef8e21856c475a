"""From a server that runs on a host to a profile.

The unmasked command line lives in this process's memory only: what is shown and written went
through `engine.import_server`, which leaves every secret out.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eagletui.cli.options import chosen_target
from eagletui.cli.profile_edit import own_path, save
from eagletui.cli.profile_words import profile_document
from eagletui.cli.reaching import connected
from eagletui.engine.command import parse_command
from eagletui.engine.import_server import Imported, gives_back, import_server
from eagletui.host.containers import named
from eagletui.host.processes import RawServer, find_servers
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.profile import Runner
from eagletui.model.safe import safe
from eagletui.model.switching import ProfileTaken
from eagletui.model.text import visible


def running_server(
    host: str | None,
    local: bool,
    ssh_config: Sequence[str],
    pid: int | None,
    *,
    name: str | None,
) -> Imported:
    """The profile of the server that runs on a host.

    Args:
        name: the profile's; None takes the model's.

    Raises:
        UsageError: there are several, and none was named.
        EagletuiError: there is none, or its command line cannot be read.
    """
    target = chosen_target(host, local)
    server = asyncio.run(_find(target, ssh_config, pid))
    return imported_server(server, name=name, place=host or "this machine")


async def _find(target: str | None, ssh_config: Sequence[str], pid: int | None) -> RawServer:
    async with connected(target, ssh_config) as host:
        found = await find_servers(host)
        return await named(host, chosen(found.servers, pid, found.looked_at))


def chosen(
    servers: Sequence[RawServer], pid: int | None, looked_at: Sequence[str] = ()
) -> RawServer:
    """The one that is meant.

    Raises:
        UsageError: there are several, and none was named.
        EagletuiError: there is none.
    """
    wanted = [server for server in servers if pid is None or server.pid == pid]
    if len(wanted) == 1:
        return wanted[0]
    known = "; ".join(
        f"pid {server.pid}, port {command.port}, {safe(command.model)}"
        for server in servers
        for command in (parse_command(server.argv),)
    )
    if len(wanted) > 1:
        raise UsageError("Several servers are running.", advice=f"Choose with --pid: {known}.")
    raise EagletuiError(
        f"No SGLang server has pid {pid}." if pid is not None else "No SGLang server is running.",
        meaning=f"Looked at: {', '.join(looked_at)}." if looked_at else "",
        advice=f"Running: {known}." if known else "",
    )


def imported_server(server: RawServer, *, name: str | None, place: str) -> Imported:
    """A server that was found as a profile. Pure.

    Raises:
        EagletuiError: its command line cannot be kept.
        UsageError: no profile can be called so.
    """
    environment = dict(server.environment or {})
    if server.argv and "/" not in server.argv[0] and server.path:
        # What `python3` is, its PATH decides; at the next start there may be another one.
        environment["PATH"] = server.path
    runner, unit, container = _runner(server)
    name = name if name is not None else _name_of(server)
    own_path(name)
    imported = import_server(
        server.argv,
        name=name,
        environment=environment,
        workdir=server.cwd,
        log=server.log.target if server.log.kind in ("file", "tee") else "",
        runner=runner,
        unit=unit,
        user_unit=bool(unit) and server.user_unit,
        container=container,
        note=f"Imported from {visible(place)}.",
    )
    if not gives_back(imported, server.argv):
        raise EagletuiError(
            "The command line of this server cannot be written as a profile.",
            meaning="A start of what would be written has another one.",
            advice="Write it by hand with `eagletui profiles new`, and report this, please.",
        )
    return imported


def _runner(server: RawServer) -> tuple[Runner, str, str]:
    if server.container:
        return "docker", "", server.container
    # A service's own process has the manager for a parent; a grandchild belongs to something else.
    if server.unit and (server.user_unit or server.ppid == 1):
        return "systemd", server.unit, ""
    return "process", "", ""


def _name_of(server: RawServer) -> str:
    command = parse_command(server.argv)
    model = posixpath.basename((command.served_name or command.model).rstrip("/"))
    return re.sub(r"(?a)[^\w.-]+", "-", model.lower()).strip("-._") or "imported"


def imported_text(imported: Imported) -> str:
    """The file."""
    from eagletui.store.profiles.writing import profile_text

    heading = [f"{secret.where} was left out: export {secret.variable} before a start"
               for secret in imported.secrets]  # fmt: skip
    return profile_text(imported.profile, heading=heading)


def write_import(imported: Imported, *, force: bool = False) -> Path:
    """Write the profile into the person's folder.

    Raises:
        ProfileTaken: there is one of that name and `force` is not given.
        EagletuiError: the folder cannot be written.
    """
    name = imported.profile.name
    path = own_path(name)
    if path.exists() and not force:
        raise ProfileTaken(name, str(path))
    save(path, imported_text(imported))
    return path


def import_document(imported: Imported, path: Path | None) -> dict[str, Any]:
    """The contract of `profiles import --json`."""
    profile = profile_document(imported.profile)
    return {
        "name": imported.profile.name,
        "path": str(path) if path else None,
        "command": profile["command"],
        "environment": profile["environment"],
        "secrets": [{"where": s.where, "variable": s.variable} for s in imported.secrets],
        "left_out": list(imported.left_out),
        "profile": profile,
    }


def import_lines(imported: Imported) -> list[str]:
    """What the person should know about it."""
    lines = [
        f"{secret.where} is a secret and was not written: export {secret.variable} where "
        "eagletui is started."
        for secret in imported.secrets
    ]
    server = imported.profile.server
    if "PATH" in imported.profile.environment:
        lines.append("PATH was kept: it says which Python the command starts.")
    if imported.left_out:
        names = ", ".join(imported.left_out)
        lines.append(f"Left out, for they belong to a terminal, a job or an image: {names}.")
    if server.runner != "process":
        lines.append(
            f"It is run by {server.runner} ({server.unit or server.container}); set "
            'runner = "process" where that is not so.'
        )
    return lines
