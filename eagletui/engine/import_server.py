"""From a running server back to a profile that starts it with the very same command line.

What seems to be a secret is never part of the profile: a reference takes its place, and the
import says which variable has to hold it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from msgspec.structs import replace

from eagletui.engine.flagwords import (
    Flag,
    same_flag,
    spelling,
    split_command,
    value_of,
)
from eagletui.engine.start_plan import MODEL, MODULE, PORT, flags_in_order, start_plan
from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError
from eagletui.model.profile import (
    FlagValue,
    Profile,
    Runner,
    ServerPart,
    SpeculativePart,
    speculative_key,
)
from eagletui.model.references import reference, written
from eagletui.model.secrets import is_secret_flag, is_secret_name, mask

# What belongs to the terminal or the job in which the server happened to be started, and what an
# image says about itself: no program reads it to behave in another way.
_PASSING = re.compile(
    r"TMUX|TMUX_PANE|STY|SLURM_\w+"
    r"|NVIDIA_(?:REQUIRE_\w+|PRODUCT_NAME|DRIVER_CAPABILITIES)|(?:CUDA|NCCL)_VERSION"
)
# A command line does not depend on it.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=timezone.utc)
_UNNAMED = re.compile(r"(?a)\W+")


class Secret(Data, frozen=True):
    """A secret that was left out.

    Attributes:
        where: the flag, the variable, or `command`.
        variable: what eagletui's environment has to hold at the next start.
    """

    where: str
    variable: str


class Imported(Data, frozen=True):
    """A running server as a profile.

    Attributes:
        secrets: what has to be in eagletui's environment before it starts.
        left_out: variables that were not taken over, for they belong to a terminal, a job or an
            image.
    """

    profile: Profile
    secrets: tuple[Secret, ...] = ()
    left_out: tuple[str, ...] = ()


def import_server(
    argv: Sequence[str],
    *,
    name: str,
    environment: Mapping[str, str] | None = None,
    workdir: str = "",
    log: str = "",
    runner: Runner = "process",
    unit: str = "",
    user_unit: bool = False,
    container: str = "",
    note: str = "",
) -> Imported:
    """The profile of a running server.

    Args:
        argv, environment: unmasked, as the kernel tells them.
        name: the profile's.

    Raises:
        EagletuiError: there is no command line, or it holds what no text file can.
    """
    if not argv:
        raise EagletuiError(
            "The server's command line cannot be read.",
            advice="Log in as the user it runs as.",
        )
    for word in (*argv, workdir, log):
        _check_text(word)
    secrets = _Secrets()
    command, flags = split_command(argv)
    model, port = _only(flags, MODEL), _port(flags)
    # Without a model (it may be in a `--config`) the command alone says that this is a server.
    shortened = model is not None and len(command) == 3 and command[1:] == MODULE
    server_flags: dict[str, FlagValue] = {}
    speculative: dict[str, FlagValue] = {}
    for flag in flags:
        if flag in (model, port):
            continue
        value = secrets.in_flag(flag)
        key = speculative_key(flag.key)
        if key is not None:
            speculative[key] = value
        else:
            server_flags[flag.key] = value
    kept, left_out = _environment(environment or {}, secrets)
    server = ServerPart(
        model=secrets.hidden("model", model.values[0]) if model else "",
        python=secrets.hidden("command", command[0]) if shortened else "",
        command=() if shortened else tuple(secrets.hidden("command", word) for word in command),
        port=int(port.values[0]) if port else None,
        workdir=workdir,
        log=log,
        runner=runner,
        unit=unit,
        user_unit=user_unit,
        container=container,
        flags=server_flags,
    )
    profile = Profile(
        name=name,
        note=note,
        server=server,
        speculative=SpeculativePart(flags=speculative),
        environment=kept,
    )
    keys = [flag.key for flag in flags]
    if [flag.key for flag in flags_in_order(profile)] != keys:
        order = tuple(key if key.startswith("-") else f"--{key}" for key in keys)
        profile = replace(profile, server=replace(server, order=order))
    return Imported(profile=profile, secrets=tuple(secrets.found), left_out=left_out)


def gives_back(imported: Imported, argv: Sequence[str]) -> bool:
    """Whether a start of the profile has this command line, but for the secrets it names."""
    plan = start_plan(imported.profile, now=_ANY_TIME)
    pairs = list(zip(plan.argv, argv, strict=False))
    named = {reference(secret.variable) for secret in imported.secrets}
    return len(plan.argv) == len(argv) and all(
        ours == theirs or any(ours.endswith(name) for name in named) for ours, theirs in pairs
    )


class _Secrets:
    """Puts references in the place of secrets, and remembers which."""

    def __init__(self) -> None:
        self.found: list[Secret] = []
        self._values: dict[str, str] = {}

    def in_flag(self, flag: Flag) -> FlagValue:
        """A flag's value as a profile may keep it."""
        secret = is_secret_flag(spelling(flag.key).rstrip("="))
        where = spelling(flag.key).rstrip("=")
        return value_of([self.hidden(where, word, secret=secret) for word in flag.values])

    def hidden(self, where: str, text: str, *, secret: bool = False) -> str:
        """The text as a profile has to say it, or a reference where it holds a secret."""
        if not text or (not secret and mask(text) == text):
            return written(text)
        name = _UNNAMED.sub("_", where.strip("-").replace("-", "_")).strip("_") or "secret"
        if name.islower():
            name = name.upper()
        if name[0].isdigit():
            name = f"_{name}"
        variable, count = name, 1
        while self._values.setdefault(variable, text) != text:
            count += 1
            variable = f"{name}_{count}"
        self.found.append(Secret(where=where, variable=variable))
        return reference(variable)


def _only(flags: Sequence[Flag], what: str) -> Flag | None:
    """The one flag that sets this, when it has the one value that a profile's own key can hold."""
    found = [flag for flag in flags if same_flag(flag.key) == f"--{what}"]
    return (
        found[0] if len(found) == 1 and len(found[0].values) == 1 and found[0].values[0] else None
    )


def _port(flags: Sequence[Flag]) -> Flag | None:
    flag = _only(flags, PORT)
    number = value_of(flag.values) if flag is not None else None
    return flag if isinstance(number, int) and 0 < number < 65536 else None


def _environment(
    environment: Mapping[str, str], secrets: _Secrets
) -> tuple[dict[str, str], tuple[str, ...]]:
    kept: dict[str, str] = {}
    left_out: list[str] = []
    for name, value in sorted(environment.items()):
        if _PASSING.fullmatch(name):
            left_out.append(name)
            continue
        _check_text(value)
        kept[name] = secrets.hidden(name, value, secret=is_secret_name(name))
    return kept, tuple(left_out)


def _check_text(text: str) -> None:
    if "\ufffd" in text or "\0" in text or (not text.isascii() and _has_surrogates(text)):
        raise EagletuiError(
            "The server's command line or environment holds bytes that are no text in UTF-8.",
            meaning="A profile is a text file and could not give them back exactly.",
            advice="Write a profile by hand with `eagletui profiles new`.",
        )


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
