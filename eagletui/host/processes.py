"""SGLang servers on a host, found by themselves: what `/proc` shows, nothing installed."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Sequence

import msgspec

from eagletui.host import proctable
from eagletui.host.base import Host
from eagletui.host.commandline import is_server
from eagletui.host.logplace import (
    Output,
    Placed,
    Reader,
    container_of,
    find_log,
    unit_of,
)
from eagletui.model.base import Data
from eagletui.model.errors import HostError
from eagletui.model.server import LogPlace, Worker

# What a server's behaviour depends on; everything else in an environment is nobody's business.
_ENVIRONMENT = re.compile(
    r"(?:NCCL|SGLANG|SGL|CUDA|NVIDIA|HIP|ROCR|ROCM|HSA|TORCH|PYTORCH|TRITON|FLASHINFER|HF|TRANSFORMERS"
    r"|HUGGING_FACE|MODELSCOPE|VLLM|DG|DEEP_GEMM|UCX|GLOO|MC|MOONCAKE|NVSHMEM|IB|PROMETHEUS|OMP|MKL"
    r"|SLURM|RAY|XPU|ASCEND)_\w+"
    r"|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|PYTHONPATH|LD_PRELOAD|LD_LIBRARY_PATH|TMUX|TMUX_PANE|STY"
)
_RANK = re.compile(r"_((?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d+)")


class RawServer(Data, frozen=True):
    """A server as `/proc` shows it: unmasked, never to be shown as it is.

    Attributes:
        key: `PID@START_TICKS`, the same for as long as this process lives.
        started_at: user's clock, seconds since the epoch.
        environment: the variables its behaviour depends on; None where they may not be read.
        python: the interpreter as it was called, or the file it is.
        path: its PATH, which says what a `python` without a folder is.
        pids: the process and its workers.
        container: id of the container it lives in.
        unit: its systemd unit.
        user_unit: whether that is one of the user's manager.
        log: where its log goes.
        log_problem: one word for what is wrong with that (`redirect-lost`, `deleted`, …).
        hidden: what may not be read, in words.
    """

    key: str
    pid: int
    start_ticks: int
    argv: tuple[str, ...]
    uid: int | None = None
    user: str = ""
    started_at: float | None = None
    environment: dict[str, str] | None = None
    cwd: str = ""
    exe: str = ""
    python: str = ""
    path: str = ""
    ppid: int = 0
    pgid: int = 0
    sid: int = 0
    workers: tuple[Worker, ...] = ()
    container: str = ""
    unit: str = ""
    user_unit: bool = False
    log: LogPlace = LogPlace(kind="none")
    log_problem: str = ""
    hidden: str = ""

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.pid, *(worker.pid for worker in self.workers))


class Found(Data, frozen=True):
    """One look at a host's processes.

    Attributes:
        orphans: workers whose server is gone; they may still hold GPU memory.
        looked_at: what was looked at, in words, for a person who expected more.
    """

    servers: tuple[RawServer, ...] = ()
    orphans: tuple[Worker, ...] = ()
    looked_at: tuple[str, ...] = ()


async def find_servers(host: Host, before: Found | None = None) -> Found:
    """Look for SGLang servers and their workers.

    Args:
        before: the last look; what is known from it is not asked again.

    Raises:
        HostError: the host runs no commands, or has no `/proc`.
    """
    known = {server.pid: server for server in before.servers} if before else {}
    argv, mark = proctable.command(known)
    done = await host.run(argv)
    fields = proctable.fields(done.stdout, mark)
    if not fields or fields[0].name != "system" or not fields[0].value.split():
        return await _find_with_ps(host)
    found = read_look(fields, time.time(), known)
    reused = [s.pid for s in found.servers if s.pid in known and s.key != known[s.pid].key]
    # A known PID that is now another process has to be looked at closely.
    return await find_servers(host) if reused else found


def read_look(fields: Sequence[proctable.Field], now: float, known: dict[int, RawServer]) -> Found:
    """The script's answer as servers. Pure: everything is in the arguments."""
    system = fields[0].value.split()
    uptime, hertz = float(system[0]), float(system[1]) if len(system) > 1 else 100.0
    of: dict[int, dict[str, bytes]] = {}
    readers: dict[str, tuple[Reader, ...]] = {}
    for field in fields:
        if field.name == "reader":
            pipe, stdout, cwd, argv = (field.value.split(b"\n", 3) + [b""] * 4)[:4]
            reader = Reader(
                pid=field.pid,
                argv=proctable.words(argv),
                cwd=proctable.link(cwd),
                stdout=proctable.link(stdout),
            )
            name = pipe.decode("ascii", "replace")
            readers[name] = (*readers.get(name, ()), reader)
        else:
            of.setdefault(field.pid, {})[field.name] = field.value

    servers: dict[int, RawServer] = {}
    workers: dict[int, tuple[int, Worker]] = {}
    for pid, about in of.items():
        stat = proctable.parse_stat(about.get("server", about.get("worker", b"")))
        if stat is None:
            continue
        if "worker" in about:
            workers[pid] = (stat.ppid, _worker(pid, about.get("title", b"")))
            continue
        started = now - (uptime - stat.start_ticks / hertz)
        key = f"{pid}@{stat.start_ticks}"
        old = known.get(pid)
        if "argv" not in about:
            if old is not None:
                servers[pid] = msgspec.structs.replace(old, key=key, workers=())
            continue
        server = _server(pid, key, stat, started, about, readers)
        if server is not None:
            servers[pid] = server
    servers = _without_helpers(servers)
    return _joined(servers, workers, system)


