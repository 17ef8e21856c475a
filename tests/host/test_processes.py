"""Servers found by themselves: from a made-up answer, and from real processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.host import proctable
from eagletui.host.commandline import is_server
from eagletui.host.local import LocalHost
from eagletui.host.logplace import (
    Output,
    Reader,
    container_of,
    find_log,
    tee_files,
    unit_of,
)
from eagletui.host.processes import Found, RawServer, find_servers, read_look
from eagletui.host.versions import sglang_version
from eagletui.model.server import LogPlace, Worker

ID = "0123456789abcdef" * 4


# --- command lines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "server"),
    [
        ("python -m sglang.launch_server --model-path x", True),
        ("/opt/venv/bin/python3.12 -u -X faulthandler -m sglang.launch_server --port 1", True),
        ("python3 /src/sglang/python/sglang/launch_server.py --port 1", True),
        ("/opt/venv/bin/python /opt/venv/bin/sglang serve --model-path x", True),
        ("sglang serve --model-path x", True),
        ("python -m sglang serve x", True),
        ("python -msglang.launch_server", True),
        ("python -m", False),
        ("python -m sglang bench", False),
        ("python3.13t -m sglang.launch_server", True),
        ("bash -c python -m sglang.launch_server", False),
        ("tee sglang.launch_server.log", False),
        ("python -m sglang_router.launch_server --dp-size 2", False),
        ("python -m sglang.bench_serving --backend sglang", False),
        ("python -c from multiprocessing.spawn import spawn_main sglang.launch_server", False),
        ("python /opt/conda/bin/conda run python -m sglang.launch_server", False),
        ("docker run lmsysorg/sglang python -m sglang.launch_server", False),
        ("vim sglang/launch_server.py", False),
        ("sglang generate", False),
        ("sglang-router launch", False),
        ("uv run sglang serve", False),
        ("", False),
    ],
)
def test_what_is_a_server(line: str, server: bool) -> None:
    assert is_server(line.split()) == server


# --- where a log goes ----------------------------------------------------------------------------


def place(output: Output) -> tuple[str, str, str]:
    found = find_log(output)
    assert found.place.detail
    return found.place.kind, found.place.target, found.problem


FILE, PTS = "/srv/a.log", "/dev/pts/3"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (Output(pid=1, fd1=FILE, fd2=FILE), ("file", FILE, "")),
        (Output(pid=1, fd1=FILE, fd2="/srv/b.log"), ("file", "/srv/b.log", "")),
        (Output(pid=1, fd1=FILE, fd2=PTS), ("file", FILE, "redirect-lost")),
        (Output(pid=1, fd1=FILE, fd2="/dev/null"), ("file", FILE, "redirect-lost")),
        (Output(pid=1, fd1=PTS, fd2=FILE), ("file", FILE, "")),
        (Output(pid=1, fd1="/dev/null", fd2=FILE), ("file", FILE, "")),
        (Output(pid=1, fd1=PTS, fd2=PTS), ("terminal", "", "terminal")),
        (Output(pid=1, fd1="/dev/null", fd2="/dev/null"), ("none", "", "discarded")),
        (Output(pid=1, fd1=None, fd2=None), ("none", "", "hidden")),
        (
            Output(pid=7, fd1=f"{FILE} (deleted)", fd2=f"{FILE} (deleted)"),
            ("file", "/proc/7/fd/2", "deleted"),
        ),
        (
            Output(pid=1, fd1=PTS, fd2=PTS, tmux=("/tmp/tmux-0/default", "%4")),
            ("tmux", "/tmp/tmux-0/default %4", ""),
        ),
        (
            Output(pid=1, fd1=FILE, fd2=PTS, tmux=("/tmp/tmux-0/default", "%4")),
            ("tmux", "/tmp/tmux-0/default %4", "redirect-lost"),
        ),
        (
            Output(pid=1, fd1="socket:[9]", fd2="socket:[9]", unit="sglang.service"),
            ("journal", "sglang.service", ""),
        ),
        (Output(pid=1, fd1="pipe:[1]", fd2="pipe:[2]", container=ID), ("docker", ID, "")),
        (Output(pid=1, container=ID), ("docker", ID, "")),
        (Output(pid=1, fd1=PTS, fd2=PTS, container=ID), ("docker", ID, "")),
        (Output(pid=5, fd1=FILE, fd2=FILE, container=ID), ("file", f"/proc/5/root{FILE}", "")),
        (
            Output(
                pid=1,
                fd1="pipe:[1]",
                fd2="pipe:[1]",
                readers={
                    "pipe:[1]": (Reader(pid=2, argv=("tee", "-a", "logs/x.log"), cwd="/home/a"),)
                },
            ),
            ("tee", "/home/a/logs/x.log", ""),
        ),
        (
            Output(
                pid=1,
                fd1="pipe:[1]",
                fd2="pipe:[1]",
                readers={
                    "pipe:[1]": (Reader(pid=2, argv=("ts",), stdout="pipe:[2]"),),
                    "pipe:[2]": (Reader(pid=3, argv=("/usr/bin/tee", "/x.log")),),
                },
            ),
            ("tee", "/x.log", ""),
        ),
        (
            Output(
                pid=1,
                fd1="pipe:[1]",
                fd2="pipe:[1]",
                readers={"pipe:[1]": (Reader(pid=2, argv=("ts",), stdout="/x.log"),)},
            ),
            ("file", "/x.log", ""),
        ),
        (Output(pid=1, fd1="pipe:[1]", fd2="pipe:[1]"), ("none", "", "")),
    ],
)
def test_where_a_log_goes(output: Output, expected: tuple[str, str, str]) -> None:
    assert place(output) == expected


def test_a_user_unit_is_said() -> None:
    output = Output(pid=1, fd1="socket:[1]", fd2="socket:[1]", unit="a.service", user_unit=True)
    assert find_log(output).place == LogPlace(
        kind="journal",
        target="a.service",
        detail="journal of the user unit a.service",
        user_unit=True,
    )


def test_whose_manager_has_a_unit_is_kept() -> None:
    output = Output(
        pid=1, fd1="socket:[1]", fd2="socket:[2]", unit="a.service", user_unit=True, uid=1001
    )
    assert find_log(output).place.uid == 1001


def test_hostile_names_are_safe_to_show() -> None:
    evil = "/srv/\x1b]0;x\x07\n.log"
    for output in (
        Output(pid=1, fd1=evil, fd2=PTS),
        Output(pid=1, fd1=evil, fd2="/b"),
        Output(pid=1, fd1=f"{evil} (deleted)", fd2=f"{evil} (deleted)"),
    ):
        assert find_log(output).place.detail.isprintable()


def test_tee_files() -> None:
    assert tee_files(["tee", "-a", "-i", "x", "/y", "-"], "/c") == ["/c/x", "/y"]
    assert tee_files(["tee", "--", "-odd"], "/c") == ["/c/-odd"]
    assert tee_files(["cat", "x"], "/c") == []


@pytest.mark.parametrize(
    ("cgroup", "container", "unit"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", ID, ("", False)),
        (f"12:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n", ID, ("", False)),
        (f"0::/kubepods.slice/kubepods-podab.slice/cri-containerd-{ID}.scope", ID, ("", False)),
        (f"0::/user.slice/user-0.slice/user@0.service/user.slice/libpod-{ID}.scope/x", ID, None),
        (f"0::/default/{ID}", ID, ("", False)),
        ("0::/system.slice/sglang.service\n", "", ("sglang.service", False)),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/glm.service",
            "",
            ("glm.service", True),
        ),
        ("0::/user.slice/user-1000.slice/session-3.scope", "", ("", False)),
        ("0::/\n", "", ("", False)),
        ("", "", ("", False)),
    ],
)
def test_cgroups(cgroup: str, container: str, unit: tuple[str, bool] | None) -> None:
    assert container_of(cgroup) == container
    if unit is not None:
        assert unit_of(cgroup) == unit


# --- the script's answer -------------------------------------------------------------------------


def stat(pid: int, ppid: int, ticks: int) -> bytes:
    rest = " ".join(["0"] * 14)
    return f"{pid} (a) b) c) S {ppid} {pid} {pid} 0 {rest} {ticks} 1 2".encode()


def answer(*parts: tuple[str, int, bytes]) -> list[proctable.Field]:
    data = b"".join(b"\nMARK %s %d\n%s" % (n.encode(), p, v) for n, p, v in parts)
    return proctable.fields(b"chatter" + data, "MARK")


Part = tuple[str, int, bytes]


def files(name: str, *found: tuple[int, str, bytes]) -> Part:
    """What `grep -H` says of these files."""
    lines = [b"%d/%s:%s" % (p, f.encode(), x) for p, f, v in found for x in v.split(b"\n")]
    return (name, 0, b"".join(line + b"\n" for line in lines))


def seen(*processes: tuple[int, int, int]) -> Part:
    """(pid, parent, start) of every process that may be a server or a worker."""
    return files("stats", *((pid, "stat", stat(pid, ppid, t)) for pid, ppid, t in processes))


def titles(**of: str) -> Part:
    return files("titles", *((int(p[1:]), "cmdline", t.encode()) for p, t in of.items()))


def look_at(*parts: Part, now: float = 0.0, known: Found | None = None) -> tuple[Found, bool]:
    return read_look(answer(SYSTEM, *parts), now, known or Found())


SYSTEM = ("system", 0, b"1000.50\n100\n321\n")


def test_an_answer_becomes_servers() -> None:
    argv = b"python\0-m\0sglang.launch_server\0--api-key\0s3cret\0--x\0a\nb\0"
    environ = b"NCCL_PROTO=LL\0SECRET=1\0HF_HOME=/h\0TMUX=/t/s,1,2\0TMUX_PANE=%7\0"
    found, reused = look_at(
        titles(
            p20="sglang::data_parallel_controller",
            p21="sglang::scheduler_DP1_TP3",
            p30="sglang::scheduler_TP0",
        ),
        seen((10, 1, 5050), (20, 10, 5100), (21, 20, 5200), (30, 1, 99)),
        files(
            "files",
            (10, "cmdline", argv),
            (10, "environ", environ),
            (10, "cgroup", b"0::/user.slice/user-1000.slice/session-3.scope"),
        ),
        files("owners", (10, "owner", b"1000 ann")),
        ("cwd", 10, b"/home/ann\n"),
        ("exe", 10, b"/usr/bin/python3.12\n"),
        ("fd1", 10, b"/dev/pts/1\n"),
        ("fd2", 10, b"/dev/pts/1\n"),
        ("end", 0, b""),
        now=2_000_000.0,
    )
    assert not reused
    (server,) = found.servers
    assert server.argv[-1] == "a\nb"
    assert server.argv[4] == "s3cret"
    assert server.key == "10@5050"
    assert server.started_at == 2_000_000.0 - (1000.50 - 50.50)
    assert (server.uid, server.user, server.cwd) == (1000, "ann", "/home/ann")
    assert server.python == "/usr/bin/python3.12"
    assert set(server.environment or {}) == {"NCCL_PROTO", "HF_HOME", "TMUX", "TMUX_PANE"}
    assert server.log.target == "/t/s %7"
    assert server.workers == (
        Worker(pid=20, title="sglang::data_parallel_controller"),
        Worker(pid=21, title="sglang::scheduler_DP1_TP3", rank="DP1 TP3"),
    )
    assert server.pids == (10, 20, 21)
    assert found.orphans == (Worker(pid=30, title="sglang::scheduler_TP0", rank="TP0"),)
    assert found.looked_at[0].startswith("321 processes")
    assert "30" in found.looked_at[1]
    # The next look says only that it is still there.
    again, reused = look_at(seen((10, 1, 5050)), now=3.0, known=found)
    assert not reused
    assert again.servers[0].argv == server.argv
    assert again.servers[0].workers == ()
    assert again.servers[0].started_at == server.started_at
    assert look_at(known=found)[0].servers == ()
    assert look_at(seen((10, 1, 5051)), known=found)[1]


def test_what_only_names_a_server_is_looked_at_once() -> None:
    shell = b"sh\0-c\0python -m sglang.launch_server | tee log\0"
    found, _ = look_at(seen((9, 1, 5)), files("files", (9, "cmdline", shell)))
    assert (found.servers, found.others) == ((), ("9@5",))
    assert look_at(seen((9, 1, 5)), known=found) == (found, False)
    assert look_at(known=found)[0].others == ()
    assert look_at(seen((9, 1, 6)), known=found)[1]
    argv, _ = proctable.command([9])
    assert argv[-1] == "9"


def test_another_users_process() -> None:
    found, _ = look_at(
        seen((10, 1, 5)),
        files("files", (10, "cmdline", b"sglang\0serve\0")),
        files("owners", (10, "owner", b"1001 bob")),
        *((name, 10, b"?\n") for name in ("cwd", "exe", "fd1", "fd2")),
    )
    (server,) = found.servers
    assert server.environment is None
    assert server.log == LogPlace(kind="none", detail="the files of bob's process cannot be seen")
    assert server.log_problem == "hidden"
    assert "bob" in server.hidden


@pytest.mark.parametrize(("seen", "told"), [(b"all", False), (b"own", True), (b"", False)])
def test_a_proc_that_hides_others_is_told_with_what_to_do(seen: bytes, told: bool) -> None:
    fields = answer(("system", 0, b"1000.50\n100\n3\n" + seen + b"\n"))
    found, _ = read_look(fields, 0.0, Found())
    assert found.looked_at[0].startswith("3 processes in /proc")
    assert any("hidepid" in place and "gid=" in place for place in found.looked_at) is told


@pytest.mark.parametrize("option", ["0", "1", "2", "4"])
def test_a_real_proc_that_hides_others(option: str) -> None:
    """In name spaces of its own: the machine's /proc stays as it is."""
    enter = ["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c"]
    mount = f"mount -t proc -o hidepid={option} proc /proc && "
    tools = all(map(shutil.which, ("unshare", "setpriv")))
    if not tools or subprocess.run([*enter, mount + "true"], capture_output=True).returncode:
        pytest.skip("no name spaces with a /proc of their own here")
    argv, mark = proctable.command([])
    nobody = 'setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
    # The last command of a PID name space is its PID 1: another one has to look.
    done = subprocess.run(
        [*enter, f"{mount}{nobody}; exit $?", "sh", *argv], capture_output=True, check=True
    )
    found, _ = read_look(proctable.fields(done.stdout, mark), 0.0, Found())
    assert any("hidepid" in place for place in found.looked_at) is (option != "0")


