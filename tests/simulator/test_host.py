"""The simulated host as a client sees it: a login, commands, a log, HTTP, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import asyncssh
import pytest

from eagletui.model.errors import HostError, UsageError
from eagletui.simulator import host as simulated
from eagletui.simulator.host import SimulatedHost, claim_port, find_scenario
from eagletui.simulator.outside import HostProcess

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="what processes are called is read from /proc"
)
FAST = 400.0
READY = b"The server is fired up and ready to roll!"
PATIENCE = 30.0


async def until(what: Callable[[], bool]) -> None:
    """Wait for something that becomes true by itself."""

    async def look() -> None:
        while not what():  # noqa: ASYNC110 - other processes make it true
            await asyncio.sleep(0.02)

    await asyncio.wait_for(look(), PATIENCE)


def environment(pid: str) -> list[bytes]:
    """The environment of a process; nothing when it is gone or not ours."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def carriers(folder: Path) -> list[int]:
    """Processes that belong to this simulated host."""
    mark = f"EAGLETUI_SIMULATOR={folder}".encode()
    pids = [entry.name for entry in Path("/proc").glob("[0-9]*")]
    return [int(pid) for pid in pids if mark in environment(pid)]


def exists(path: Path) -> bool:
    return path.exists()


def comm(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


def children(pid: int) -> dict[int, str]:
    """pid → command line of the children of a process."""
    found = {}
    for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        line = Path(f"/proc/{number}/cmdline").read_bytes().rstrip(b"\0")
        found[int(number)] = line.replace(b"\0", b" ").decode()
    return found


async def connect(host: SimulatedHost) -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(host.name, config=[str(host.ssh_config)], agent_path=None)


async def sh(connection: asyncssh.SSHClientConnection, script: str) -> bytes:
    done = await connection.run(f"/bin/sh -c {shlex.quote(script)}", encoding=None, check=True)
    assert isinstance(done.stdout, bytes)
    return done.stdout


@contextlib.asynccontextmanager
async def http_to(
    connection: asyncssh.SSHClientConnection, port: int
) -> AsyncIterator[aiohttp.ClientSession]:
    """HTTP through direct-tcpip channels of an SSH connection."""
    async with (
        await connection.forward_local_port("127.0.0.1", 0, "127.0.0.1", port) as near,
        aiohttp.ClientSession(f"http://127.0.0.1:{near.get_port()}") as session,
    ):
        yield session


@pytest.fixture
async def host() -> AsyncIterator[SimulatedHost]:
    async with SimulatedHost("kimi-k2.5", speed=FAST) as up:
        yield up


def log(host: SimulatedHost) -> bytes:
    return Path(host.servers[0].log).read_bytes()


async def test_a_person_logs_in_and_looks_around(host: SimulatedHost) -> None:
    server = host.servers[0]
    async with await connect(host) as connection:
        assert (await sh(connection, "echo $USER $HOME; pwd")).decode() == (
            f"demo {host.folder}/home\n{host.folder}/home\n"
        )
        cmdline = await sh(connection, f"cat /proc/{server.pid}/cmdline")
        words = cmdline.decode().rstrip("\0").split("\0")
        assert words[0] == f"{host.folder}/opt/sglang/bin/python"
        assert words[1:5] == ["-m", "sglang.launch_server", "--model-path", "/models/Kimi-K2.5"]
        assert words[words.index("--tp-size") + 1] == "8"
        assert (await sh(connection, f"readlink /proc/{server.pid}/fd/1")).decode().strip() == (
            server.log
        )
        environ = await sh(connection, f"tr '\\0' '\\n' < /proc/{server.pid}/environ")
        assert b"SGLANG_ENABLE_METRICS_DEVICE_TIMER=1\n" in environ
        info = await sh(
            connection,
            "ls -d opt/sglang/lib/python*/site-packages/sglang-*.dist-info"
            " ../opt/sglang/lib/python*/site-packages/sglang-*.dist-info 2>/dev/null; :",
        )
        assert info.strip().endswith(b"sglang-0.5.16.dist-info")
        version = "import importlib.metadata as m; print(m.version('sglang'))"
        assert (await sh(connection, f'../opt/sglang/bin/python -c "{version}"')) == b"0.5.16\n"
        absent = await connection.run("docker ps")
        assert (absent.exit_status, absent.stderr) == (127, "sh: 1: docker: not found\n")
        killed = await connection.run("kill -TERM $$")
        assert killed.exit_signal is not None
        assert killed.exit_signal[0] == "TERM"
        echoed = await connection.run("cat", input="through the pipe\n")
        assert echoed.stdout == "through the pipe\n"
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("192.0.2.1", 80)
    with pytest.raises(asyncssh.PermissionDenied):
        await asyncssh.connect(
            host.host,
            host.port,
            username="someone",
            client_keys=[str(host.client_key)],
            known_hosts=str(host.known_hosts),
            config=None,
            agent_path=None,
        )


async def test_it_loads_then_serves(host: SimulatedHost) -> None:
    server = host.servers[0]
    async with (
        await connect(host) as connection,
        http_to(connection, server.port) as http,
    ):
        with pytest.raises(aiohttp.ClientError):
            await http.get("/metrics")
        async with connection.create_process(
            f"tail -c +1 -F {server.log}", encoding=None
        ) as follower:
            text = b""
            while READY not in text:
                text += await asyncio.wait_for(follower.stdout.read(65536), PATIENCE)
        assert text.count(b"Load weight begin.") == 16
        assert text.count(b"\rMulti-thread loading shards: ") == 65 + 2
        assert b"shards: 100% Completed | 64/64 [" in text
        assert text.count(b"Capture target verify CUDA graph begin.") == 8
        assert text.index(b"Load weight end.") < text.index(b"type=LlamaForCausalLMEagle3")
        titles = [f"sglang::scheduler_TP{rank}" for rank in range(8)]
        assert list(children(server.pid).values()) == [*titles, "sglang::detokenizer"]
        assert comm(min(children(server.pid))) == "sglang::schedul\n"

        pages: dict[str, tuple[int, str]] = {}
        for path in (
            *("/metrics", "/health", "/health_generate", "/model_info", "/get_model_info"),
            *("/server_info", "/get_server_info", "/v1/loads", "/v1/models", "/ready", "/nosuch"),
        ):
            async with http.get(path) as answer:
                pages[path] = (answer.status, await answer.text())
        # `/ready` came with 0.5.20.
        refused = [path for path, (status, _) in pages.items() if status != 200]
        assert refused == ["/ready", "/nosuch"]
        assert pages["/nosuch"] == (404, '{"detail":"Not Found"}')
        assert 'sglang:spec_num_steps{engine_type="unified"' in pages["/metrics"][1]
        assert '"speculative_num_steps":5' in pages["/server_info"][1]
        assert '"version":"0.5.16"' in pages["/v1/loads"][1]
        assert "decode_moments" not in pages["/v1/loads"][1]

        body = {"text": "a b c", "sampling_params": {"max_new_tokens": 12}}
        async with http.post("/generate", json=body) as answer:
            meta = (await answer.json())["meta_info"]
        histogram = meta["spec_accept_histogram"]
        assert meta["completion_tokens"] == 12
        assert meta["prompt_tokens"] == 3
        assert sum(histogram) == meta["spec_verify_ct"]
        drafted = sum(index * count for index, count in enumerate(histogram))
        assert 1 + drafted + sum(histogram) == 12
        async with http.post("/generate", json={}) as answer:
            assert answer.status == 400
        chat: dict[str, object] = {
            "messages": [{"role": "user", "content": "a b c d"}],
            "max_tokens": 12,
        }
        async with http.post("/v1/chat/completions", json=chat) as answer:
            usage = (await answer.json())["usage"]
        assert usage == {"prompt_tokens": 4, "completion_tokens": 12, "total_tokens": 16}
        options = {"include_usage": True, "continuous_usage_stats": True}
        streamed = {**chat, "stream": True, "stream_options": options}
        async with http.post("/v1/chat/completions", json=streamed) as answer:
            lines = [line.removeprefix(b"data: ") async for line in answer.content if line.strip()]
        assert lines[-1] == b"[DONE]\n"
        events = [json.loads(line) for line in lines[:-1]]
        counts = [event["usage"]["completion_tokens"] for event in events if "usage" in event]
        assert counts == sorted(counts)
        assert counts[-1] == 12
        texts = [event["choices"][0]["delta"].get("content", "") for event in events[:-1]]
        assert len("".join(texts).split()) == 12
        async with http.post("/v1/chat/completions", json={"messages": 3}) as answer:
            assert answer.status == 400
        assert b'"GET /metrics HTTP/1.1" 200 OK' in log(host)
        regret = b"Endpoint '/get_server_info' is deprecated and will be removed in a future "
        assert regret + b"version. Please use '/server_info' instead.\n" in log(host)

        rows: list[list[str]] = []
        while not rows or float(rows[0][2]) <= 50:
            gpus = await sh(
                connection,
                "nvidia-smi --query-gpu=index,name,utilization.gpu,power.draw,memory.total "
                "--format=csv,noheader,nounits",
            )
            rows = [line.split(", ") for line in gpus.decode().splitlines()]
        assert [row[0] for row in rows] == [str(index) for index in range(8)]
        assert {row[4] for row in rows} == {"97887"}
        assert float(rows[0][3]) > 100
        apps = await sh(
            connection, "nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader"
        )
        assert {int(line.split(b",")[0]) for line in apps.splitlines()} < set(children(server.pid))
        wrong = await connection.run("nvidia-smi --query-gpu=nonsense --format=csv")
        assert wrong.exit_status == 2
        assert str(wrong.stdout).startswith('Field "nonsense" is not a valid field to query.')


async def test_sigterm_drains() -> None:
    async with SimulatedHost("h200-dense", speed=FAST) as host:
        await until(lambda: b"Decode batch" in log(host))
        os.kill(host.servers[0].pid, signal.SIGTERM)
        await until(lambda: carriers(host.folder) == [])
        text = log(host)
        drained = b"Remaining number of requests 0. Remaining requests remaining_rids=[]."
        assert text.count(b"Gracefully exiting... Remaining number of requests") > 1
        assert text.index(b"SIGTERM received.") < text.index(drained)
        assert text.rstrip().endswith(f"pid={host.servers[0].pid}".encode())


async def test_a_killed_scheduler_takes_the_server_with_it(host: SimulatedHost) -> None:
    await until(lambda: READY in log(host))
    worker = next(pid for pid, line in children(host.servers[0].pid).items() if "TP3" in line)
    os.kill(worker, signal.SIGKILL)
    await until(lambda: carriers(host.folder) == [])
    assert (
        f"Subprocess scheduler_3 (pid={worker}) crashed with exit code -9. "
        "Triggering SIGQUIT for cleanup...".encode()
        in log(host)
    )


async def test_a_killed_server_takes_its_workers_with_it(host: SimulatedHost) -> None:
    await until(lambda: b"Load weight begin" in log(host))
    os.kill(host.servers[0].pid, signal.SIGKILL)
    await until(lambda: carriers(host.folder) == [])


async def test_close_leaves_nothing(host: SimulatedHost) -> None:
    folder = host.folder
    async with await connect(host) as connection:
        lost = await connection.create_process("sleep 1000 & sleep 1000")
        await until(lambda: len(carriers(folder)) > 3)
        await asyncio.wait_for(host.close(), 5)
        assert carriers(folder) == []
        await asyncio.wait_for(connection.wait_closed(), 5)
        assert not exists(folder)
        assert lost is not None


async def test_nothing_survives_a_kill_of_the_program() -> None:
    outside = HostProcess("kimi-k2.5", speed=FAST, release=None, usual_ports=False)
    try:
        up = await asyncio.wait_for(outside.ready(), PATIENCE)
        folder = Path(up.folder)
        async with asyncssh.connect(up.name, config=[up.ssh_config], agent_path=None) as connection:
            await connection.create_process(f"tail -F {up.servers[0].log}")
            await connection.run("setsid nohup sleep 1000 > /dev/null 2>&1 &")
            await until(lambda: len(carriers(folder)) >= 11)
            os.kill(outside.pid, signal.SIGKILL)
            await until(lambda: carriers(folder) == [] and not folder.exists())
    finally:
        outside.end()


async def test_a_host_in_its_own_process_ends_when_told() -> None:
    outside = HostProcess("none", speed=FAST, release="0.5.23", usual_ports=False)
    up = await asyncio.wait_for(outside.ready(), PATIENCE)
    assert (up.name, up.servers) == ("idle-node", ())
    await asyncio.to_thread(outside.end)
    assert not exists(Path(up.folder))
    wrong = HostProcess("nonsense", speed=FAST, release=None)
    with pytest.raises(HostError, match="There is no scenario called nonsense"):
        await wrong.ready()
    wrong.end()


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("crash-oom", b"Capture cuda graph failed: CUDA out of memory. Tried to allocate"),
        ("metrics-off", READY),
        ("cpu", READY),
    ],
)
async def test_scenarios_come_to_their_end(scenario: str, words: bytes) -> None:
    async with SimulatedHost(scenario, speed=FAST) as host:
        await until(lambda: words in log(host))
        if scenario == "crash-oom":
            await until(lambda: carriers(host.folder) == [])
            assert b"\n[" in log(host)
            assert b" TP7] Scheduler hit an exception: Traceback" in log(host)
            assert b"Received sigquit from a child process." in log(host)
        async with await connect(host) as connection:
            if scenario == "cpu":
                answer = await connection.run("nvidia-smi -L")
                assert answer.exit_status == 9
                assert b"cpu graph" in log(host)
            if scenario == "metrics-off":
                async with (
                    http_to(connection, host.servers[0].port) as http,
                    http.get("/metrics") as page,
                ):
                    assert page.status == 404


