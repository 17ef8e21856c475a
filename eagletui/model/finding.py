"""What a check of a profile finds, and what a host can tell such a check."""

from __future__ import annotations

from typing import Literal

from eagletui.model.base import Data

FindingSeverity = Literal["error", "warning", "info"]


class Finding(Data, frozen=True):
    """One thing to know before a server is started.

    Attributes:
        code: stable, `topk-without-steps`; other tools key on it.
        severity: `error` where the server refuses, crashes or cannot do what was asked; `warning`
            where it silently does something else; `info` for what helps to know.
        path: where in the profile, `speculative.num-steps`, `environment.NCCL_ALGO`.
        message: what is wrong and what the server would do.
        advice: what to do.
    """

    code: str
    severity: FindingSeverity
    path: str
    message: str
    advice: str = ""


class Option(Data, frozen=True):
    """One option of an installed SGLang, from its own `--help`.

    Attributes:
        flags: all its spellings, with dashes.
        takes_value: False for a switch.
        choices: () where any value is taken.
        nargs: how many words, as argparse has it: "" for one, "?", "+" or "*".
    """

    flags: tuple[str, ...]
    takes_value: bool = True
    choices: tuple[str, ...] = ()
    nargs: str = ""


class ModelFiles(Data, frozen=True):
    """What a model's folder on the host says of it.

    Attributes:
        path: as the profile names it.
        problem: "" when it can be read, else why not, in words for the person.
        local: False for a name on a hub, of which nothing can be said.
        config: `config.json`; {} where there is none.
    """

    path: str
    problem: str = ""
    local: bool = True
    config: dict[str, object] = {}


class GpuHolder(Data, frozen=True):
    """A process that holds GPU memory (MiB)."""

    pid: int
    gpu: int
    memory_used: float
    name: str = ""
    server: str = ""


class HostFacts(Data, frozen=True):
    """What a check may know of a host; None and () are what could not be read.

    Attributes:
        version: of the SGLang that the profile's Python has.
        problem: "" when that Python runs and has SGLang, else why not, in words for the person.
        options: of that SGLang; None to go by the release's table.
        options_problem: why they could not be read, in words; "" where nobody tried.
        target, draft: the models' folders.
        port_holder: who listens on the profile's port, in words; "" for nobody, None for unknown.
        nvlink: whether every pair of GPUs is linked; decides about custom all-reduce.
        gpu_count: GPUs the host has.
        holders: who holds GPU memory.
        loading: servers that load right now, by key.
        log_free: bytes free where the log will be.
        readable: paths the profile names and whether they can be read.
    """

    version: str = ""
    problem: str = ""
    options: tuple[Option, ...] | None = None
    options_problem: str = ""
    target: ModelFiles | None = None
    draft: ModelFiles | None = None
    port_holder: str | None = None
    nvlink: bool | None = None
    gpu_count: int | None = None
    holders: tuple[GpuHolder, ...] = ()
    loading: tuple[str, ...] = ()
    log_free: int | None = None
    readable: dict[str, bool] = {}