def test_an_owner_without_a_name_is_called_by_number() -> None:
    """`stat` says UNKNOWN of everybody whom /etc/passwd does not name (containers, LDAP)."""
    found, _ = look_at(
        seen((10, 1, 5)),
        files("files", (10, "cmdline", b"sglang\0serve\0")),
        files("owners", (10, "owner", b"1001 UNKNOWN")),
        *((name, 10, b"?\n") for name in ("cwd", "exe", "fd1", "fd2")),
    )
    (server,) = found.servers
    assert (server.uid, server.user) == (1001, "uid 1001")
    assert server.log.detail == "the files of uid 1001's process cannot be seen"


def test_a_forked_helper_is_no_server() -> None:
    argv = b"sglang\0serve\0"
    found, _ = look_at(
        seen((10, 1, 5), (11, 10, 6)),
        files("files", (10, "cmdline", argv), (11, "cmdline", argv)),
    )
    assert [server.pid for server in found.servers] == [10]
    again, _ = look_at(seen((10, 1, 5), (11, 10, 6)), known=found)
    assert again == found


def test_parents_in_a_circle_end() -> None:
    both = titles(p20="sglang::scheduler_TP0", p21="sglang::scheduler_TP1")
    found, _ = look_at(both, seen((20, 21, 5), (21, 20, 5)))
    assert [worker.pid for worker in found.orphans] == [20, 21]


