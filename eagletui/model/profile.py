"""A profile: what a server is started with, and the start that comes of it.

On disk a profile is TOML in four parts, each usable alone (`store`); here it is what is left when
`extends` and `include` have been followed. A `StartPlan` is a profile made exact: the argument
vector, the environment and the place of the log.
"""

from __future__ import annotations

import re
from typing import Literal

from eagletui.model.base import Data

FlagValue = bool | int | float | str | tuple[str, ...]
"""What a flag takes: True for a switch, a tuple for one that takes several words."""

Runner = Literal["process", "docker", "systemd", "command"]
RollBack = Literal["ask", "always", "never"]

SPECULATIVE = "speculative-"
"""How the server's flags of the speculative part begin."""

FLAG_KEY = re.compile(r"(?a)-?[A-Za-z][\w.-]*=?(?:#[1-9]\d*)?")
"""What a flag's key may be: `tp` for `--tp 8`, `tp=` for `--tp=8`, `-x` for `-x`, `lora-paths#2`
for the second `--lora-paths`."""


def speculative_key(key: str) -> str | None:
    """A whole flag's key as the speculative part spells it; None where it belongs to the server."""
    rest = key[len(SPECULATIVE) :]
    taken = rest == "off" or rest.startswith(SPECULATIVE) or not FLAG_KEY.fullmatch(rest)
    return rest if key.startswith(SPECULATIVE) and not taken else None


class ServerPart(Data, frozen=True):
    """What is served and how it is run.

    Attributes:
        model: `--model-path`; "" leaves it to `command`.
        python: the interpreter that has SGLang; "" for `python3`.
        command: the words before the flags; () for `python -m sglang.launch_server`.
        port: None leaves the flag out (the server takes 30000).
        workdir: "" for the home folder.
        log: path of the log on the host; `{profile}` and `{time}` are filled in.
        runner: who starts and stops it.
        unit: the systemd unit, for that runner.
        user_unit: whether the unit belongs to the user's manager.
        container: the container's name or id, for the docker runner.
        flags: every other flag in order, without the dashes, spelt as the server takes it.
        order: flags in the order they shall stand in, where it is not that of the parts.
    """

    model: str = ""
    python: str = ""
    command: tuple[str, ...] = ()
    port: int | None = None
    workdir: str = ""
    log: str = ""
    runner: Runner = "process"
    unit: str = ""
    user_unit: bool = False
    container: str = ""
    flags: dict[str, FlagValue] = {}
    order: tuple[str, ...] = ()


class SpeculativePart(Data, frozen=True):
    """What the server drafts with; flags without their `speculative-`.

    Attributes:
        off: whether the server shall not speculate; then nothing else counts.
        flags: `algorithm`, `num-steps`, `eagle-topk`, `num-draft-tokens`, … in order.
    """

    off: bool = False
    flags: dict[str, FlagValue] = {}


class Guard(Data, frozen=True):
    """What protects a host and its users.

    Attributes:
        read_only: nothing on the host may be changed.
        protected: the host's name has to be typed before a change.
        drain_seconds: how long requests may finish before they are aborted.
        stop_seconds: how long the server may take to go after SIGTERM before it is killed.
        start_seconds: how long a launch may take in all; None for as long as it makes progress.
        roll_back: whether a launch that failed gives way to what ran before.
    """

    read_only: bool = False
    protected: bool = False
    drain_seconds: float = 30.0
    stop_seconds: float = 60.0
    start_seconds: float | None = None
    roll_back: RollBack = "ask"


class Profile(Data, frozen=True):
    """What a server is started with, everything inherited included.

    Attributes:
        name: its file's name without the ending.
        source: the file it was read from; "" for one that was made here.
        title: a few words for lists.
        note: why it is as it is, when it does nothing, where it comes from.
        environment: variables that are set; everything else is as the replaced server had it, but
            for NCCL_*, SGLANG_* and CUDA_*, or as a login on the host has it.
    """

    name: str
    source: str = ""
    title: str = ""
    note: str = ""
    server: ServerPart = ServerPart()
    speculative: SpeculativePart = SpeculativePart()
    environment: dict[str, str] = {}
    guard: Guard = Guard()


class StartPlan(Data, frozen=True):
    """One start, exact: nothing in it is ever read by a shell.

    Attributes:
        argv: the command line, secrets included; mask it before it is shown or kept.
        environment: variables that are set over what the replaced server, or else a login, has;
            for what was saved from a running server all it had.
        whole_environment: whether `environment` is all there is.
        workdir: absolute, or "" for the home folder.
        log: absolute path, or relative to `workdir`; "" for one in eagletui's folder on the host.
        port: where the server will answer.
        profile: the profile's name, "" for what ran before us.
    """

    argv: tuple[str, ...]
    environment: dict[str, str] = {}
    whole_environment: bool = False
    workdir: str = ""
    log: str = ""
    port: int = 30000
    runner: Runner = "process"
    unit: str = ""
    user_unit: bool = False
    container: str = ""
    profile: str = ""
    guard: Guard = Guard()
