"""What discovery found, joined with what the command line says, masked for everyone else."""

from __future__ import annotations

from msgspec.structs import replace

from eagletui.engine.command import CommandLine, parse_command
from eagletui.host.processes import RawServer
from eagletui.model.base import Data
from eagletui.model.literals import Literals
from eagletui.model.safe import safe
from eagletui.model.secrets import mask_argv, mask_environment
from eagletui.model.server import LogPlace, ServerProcess, Worker
from eagletui.model.speculative import Speculative
from eagletui.model.text import visible


class Target(Data, frozen=True):
    """A server and what is needed to talk to it.

    Attributes:
        api_key: stays in the monitor.
        secrets: what its log and its replies may hold of its command line and environment.
        log_problem: what is wrong with where the log goes, one word.
        port_held_by: pid of the process that listens on its port in its place; None where nobody
            does, as far as one may see.
        given: the person said by a log or an address that this one is meant.
    """

    process: ServerProcess
    url: str = ""
    api_key: str | None = None
    secrets: Literals = Literals()
    log_problem: str = ""
    port_held_by: int | None = None
    given: bool = False

    def __repr__(self) -> str:
        """Without the key: a traceback may show it."""
        return f"Target({self.process.key})"


def describe(
    raw: RawServer,
    *,
    key: str,
    version: str,
    gpus: tuple[int, ...],
    command: CommandLine,
    secrets: Literals,
) -> ServerProcess:
    """The process as everyone may see it: masked, and free of control characters."""
    environment = {visible(k): visible(v) for k, v in sorted((raw.environment or {}).items())}
    return ServerProcess(
        key=key,
        pid=raw.pid,
        user=visible(raw.user),
        started_at=raw.started_at,
        argv=tuple(map(secrets.hide_text, mask_argv(tuple(map(visible, raw.argv))))),
        environment={k: secrets.hide_text(v) for k, v in mask_environment(environment).items()},
        cwd=safe(raw.cwd),
        python=visible(raw.python or raw.exe),
        version=visible(version),
        model=safe(command.served_name or command.model),
        port=command.port,
        url=safe(command.url),
        speculative=_shown(command.speculative),
        tp_size=command.tp_size,
        dp_size=command.dp_size,
        workers=tuple(
            Worker(pid=worker.pid, title=safe(worker.title), rank=worker.rank)
            for worker in raw.workers
        ),
        gpus=gpus,
        container=raw.container,
        log=raw.log,
        metrics_enabled=command.metrics if raw.argv else None,
        needs_key=command.api_key is not None,
        hidden=visible(raw.hidden),
    )


def _shown(speculative: Speculative) -> Speculative:
    return replace(
        speculative,
        algorithm=visible(speculative.algorithm) if speculative.algorithm else None,
        draft_model=safe(speculative.draft_model) if speculative.draft_model else None,
    )


def port_held(target: Target) -> str:
    """Words about the process that listens on a server's port in its place; "" for none."""
    who, port = target.port_held_by, target.process.port
    if who is None:
        return ""
    return f"Port {port} is held by process {who}: this server cannot open it"


def given_server(log: str, metrics: str) -> ServerProcess:
    """A server known only from a log path or an address that the person gave."""
    return ServerProcess(
        key=f"url:{safe(metrics)}" if metrics else f"log:{log}",
        url=safe(base_url(metrics)),
        log=LogPlace(kind="given", target=log, detail="given with --log")
        if log
        else LogPlace(kind="none", detail="only a metrics address was given"),
    )


def base_url(metrics: str) -> str:
    """`http://HOST:PORT` of an address that may name `/metrics` or lack its scheme."""
    if not metrics:
        return ""
    url = metrics if "://" in metrics else f"http://{metrics}"
    url = url.rstrip("/")
    return url[: -len("/metrics")] if url.endswith("/metrics") else url


def same_place(url: str, other: str) -> bool:
    """Whether two base URLs name the same port of the host, `localhost` being 127.0.0.1."""
    return url == other or (bool(url) and _with_number(url) == _with_number(other))


def _with_number(url: str) -> str:
    return url.replace("://localhost:", "://127.0.0.1:", 1)


def read_command(raw: RawServer) -> CommandLine:
    """The command line of a raw server."""
    return parse_command(raw.argv)