def test_an_empty_environment_is_not_a_hidden_one() -> None:
    part = files("files", (10, "cmdline", b"sglang\0serve\0"))
    (server,) = look_at(seen((10, 1, 5)), part, ("fd2", 10, b"/a.log\n"))[0].servers
    assert (server.environment, server.hidden) == ({}, "")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    *("titles", "stats", "files", "owners"),
                    *("cwd", "exe", "fd1", "fd2", "reader", "else"),
                ]
            ),
            st.integers(1, 3),
            st.one_of(
                st.binary(max_size=60),
                st.binary(max_size=40).map(lambda rest: b"1/cmdline:sglang\0serve\n1/" + rest),
                st.binary(max_size=40).map(lambda rest: stat(1, 1, 5).join([b"1/stat:", rest])),
            ),
        )
    )
)
def test_any_answer_is_survived(parts: list[Part]) -> None:
    found, _ = look_at(*parts)
    assert look_at(*parts, known=found)[0].looked_at


# --- real processes ------------------------------------------------------------------------------

SLEEPER = "import os,sys,time\nprint('x', flush=True)\ntime.sleep(60)\n"


class Box:
    """A folder with a fake sglang, and the processes started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        (folder / "sglang").mkdir()
        (folder / "sglang" / "__init__.py").touch()
        (folder / "sglang" / "launch_server.py").write_text(SLEEPER)

    def start(self, script: str, **options: int) -> None:
        command = script.replace("SERVE", f"{sys.executable} -m sglang.launch_server")
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "NCCL_ALGO": "Ring", "OTHER": "1"},
            **options,  # type: ignore[call-overload]
        )
        self.started.append(process)

    def stop(self) -> None:
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system has no /proc")
    made = Box(tmp_path)
    yield made
    made.stop()


Look = Callable[[Callable[[Found], object]], Awaitable[Found]]


@pytest.fixture
def look(local: LocalHost, box: Box) -> Look:
    async def until(ready: Callable[[Found], object]) -> Found:
        for _ in range(200):
            found = await find_servers(local)
            ours = tuple(server for server in found.servers if server.cwd == str(box.folder))
            mine = Found(servers=ours, orphans=found.orphans, looked_at=found.looked_at)
            if ready(mine):
                return mine
            await asyncio.sleep(0.05)
        raise AssertionError(mine)

    return until


def one(found: Found) -> RawServer:
    (server,) = found.servers
    return server


@pytest.mark.parametrize(
    ("script", "kind", "name", "problem"),
    [
        ("exec SERVE >a.log 2>&1", "file", "a.log", ""),
        ("exec SERVE 2>&1 >a.log", "file", "a.log", "redirect-lost"),
        ("SERVE 2>&1 | tee -a t.log >/dev/null", "tee", "t.log", ""),
        ("SERVE 2>&1 | cat | tee sub.log >/dev/null", "tee", "sub.log", ""),
        ("exec SERVE >/dev/null 2>&1", "none", "", "discarded"),
        ("exec SERVE >a.log 2>b.log", "file", "b.log", ""),
    ],
)
async def test_real_processes(
    box: Box, look: Look, local: LocalHost, script: str, kind: str, name: str, problem: str
) -> None:
    box.start(script, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = one(await look(lambda found: found.servers and one(found).log.kind == kind))
    assert server.log.target == (str(box.folder / name) if name else "")
    assert server.log_problem == problem
    assert server.environment == {"NCCL_ALGO": "Ring"}
    assert server.argv[1:] == ("-m", "sglang.launch_server")
    assert server.python == sys.executable
    assert server.uid == os.getuid()
    assert not server.hidden
    again = await find_servers(local, Found(servers=(server,)))
    assert server in again.servers


async def test_terminal(box: Box, look: Look) -> None:
    ours, theirs = pty.openpty()
    box.start("exec SERVE", stdout=theirs, stderr=theirs)
    server = one(await look(lambda found: found.servers))
    os.close(theirs)
    os.close(ours)
    assert server.log.kind == "terminal"
    assert "2>&1" in server.log.detail


async def test_workers_and_orphans(box: Box, look: Look) -> None:
    (box.folder / "sglang" / "launch_server.py").write_text(
        "import subprocess,time\n"
        "p=subprocess.Popen(['bash','-c','exec -a sglang::scheduler_TP0 sleep 60'])\n"
        "time.sleep(60)\n"
    )
    box.start("exec SERVE >a.log 2>&1")
    server = one(await look(lambda found: found.servers and one(found).workers))
    (worker,) = server.workers
    assert (worker.title, worker.rank) == ("sglang::scheduler_TP0", "TP0")
    os.kill(server.pid, 9)
    box.started[0].wait()
    found = await look(lambda found: not found.servers)
    assert worker in found.orphans


async def test_version_from_metadata(box: Box, look: Look, local: LocalHost) -> None:
    site = box.folder / "venv" / "lib" / "python3.12" / "site-packages"
    (site / "sglang-0.5.16.post1.dist-info").mkdir(parents=True)
    (site / "sglang_kernel-0.3.0.dist-info").mkdir()
    box.start("exec SERVE >a.log 2>&1")
    server = one(await look(lambda found: found.servers))
    server = msgspec.structs.replace(server, python=str(box.folder / "venv/bin/python"))
    assert await sglang_version(local, server) == "0.5.16.post1"
