"""Secrets in profiles: named, never written.

A value `$env:NAME` stands for what eagletui's own environment variable NAME holds at the moment of
a start. A text that should arrive as `$env:NAME` is written with one more dollar, `$$env:NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eagletui.model.errors import ConfigError
from eagletui.model.secrets import mask_argv, mask_environment

_REFERENCE = re.compile(r"(?a)\$env:([A-Za-z_]\w*)")
_ESCAPED = re.compile(r"(?a)\$\$+env:[A-Za-z_]\w*")
_LOOKS_SO = re.compile(r"(?a)\$+env:[A-Za-z_]\w*")


class SecretMissing(ConfigError):
    """A start needs a secret that eagletui's environment does not hold."""

    exit_status = 1


def reference(name: str) -> str:
    """The value that stands for this variable."""
    return f"$env:{name}"


def referred(value: str) -> str | None:
    """The variable that a value refers to; None where it is a text like any other."""
    match = _REFERENCE.fullmatch(value)
    return match[1] if match else None


def written(text: str) -> str:
    """A text as a profile has to say it, so that it is not read as a reference."""
    return f"${text}" if _LOOKS_SO.fullmatch(text) else text


def filled_in(value: str, variables: Mapping[str, str] | None) -> str:
    """What a profile's value says to the server.

    Args:
        variables: where references are looked up; None leaves them as they are.

    Raises:
        SecretMissing: the variable is not set.
    """
    if _ESCAPED.fullmatch(value):
        return value[1:]
    name = referred(value)
    if name is None or variables is None:
        return value
    found = variables.get(name)
    if not found:
        raise SecretMissing(
            f"The environment variable {name} is not set.",
            meaning=f"The profile takes a secret from it (`{value}`), so the start would lack one.",
            advice=f"Export {name} in the shell eagletui is started from.",
        )
    return found


def mask_start(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line with secrets masked, references left readable."""
    return tuple(
        word if referred(word.partition("=")[2] if word.startswith("--") else word) else masked
        for word, masked in zip(argv, mask_argv(argv), strict=True)
    )


def mask_start_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables with secrets masked, references left readable."""
    masked = mask_environment(environment)
    return {k: v if referred(v) else masked[k] for k, v in environment.items()}