def _joined(
    servers: dict[int, RawServer], workers: dict[int, tuple[int, Worker]], system: list[bytes]
) -> Found:
    of: dict[int, list[Worker]] = {pid: [] for pid in servers}
    orphans: list[Worker] = []
    for ppid, worker in workers.values():
        parent = ppid
        # Schedulers of a data-parallel server are children of its controller.
        while parent in workers:
            parent = workers[parent][0]
        of.get(parent, orphans).append(worker)
    count = system[2].decode() if len(system) > 2 else "all"
    looked_at = [f"{count} processes in /proc, for sglang.launch_server and sglang serve"]
    if orphans:
        pids = ", ".join(str(worker.pid) for worker in orphans)
        looked_at.append(f"workers whose server is gone, perhaps still holding GPU memory: {pids}")
    return Found(
        servers=tuple(
            msgspec.structs.replace(server, workers=tuple(sorted(of[pid], key=lambda w: w.pid)))
            for pid, server in sorted(servers.items())
        ),
        orphans=tuple(sorted(orphans, key=lambda w: w.pid)),
        looked_at=tuple(looked_at),
    )


def _without_helpers(servers: dict[int, RawServer]) -> dict[int, RawServer]:
    """A forked helper has its server's command line."""
    return {
        pid: server
        for pid, server in servers.items()
        if server.ppid not in servers or servers[server.ppid].argv != server.argv
    }


def _worker(pid: int, title: bytes) -> Worker:
    text = (title.decode("utf-8", "replace").split() or [""])[0]
    return Worker(pid=pid, title=text, rank=" ".join(_RANK.findall(text)))


def _server(
    pid: int,
    key: str,
    stat: proctable.Stat,
    started: float,
    about: dict[str, bytes],
    readers: dict[str, tuple[Reader, ...]],
) -> RawServer | None:
    argv = proctable.words(about["argv"])
    if not is_server(argv):
        return None
    environment = _environment(about.get("environ", b"?"))
    uid, user = _owner(about.get("owner", b""))
    cgroup = about.get("cgroup", b"").decode("utf-8", "replace")
    unit, user_unit = unit_of(cgroup)
    exe = proctable.link(about.get("exe", b"?")) or ""
    variables = environment or {}
    output = Output(
        pid=pid,
        fd1=proctable.link(about.get("fd1", b"?")),
        fd2=proctable.link(about.get("fd2", b"?")),
        readers=readers,
        container=container_of(cgroup),
        unit=unit,
        user_unit=user_unit,
        tmux=_tmux(variables),
        screen="STY" in variables,
        user=user,
        uid=uid,
    )
    placed: Placed = find_log(output)
    hidden = environment is None or output.fd2 is None
    return RawServer(
        key=key,
        pid=pid,
        start_ticks=stat.start_ticks,
        argv=argv,
        uid=uid,
        user=user,
        started_at=started,
        environment=environment,
        cwd=proctable.link(about.get("cwd", b"?")) or "",
        exe=exe,
        python=_python(argv, exe, variables),
        path=_path(about.get("environ", b"?")),
        ppid=stat.ppid,
        pgid=stat.pgid,
        sid=stat.sid,
        container=output.container,
        unit=unit,
        user_unit=user_unit,
        log=placed.place,
        log_problem=placed.problem,
        hidden=f"environment, folder and log of {user or 'another user'}'s process cannot be read; "
        f"log in as {user or 'its owner'} or root to see them"
        if hidden
        else "",
    )


def _owner(value: bytes) -> tuple[int | None, str]:
    """`UID NAME` of `stat`, which calls everybody UNKNOWN whom the host's files do not name."""
    number, _, name = value.decode("utf-8", "replace").strip().partition(" ")
    if not number.isdecimal():
        return None, name
    return int(number), f"uid {number}" if name in ("UNKNOWN", "") else name


def _environment(value: bytes) -> dict[str, str] | None:
    if value == b"?":
        return None
    pairs = (word.partition("=") for word in proctable.words(value))
    return {name: text for name, _, text in pairs if _ENVIRONMENT.fullmatch(name)}


def _path(value: bytes) -> str:
    names = (word.partition("=") for word in proctable.words(value))
    return next((text for name, _, text in names if name == "PATH"), "")


def _tmux(variables: dict[str, str]) -> tuple[str, str] | None:
    socket = variables.get("TMUX", "").split(",")[0]
    pane = variables.get("TMUX_PANE", "")
    return (socket, pane) if socket.startswith("/") and re.fullmatch(r"%\d+", pane) else None


def _python(argv: Sequence[str], exe: str, variables: dict[str, str]) -> str:
    if argv[0].startswith("/"):
        return argv[0]
    for prefix in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if folder := variables.get(prefix):
            return f"{folder}/bin/{posixpath.basename(argv[0])}"
    return exe


async def _find_with_ps(host: Host) -> Found:
    """Without `/proc` (macOS): command lines only."""
    done = await host.run(["ps", "-axww", "-o", "pid=,ppid=,user=,command="])
    if not done.ok:
        raise HostError(
            f"The processes of {host.name} cannot be listed.",
            meaning="It has no /proc, and ps does not answer.",
            advice="Give a log with --log and an address with --metrics.",
        )
    servers: list[RawServer] = []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        columns = line.split(None, 3)
        if len(columns) < 4 or not columns[0].isdecimal():
            continue
        argv = tuple(columns[3].split())
        if is_server(argv):
            servers.append(
                RawServer(
                    key=f"{columns[0]}@0",
                    pid=int(columns[0]),
                    start_ticks=0,
                    ppid=int(columns[1]),
                    user=columns[2],
                    argv=argv,
                    python=argv[0],
                    log=LogPlace(kind="none", detail="not to be seen on this system; give --log"),
                    hidden="this system has no /proc: environment, folder, log and workers "
                    "cannot be seen",
                )
            )
    return Found(servers=tuple(servers), looked_at=("ps: this system has no /proc",))
