"""Options that several commands share, written once."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from eagletui.model.errors import UsageError
from eagletui.model.numerals import decimal, shortened, whole, wholes

_F = TypeVar("_F", bound=Callable[..., Any])
_N = TypeVar("_N", int, float)

MOST_PID = 2**31 - 1
"""What a system's own type for it holds."""


class Number(click.FloatRange):
    """A number in a range. `nan` is in none, though it is neither below nor above; nor is `inf`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, or a usage error."""
        typed = _typed(decimal, "number", value, param, ctx)
        number: float = super().convert(typed, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number that can be used here.", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error."""
        number: int = super().convert(_typed(whole, "whole number", value, param, ctx), param, ctx)
        return number


class Wholes(click.ParamType):  # type: ignore[type-arg]
    """Whole numbers in a range with commas between, each once."""

    name = "list"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The numbers in their order, or a usage error."""
        if isinstance(value, tuple):
            return value
        try:
            return wholes(value, self._least, self._most)
        except ValueError as error:
            self.fail(f"{shortened(value)!r}: {error}", param, ctx)


def _typed(
    read: Callable[[str], _N],
    kind: str,
    value: Any,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> _N:
    """A number that was typed; a default is one already."""
    if not isinstance(value, str):
        number: _N = value
        return number
    try:
        return read(value)
    except ValueError:
        raise click.BadParameter(f"{shortened(value)!r} is no {kind}.", ctx, param) from None


def pid_option(help: str) -> Callable[[_F], _F]:
    """`--pid`: one of several servers."""
    return click.option("--pid", type=Whole(1, MOST_PID), metavar="PID", help=help)


def host_options(command: _F) -> _F:
    """`--host H` or `--local`, and the ssh configuration to use."""
    for option in (
        click.option(
            "--ssh-config",
            "ssh_config",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False),
            help="Use this ssh configuration instead of ~/.ssh/config (may be repeated).",
        ),
        click.option("--local", is_flag=True, help="This machine is the host; no SSH."),
        click.option(
            "--host",
            "-H",
            metavar="HOST",
            help="A name from ~/.ssh/config, user@host, user@host:port or an IPv6 address.",
        ),
    ):
        command = option(command)
    return command


def watch_options(command: _F) -> _F:
    """What to look at where finding is not enough."""
    for option in (
        click.option(
            "--api-key-env",
            metavar="NAME",
            help="The environment variable that holds the server's API key.",
        ),
        pid_option("The server to watch where there are several."),
        click.option(
            "--metrics",
            "metrics_url",
            metavar="URL",
            help="The server's address as seen from the host, overrides what is found.",
        ),
        click.option(
            "--log",
            "log_path",
            metavar="PATH",
            help="The log on the host, overrides what is found; of a glob the newest match.",
        ),
    ):
        command = option(command)
    return command


record_option = click.option(
    "--record",
    "record_to",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Keep the session in this new file, to replay it.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def api_key_from(name: str) -> str:
    """The API key in this environment variable.

    Raises:
        UsageError: it is not set, or holds what no HTTP header can carry.
    """
    key = os.environ.get(name, "").strip()
    if not key:
        raise UsageError(
            f"The environment variable {name} is not set.",
            advice="Export the server's API key in it, or leave --api-key-env out.",
        )
    if not key.isprintable():
        raise UsageError(
            f"The environment variable {name} holds no API key: it has control characters.",
            advice="Export the key alone, without line ends inside.",
        )
    return key


def chosen_target(host: str | None, local: bool) -> str | None:
    """The target of `open_host`: None is this machine.

    Raises:
        UsageError: neither or both were given.
    """
    if host and local:
        raise UsageError("Both --host and --local were given.", advice="Choose one of them.")
    if not host and not local:
        raise UsageError(
            "No host was given.",
            advice="Say --host NAME for a machine reached by SSH, or --local for this one.",
        )
    return host
