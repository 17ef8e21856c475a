"""Containers by their names: an id goes with its container, a name is handed on to the next."""

from __future__ import annotations

from msgspec.structs import replace

from eagletui.host import shell
from eagletui.host.base import Host
from eagletui.host.processes import RawServer

_ASK = (
    "for d in docker podman; do command -v $d >/dev/null 2>&1 && "
    "exec $d inspect --type container --format '{{.Name}}' -- \"$1\"; done; exit 127"
)


async def named(host: Host, server: RawServer) -> RawServer:
    """The server with its container's name in the place of the id, where that can be asked.

    Raises:
        HostError: the connection is gone.
    """
    if not server.container:
        return server
    done = await host.run(shell.script(_ASK, server.container))
    name = done.stdout.decode("utf-8", "replace").strip().lstrip("/")
    return replace(server, container=name) if done.ok and name.isprintable() and name else server