async def test_a_stalled_load_stands_still() -> None:
    async with SimulatedHost("stalled", speed=2000.0) as host:
        await until(lambda: b"62% Completed | 40/64" in log(host))
        size = len(log(host))
        await asyncio.sleep(0.5)
        assert len(log(host)) == size
        assert len(carriers(host.folder)) == 10


async def test_two_servers_have_their_own_ports_and_gpus() -> None:
    async with SimulatedHost("two-servers", speed=FAST) as host:
        first, second = host.servers
        assert first.port != second.port
        await until(lambda: all(READY in Path(s.log).read_bytes() for s in host.servers))
        async with await connect(host) as connection:
            query = "--query-compute-apps=gpu_uuid,pid --format=csv,noheader"
            apps: list[str] = []
            for _ in range(100):  # the stand-in learns of them within a moment
                apps = (await sh(connection, f"nvidia-smi {query}")).decode().splitlines()
                if len(apps) == 2:
                    break
                await asyncio.sleep(0.1)
        pairs = {line[39]: int(line.split(", ")[1]) for line in apps}
        assert pairs == {
            "0": next(iter(children(first.pid))),
            "1": next(iter(children(second.pid))),
        }


async def test_a_restart_through_ssh_obeys_its_flags(host: SimulatedHost) -> None:
    """What restart control will do: stop, start with other flags and environment, read back."""
    await until(lambda: b"Load weight begin" in log(host))
    old = host.servers[0]
    async with await connect(host) as connection:
        words = (await sh(connection, f"cat /proc/{old.pid}/cmdline")).decode().rstrip("\0")
        argv = words.split("\0")
        argv[argv.index("--speculative-num-steps") + 1] = "2"
        argv[argv.index("--speculative-num-draft-tokens") + 1] = "3"
        await sh(connection, f"kill -KILL {old.pid}")
        await until(lambda: carriers(host.folder) == [])
        command = f"NCCL_PROTO=LL setsid nohup {shlex.join(argv)} > logs/new.log 2>&1 < /dev/null &"
        await sh(connection, command)
        new = host.folder / "home" / "logs" / "new.log"
        await until(lambda: new.exists() and READY in new.read_bytes())
        async with (
            http_to(connection, old.port) as http,
            http.get("/server_info") as answer,
        ):
            info = await answer.json()
        assert (info["speculative_num_steps"], info["speculative_num_draft_tokens"]) == (2, 3)
        assert b"num_tokens_per_req=3, bs=[1, 2," in new.read_bytes()


