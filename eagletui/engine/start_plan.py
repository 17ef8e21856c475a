"""From a profile to the exact start: argument vector, environment, place of the log.

The order is command, `--model-path`, `--port`, the server's flags, the speculative flags; what a
profile's `order` names stands before the rest, in that order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from eagletui.engine.command import parse_command
from eagletui.engine.flagwords import Flag, same_flag, texts, words_of
from eagletui.model.errors import ConfigError
from eagletui.model.profile import SPECULATIVE, FlagValue, Profile, StartPlan
from eagletui.model.references import filled_in

MODULE = ("-m", "sglang.launch_server")
PYTHON = "python3"
MODEL, PORT = "model-path", "port"
TIME = "%Y%m%d-%H%M%S"
"""What `{time}` becomes in the path of a log."""


class ProfileIncomplete(ConfigError):
    """A part alone starts nothing, or a runner lacks what it runs."""


def start_plan(
    profile: Profile, *, now: datetime, variables: Mapping[str, str] | None = None
) -> StartPlan:
    """The start that a profile describes.

    Args:
        now: for `{time}` in the path of the log.
        variables: eagletui's environment, which holds the secrets; None leaves the references
            in place, for a plan that is shown or checked.

    Raises:
        ProfileIncomplete: neither model nor command, or a runner without its unit or container.
        SecretMissing: a secret is not in `variables`.
    """
    _check_complete(profile)
    server = profile.server
    argv = [filled_in(word, variables) for word in command_words(profile)]
    for flag in flags_in_order(profile):
        argv += words_of(flag.key, [filled_in(value, variables) for value in flag.values])
    return StartPlan(
        argv=tuple(argv),
        environment={k: filled_in(v, variables) for k, v in profile.environment.items()},
        workdir=server.workdir,
        log=server.log.replace("{profile}", profile.name).replace("{time}", now.strftime(TIME)),
        port=server.port if server.port is not None else parse_command(argv).port,
        runner=server.runner,
        unit=server.unit,
        user_unit=server.user_unit,
        container=server.container,
        profile=profile.name,
        guard=profile.guard,
    )


def command_words(profile: Profile) -> tuple[str, ...]:
    """The words before the flags."""
    server = profile.server
    return server.command or (server.python or PYTHON, *MODULE)


def flags_in_order(profile: Profile) -> tuple[Flag, ...]:
    """Every flag in the order it stands in the command line, references not filled in."""
    left = dict(_flags(profile))
    placed: list[Flag] = []
    for entry in profile.server.order:
        key = entry[2:] if entry.startswith("--") else entry
        found = key if key in left else _same(key, left)
        if found is None:
            continue
        value = left.pop(found)
        # Model and port are no flags in a profile; `order` may say how they are spelt.
        respelt = key if found in (MODEL, PORT) else found
        placed.append(Flag(key=respelt, values=texts(value)))
    return (*placed, *(Flag(key=key, values=texts(value)) for key, value in left.items()))


def _flags(profile: Profile) -> Iterator[tuple[str, FlagValue]]:
    server, speculative = profile.server, profile.speculative
    if server.model:
        yield MODEL, server.model
    if server.port is not None:
        yield PORT, server.port
    for key, value in server.flags.items():
        if value is not False:
            yield key, value
    if not speculative.off:
        for key, value in speculative.flags.items():
            if value is not False:
                yield SPECULATIVE + key, value


def _same(key: str, among: Mapping[str, FlagValue]) -> str | None:
    wanted = same_flag(key)
    return next((other for other in among if same_flag(other) == wanted), None)


def _check_complete(profile: Profile) -> None:
    server, name = profile.server, profile.name or "This profile"
    if not server.model and not server.command and f"--{MODEL}" not in map(same_flag, server.flags):
        raise ProfileIncomplete(
            f"{name} says nothing that could be started: it has neither a model nor a command.",
            meaning="It is a part, to be laid over a server's profile.",
            advice="Lay it over one: `SERVER+PART`. `eagletui profiles import SERVER` makes one of "
            'what runs. Or write `extends = "SERVER"` or `server.model` into it.',
        )
    if server.runner == "systemd" and not server.unit:
        raise ProfileIncomplete(
            f"{name} is to be run by systemd, but names no unit.",
            advice='Set `unit = "NAME.service"` in [server].',
        )
    if server.runner == "docker" and not server.container:
        raise ProfileIncomplete(
            f"{name} is to be run by docker, but names no container.",
            advice='Set `container = "NAME"` in [server].',
        )
    if server.runner == "command" and not server.command:
        raise ProfileIncomplete(
            f"{name} is to be run by a command of yours, but names none.",
            advice='Set `command = ["/path/to/script"]` in [server].',
        )
