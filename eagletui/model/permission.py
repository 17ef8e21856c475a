"""Whether a host may be changed, and what that takes: one rule for screen and commands."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.model.profile import Guard


class Permission(NamedTuple):
    """What a change of a host meets.

    Attributes:
        refusal: why nothing is changed; "" where it may be.
        advice: what to do about that.
        name: what has to be typed first; "" for nothing.
    """

    refusal: str = ""
    advice: str = ""
    name: str = ""


def permission(
    host: str,
    *,
    session_read_only: bool = False,
    host_read_only: bool = False,
    host_protected: bool = False,
    guard: Guard | None = None,
) -> Permission:
    """The strictest of the session's, the host's and the profile's word.

    Args:
        host: its name, as the person gave it.
        session_read_only: `--read-only`.
        host_read_only, host_protected: `[hosts.NAME]` in `config.toml`.
        guard: of the profile that is to be started.
    """
    if session_read_only:
        return Permission(
            "Read-only: nothing on this host is changed (--read-only).",
            "Leave --read-only out to change the host.",
        )
    if host_read_only:
        return Permission(
            f"Read-only: nothing on {host} is changed (read_only in config.toml).",
            f"Take read_only out of [hosts.{host}], if that is what you want.",
        )
    if guard is not None and guard.read_only:
        return Permission(
            "Read-only: the profile's guard forbids every change.",
            "Take `read-only` out of its [guard], if that is what you want.",
        )
    protected = host_protected or (guard is not None and guard.protected)
    return Permission(name=host if protected else "")