def test_what_cannot_be_simulated_is_said() -> None:
    with pytest.raises(UsageError, match="no scenario called nope"):
        SimulatedHost("nope")
    with pytest.raises(UsageError, match=r"SGLang 9\.9\.9 cannot be simulated"):
        SimulatedHost("cpu", release="9.9.9")
    with pytest.raises(UsageError, match="greater than 0"):
        SimulatedHost("cpu", speed=0)


async def test_two_hosts_at_once_do_not_take_one_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # No server listens yet: the usual port looks free to everybody.
    monkeypatch.setattr(simulated, "_free_port", lambda usual, taken: usual or 54321)
    plan = find_scenario("kimi-k2.5").servers[0].port
    first, second, third = (
        SimulatedHost("kimi-k2.5", speed=FAST, usual_ports=True) for _ in range(3)
    )
    assert first._choose_ports() == {plan: plan}
    assert second._choose_ports() == {plan: 54321}
    await first.close()
    assert third._choose_ports() == {plan: plan}
    await second.close()
    await third.close()


@pytest.mark.parametrize("there", ["link", "folder"])
def test_a_port_is_claimed_by_no_strange_file(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = tmp_path / f"eagletui-{os.getuid()}-port-30000.lock"
    if there == "link":
        lock.symlink_to(tmp_path / "elsewhere")
    else:
        lock.mkdir()
    assert claim_port(30000) is None
    assert not (tmp_path / "elsewhere").exists()
