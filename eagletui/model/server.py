"""A server process as its host shows it."""

from __future__ import annotations

from typing import Literal

from eagletui.model.base import Data
from eagletui.model.speculative import Speculative

LogKind = Literal["file", "tee", "journal", "docker", "tmux", "terminal", "none", "given"]


class LogPlace(Data, frozen=True):
    """Where a server's log goes, and how it can be read.

    Attributes:
        kind: what stands at the end of file descriptors 1 and 2; `given` when the person said so.
        target: path, journald unit, container id or tmux pane.
        detail: one line for the person: how it was found, or why nothing can be read.
        user_unit: for `journal`, whether the unit belongs to a user's manager.
        uid: whose manager that is; units of two users may have one name.
    """

    kind: LogKind
    target: str = ""
    detail: str = ""
    user_unit: bool = False
    uid: int | None = None

    @property
    def readable(self) -> bool:
        """Whether there is anything to follow."""
        return self.kind not in ("none", "terminal") and bool(self.target)


class Worker(Data, frozen=True):
    """A child of the server: `sglang::scheduler_TP0`, `sglang::detokenizer`, …"""

    pid: int
    title: str
    rank: str = ""


class ServerProcess(Data, frozen=True):
    """One SGLang server found on a host. Everything here is masked and safe to show.

    Attributes:
        key: the place this server has on its host, kept over restarts: `:PORT`, `:PORT#PID` for
            a second process that wants the same port, `log:PATH` or `url:URL` for one that was
            given rather than found.
        started_at: user's clock, seconds since the epoch.
        argv: the command line, secrets masked.
        environment: NCCL_*, SGLANG_*, CUDA_* and the like, secrets masked.
        python: the interpreter's path, "" where it can't be read.
        version: SGLang's version, "" when unknown.
        url: base of its HTTP address as seen from the host, `http://127.0.0.1:30000`.
        gpus: indices that its processes use.
        needs_key: whether the command line sets an API key.
        hidden: what could not be read and why (another user's process).
    """

    key: str
    pid: int | None = None
    user: str = ""
    started_at: float | None = None
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    cwd: str = ""
    python: str = ""
    version: str = ""
    model: str = ""
    port: int | None = None
    url: str = ""
    speculative: Speculative = Speculative()
    tp_size: int = 1
    dp_size: int = 1
    workers: tuple[Worker, ...] = ()
    gpus: tuple[int, ...] = ()
    container: str = ""
    log: LogPlace = LogPlace(kind="none")
    metrics_enabled: bool | None = None
    needs_key: bool = False
    hidden: str = ""


class Gpu(Data, frozen=True):
    """One reading of one GPU; None is what the tool does not say.

    Units: percent, watts, MiB, °C, MHz.
    """

    index: int
    name: str = ""
    uuid: str = ""
    utilization: float | None = None
    power: float | None = None
    power_limit: float | None = None
    memory_used: float | None = None
    memory_total: float | None = None
    temperature: float | None = None
    clock: float | None = None
    throttled: str = ""
