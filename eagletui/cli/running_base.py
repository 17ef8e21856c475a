"""What runs on a host as the profile that parts of profiles are laid over."""

from __future__ import annotations

import os
from datetime import datetime

from eagletui.cli.profile_import import chosen, imported_server
from eagletui.engine.running_profile import with_secrets
from eagletui.engine.start_plan import start_plan
from eagletui.host.base import Host
from eagletui.host.containers import named
from eagletui.host.processes import RawServer, find_servers
from eagletui.model.base import Data
from eagletui.model.profile import Profile, StartPlan


class Base(Data, frozen=True):
    """What runs. Unmasked: never to be shown.

    Attributes:
        profile: it starts the server with its own secrets.
        plan: of that.
        shown: the same profile, its secrets only named.
        version: its SGLang, as far as it is known.
    """

    raw: RawServer
    profile: Profile
    plan: StartPlan
    shown: Profile
    version: str = ""

    def __repr__(self) -> str:
        """Without the command line: a traceback may show it."""
        return f"Base({self.raw.pid})"


def base_of(raw: RawServer, place: str, version: str = "") -> Base:
    """A server as it was found.

    Args:
        place: the host's name.

    Raises:
        EagletuiError: its command line cannot be kept.
    """
    imported = imported_server(raw, name=None, place=place)
    profile = with_secrets(imported, raw.argv, raw.environment or {})
    return Base(
        raw=raw, profile=profile, plan=exact(profile), shown=imported.profile, version=version
    )


async def base_on(host: Host, pid: int | None) -> Base:
    """The server that is meant, or the only one.

    Raises:
        UsageError: there are several, and none was named.
        EagletuiError: there is none, or its command line cannot be kept.
        HostError: the host does not answer.
    """
    found = await find_servers(host)
    return base_of(await named(host, chosen(found.servers, pid, found.looked_at)), host.name)


def exact(profile: Profile, *, secrets: bool = True) -> StartPlan:
    """The start that a profile describes, now.

    Args:
        secrets: whether they are filled in from this process's environment, or stay references.
    """
    now = datetime.now().astimezone()
    return start_plan(profile, now=now, variables=os.environ if secrets else None)


def is_whole(profile: Profile) -> bool:
    """Whether it says a server by itself, and is not a part to be laid over one."""
    return bool(profile.server.model or profile.server.command)
