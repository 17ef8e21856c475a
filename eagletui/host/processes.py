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
RELEVANT = re.compile(
    r"(?:NCCL|SGLANG|SGL|CUDA|NVIDIA|HIP|ROCR|ROCM|HSA|TORCH|PYTORCH|TRITON|FLASHINFER|HF|TRANSFORMERS"
    r"|HUGGING_FACE|MODELSCOPE|VLLM|DG|DEEP_GEMM|UCX|GLOO|MC|MOONCAKE|NVSHMEM|IB|PROMETHEUS|OMP|MKL"
    r"|SLURM|RAY|XPU|ASCEND)_\w+"
    r"|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|PYTHONPATH|LD_PRELOAD|LD_LIBRARY_PATH|TMUX|TMUX_PANE|STY"
)
_HIDDEN = (
    "processes of other users are hidden by /proc (hidepid): log in as the servers' owner or as "
    "root, have this user put into the group of /proc's gid= option, or name --log and --metrics"
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
        others: keys of processes that name a server and are none (a shell that started one).
    """

    servers: tuple[RawServer, ...] = ()
    orphans: tuple[Worker, ...] = ()
    looked_at: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


async def find_servers(host: Host, before: Found | None = None) -> Found:
    """Look for SGLang servers and their workers.

    Args:
        before: the last look; what is known from it is not asked again.

    Raises:
        HostError: the host runs no commands, or has no `/proc`.
    """
    known = before or Found()
    argv, mark = proctable.command(_pid(key) for key in _keys(known))
    done = await host.run(argv)
    fields = proctable.fields(done.stdout, mark)
    if not fields or fields[0].name != "system" or not fields[0].value.split():
        return await _find_with_ps(host)
    found, reused = read_look(fields, time.time(), known)
    # A known PID that is now another process has to be looked at closely.
    return await find_servers(host) if reused else found


def _keys(found: Found) -> tuple[str, ...]:
    return (*(server.key for server in found.servers), *found.others)


def _pid(key: str) -> int:
    return int(key.partition("@")[0])


def read_look(fields: Sequence[proctable.Field], now: float, known: Found) -> tuple[Found, bool]:
    """The script's answer as servers. Pure: everything is in the arguments.

    Args:
        known: the last look, whose processes were not looked at closely again.

    Returns:
        The look, and whether one of those processes is now another one.
    """
    system = fields[0].value.split()
    uptime, hertz = float(system[0]), float(system[1]) if len(system) > 1 else 100.0
    seen: dict[str, dict[int, dict[str, bytes]]] = {}
    readers: dict[str, tuple[Reader, ...]] = {}
    for field in fields:
        if field.name in ("titles", "stats", "files", "owners"):
            seen[field.name] = proctable.by_file(field.value)
        elif field.name == "reader":
            name, reader = _reader(field)
            readers[name] = (*readers.get(name, ()), reader)
        else:
            seen.setdefault("links", {}).setdefault(field.pid, {})[field.name] = field.value

    old = {server.key: server for server in known.servers}
    before = {_pid(key): key for key in _keys(known)}
    servers: dict[int, RawServer] = {}
    workers: dict[int, tuple[int, Worker]] = {}
    others: list[str] = []
    reused = False
    for pid, files in seen.get("stats", {}).items():
        stat = proctable.parse_stat(files.get("stat", b""))
        if stat is None:
            continue
        key = f"{pid}@{stat.start_ticks}"
        if pid in before:
            reused = reused or key != before[pid]
            if key in old:
                servers[pid] = msgspec.structs.replace(old[key], workers=())
                continue
            others.append(key)
        elif pid in seen.get("files", {}):
            about = {name: value for of in seen.values() for name, value in of.get(pid, {}).items()}
            about["cmdline"] = seen["files"][pid].get("cmdline", b"")
            started = now - (uptime - stat.start_ticks / hertz)
            server = _server(pid, key, stat, started, about, readers)
            if server is not None:
                servers[pid] = server
                continue
            others.append(key)
        title = seen.get("titles", {}).get(pid)
        if title is not None:
            workers[pid] = (stat.ppid, _worker(pid, title.get("cmdline", b"")))
    helpers = _helpers(servers)
    others += (servers.pop(pid).key for pid in helpers)
    found = _joined(servers, workers, system)
    return msgspec.structs.replace(found, others=tuple(others)), reused


def _reader(field: proctable.Field) -> tuple[str, Reader]:
    """A process that reads a pipe, and the pipe's name."""
    pipe, stdout, cwd, argv = (field.value.split(b"\n", 3) + [b""] * 4)[:4]
    return pipe.decode("ascii", "replace"), Reader(
        pid=field.pid,
        argv=proctable.words(argv),
        cwd=proctable.link(cwd),
        stdout=proctable.link(stdout),
    )


def _joined(
    servers: dict[int, RawServer], workers: dict[int, tuple[int, Worker]], system: list[bytes]
) -> Found:
    of: dict[int, list[Worker]] = {pid: [] for pid in servers}
    orphans: list[Worker] = []
    for ppid, worker in workers.values():
        parent, above = ppid, dict(workers)
        # Schedulers of a data-parallel server are children of its controller. What a host says
        # may also go in a circle.
        while parent in above:
            parent = above.pop(parent)[0]
        of.get(parent, orphans).append(worker)
    count = system[2].decode() if len(system) > 2 else "all"
    looked_at = [f"{count} processes in /proc, for sglang.launch_server and sglang serve"]
    if system[3:4] == [b"own"]:
        looked_at.append(_HIDDEN)
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


def _helpers(servers: dict[int, RawServer]) -> list[int]:
    """A forked helper has its server's command line."""
    return [
        pid
        for pid, server in servers.items()
        if server.ppid in servers and servers[server.ppid].argv == server.argv
    ]


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
    argv = proctable.words(about["cmdline"])
    if not is_server(argv):
        return None
    fd2 = proctable.link(about.get("fd2", b"?"))
    # Whose files may be seen has an environment that may be read, be it an empty one.
    environment = _environment(about.get("environ", b"?" if fd2 is None else b""))
    uid, user = _owner(about.get("owner", b""))
    cgroup = about.get("cgroup", b"").decode("utf-8", "replace")
    unit, user_unit = unit_of(cgroup)
    exe = proctable.link(about.get("exe", b"?")) or ""
    variables = environment or {}
    output = Output(
        pid=pid,
        fd1=proctable.link(about.get("fd1", b"?")),
        fd2=fd2,
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
    hidden = environment is None or fd2 is None
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
    return {name: text for name, _, text in pairs if RELEVANT.fullmatch(name)}


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
