"""Errors that speak to the person: what happened, what it means, what to do."""

from __future__ import annotations


class EagletuiError(Exception):
    """The root of every error the program raises on purpose.

    Attributes:
        what: what happened, one sentence.
        meaning: what that means for the person, or "".
        advice: what to do next, or "".
    """

    exit_status = 1

    def __init__(self, what: str, *, meaning: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.meaning = meaning
        self.advice = advice

    def __str__(self) -> str:
        return "\n".join(self._parts)

    @property
    def sentences(self) -> str:
        """All of it in one line."""
        return " ".join(self._parts)

    @property
    def _parts(self) -> list[str]:
        return [part for part in (self.what, self.meaning, self.advice) if part]


class UsageError(EagletuiError):
    """The command was called wrongly."""

    exit_status = 2


class ConfigError(EagletuiError):
    """A configuration, theme or profile file says something impossible."""

    exit_status = 2


class HostError(EagletuiError):
    """The host could not be reached, or something on it did not answer."""

    exit_status = 3


class HostKeyUnknown(HostError):
    """Nobody vouches for the host's key, and nobody was there to be asked."""


class HostKeyChanged(HostError):
    """A known host shows another key than the one on file."""


class AuthenticationFailed(HostError):
    """No key, password or agent was accepted."""


class ConnectionLost(HostError):
    """The connection to the host ended while it was in use."""


class CommandTimeout(HostError):
    """A command on the host did not end in its time."""
